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
	// StripeOverage is Stripe's with the overage as the value, for a meter of its own.
	StripeOverage Format = "stripe-overage"
)

// Formats are all formats.
var Formats = []Format{CloudEvents, Stripe, StripeOverage, OpenMeter, Lago}

// Type is the type of an event of CloudEvents and OpenMeter. Name is the event_name of Stripe's
// meter, and the code of Lago's metric. OverageName is the event_name of the meter of StripeOverage.
const (
	Type        = "petstore.requests.v1"
	Name        = "petstore_requests"
	OverageName = "petstore_overage"
)

const (
	// stripePast is the maximum age of an event: Stripe takes 35 days, and the last hour is for
	// sending.
	stripePast = 35*24*time.Hour - time.Hour
	// stripeAhead is how far ahead of Stripe's clock an event may be.
	stripeAhead = 5 * time.Minute
	// stripeDigits is the maximum length of a value, from API version 2026-04-22 on.
	stripeDigits = 15
	// maxExact: up to this number, programs that read JSON numbers as float64 read every integer
	// exactly.
	maxExact = 1 << 53
	// MaxBatch is the most events that Lago takes in a request. OpenMeter names no limit.
	MaxBatch = 100
)

// Batch is the most events in a request.
func (f Format) Batch() int {
	if f == OpenMeter || f == Lago {
		return MaxBatch
	}
	return 1
}

// IsStripe reports whether the receiver is Stripe.
func (f Format) IsStripe() bool { return f == Stripe || f == StripeOverage }

// Value is the number that the receiver bills.
func (f Format) Value(e Event) int64 {
	if f == StripeOverage {
		return e.Overage
	}
	return e.Admitted
}

// Reason is why a receiver would not take an event; empty if it would.
type Reason string

// The reasons.
const (
	NoBillingRef Reason = "no billing reference"
	ByDay        Reason = "its hours are summed into days: bill them by hand"
	TooOld       Reason = "older than the 35 days that Stripe takes"
	TooEarly     Reason = "more than 5 minutes ahead of this machine's clock"
	TooLarge     Reason = "a number that the receiver would round or refuse"
)

// Refuses returns why the receiver would not take the event at now; empty if it would.
func (f Format) Refuses(e Event, now time.Time) Reason {
	if e.ByDay {
		return ByDay
	}
	if f != CloudEvents && e.BillingRef == "" {
		return NoBillingRef
	}
	switch f {
	case Stripe, StripeOverage:
		switch {
		case e.Time().Before(now.Add(-stripePast)):
			return TooOld
		case e.Time().After(now.Add(stripeAhead)):
			return TooEarly
		case len(strconv.FormatUint(magnitude(f.Value(e)), 10)) > stripeDigits:
			return TooLarge
		}
	case CloudEvents, OpenMeter:
		if max(magnitude(e.Admitted), magnitude(e.Refused), magnitude(e.Overage)) > maxExact {
			return TooLarge
		}
	case Lago: // Lago's properties are texts.
	}
	return ""
}

// Counts reports whether the event matters to the receiver. Stripe learns only the value.
func (f Format) Counts(e Event) bool { return !f.IsStripe() || f.Value(e) != 0 }

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}
