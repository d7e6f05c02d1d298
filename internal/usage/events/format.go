package events

import (
	"strconv"
	"time"
)

// Format is the form in which a receiver takes events.
type Format string

// The formats.
const (
	CloudEvents Format = "cloudevents"
	Stripe      Format = "stripe"
	OpenMeter   Format = "openmeter"
	Lago        Format = "lago"
)

// Formats are all formats.
var Formats = []Format{CloudEvents, Stripe, OpenMeter, Lago}

// Type is the type of an event of CloudEvents and OpenMeter. Name is the event_name of Stripe's
// meter, and the code of Lago's metric.
const (
	Type = "petstore.requests.v1"
	Name = "petstore_requests"
)

const (
	// stripePast is how old an event may be: Stripe takes 35 days, and the last hour is for
	// sending.
	stripePast = 35*24*time.Hour - time.Hour
	// stripeAhead is how far ahead of Stripe's clock an event may be.
	stripeAhead = 5 * time.Minute
	// stripeDigits is how long a value may be, from API version 2026-04-22 on.
	stripeDigits = 15
	// maxExact is the largest number up to which a program that reads JSON numbers as float64 reads
	// every one exactly.
	maxExact = 1 << 53
	// MaxBatch is how many events Lago takes in a request. OpenMeter names no bound.
	MaxBatch = 100
)

// Batch is how many events a request has at most.
func (f Format) Batch() int {
	if f == OpenMeter || f == Lago {
		return MaxBatch
	}
	return 1
}

// Reason is why a receiver would not take an event; empty if it does.
type Reason string

// The reasons.
const (
	NoBillingRef Reason = "no billing reference"
	TooOld       Reason = "older than the 35 days that Stripe takes"
	TooEarly     Reason = "more than 5 minutes ahead of this machine's clock"
	TooLarge     Reason = "a number that the receiver would round or refuse"
)

// Refuses returns why the receiver would not take the event at that instant.
func (f Format) Refuses(e Event, now time.Time) Reason {
	if f != CloudEvents && e.BillingRef == "" {
		return NoBillingRef
	}
	switch f {
	case Stripe:
		switch {
		case e.Time().Before(now.Add(-stripePast)):
			return TooOld
		case e.Time().After(now.Add(stripeAhead)):
			return TooEarly
		case len(strconv.FormatUint(magnitude(e.Admitted), 10)) > stripeDigits:
			return TooLarge
		}
	case CloudEvents, OpenMeter:
		if max(magnitude(e.Admitted), magnitude(e.Refused)) > maxExact {
			return TooLarge
		}
	case Lago: // Its properties are texts here.
	}
	return ""
}

// Counts reports whether the event says anything to the receiver. Stripe learns only how many
// requests were admitted.
func (f Format) Counts(e Event) bool { return f != Stripe || e.Admitted != 0 }

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}
