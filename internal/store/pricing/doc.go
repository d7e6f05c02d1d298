// Package pricing stores plans with their versions, and each tenant's timeline of assignments.
//
// A version and an assignment that have begun are never rewritten: a change makes another one. So
// it can always be read who had which quota at an instant.
package pricing
