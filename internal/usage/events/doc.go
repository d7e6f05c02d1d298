// Package events writes recorded usage in the formats of billing systems.
//
// An Event is what one tenant used in one hour under one assignment. A correction is the difference
// to the events sent before. An event's ID is a function of what it counts, so it is always the
// same, and a receiver that already has the event recognises it.
//
// A Format knows the demands of its receiver. Refuses says why the receiver would not take an
// event. Such an event must not be written, because the receiver would refuse it later, or worse,
// ignore it. A Writer writes each line as the body of one request.
//
// Everything here is a function of its arguments. A Writer is for one goroutine. It buffers: the
// output is complete only when Close has returned nil.
package events
