// Package pricing stores plans with their versions, and the timeline of assignments of each tenant.
//
// A version and an assignment that have begun are never rewritten: a change makes another one. So
// who had which quota at an instant can always be read.
package pricing
