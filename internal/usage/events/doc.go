// Package events writes recorded usage in the forms in which billing systems take it.
//
// An Event is what one tenant used in one hour under one assignment, or the difference to what was
// handed on of it before: a correction. Its ID is a function of what it counts, so it is the same
// however often it is written, and a receiver that has it recognises it.
//
// A Format knows what its receiver demands. Refuses says why the receiver would not take an event;
// such an event must not be written, because the receiver would refuse it later, or worse, ignore
// it. A Writer writes each line as the body of one request.
//
// Everything here is a function of its arguments. A Writer is for one goroutine. It buffers: what
// it has written counts only when Close has returned nil.
package events
