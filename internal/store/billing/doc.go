// Package billing stores usage, seals months, and hands usage on to billing systems.
//
// A batch of usage is added once, however often it is sent. A sealed month never changes: usage
// that arrives later is a correction in the next open one.
package billing
