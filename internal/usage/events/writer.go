package events

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// Encode returns an event as it appears in a request's body.
func (f Format) Encode(e Event) ([]byte, error) {
	var event any
	switch f {
	case Stripe, StripeOverage:
		return []byte(f.stripeForm(e)), nil
	case OpenMeter:
		event = newCloudEvent(e, e.BillingRef)
	case Lago:
		event = newLagoEvent(e)
	default:
		event = newCloudEvent(e, "tenant:"+strconv.FormatInt(e.TenantID, 10))
	}
	var out bytes.Buffer
	lines := json.NewEncoder(&out)
	// The output goes to programs, not into an HTML page.
	lines.SetEscapeHTML(false)
	err := lines.Encode(event)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// Body returns the body of one request with 1 to Batch events, as Encode returns them.
func (f Format) Body(encoded [][]byte) []byte {
	list := bytes.Join(encoded, []byte(","))
	switch f {
	case OpenMeter:
		return slices.Concat([]byte("["), list, []byte("]"))
	case Lago:
		return slices.Concat([]byte(`{"events":[`), list, []byte("]}"))
	default:
		return list
	}
}

// Writer writes events in a format. Each line is the body of one request.
type Writer struct {
	out    *bufio.Writer
	format Format
	// batch is the line that is not full yet.
	batch [][]byte
}

// NewWriter returns a Writer of the format.
func NewWriter(out io.Writer, format Format) *Writer {
	return &Writer{out: bufio.NewWriter(out), format: format}
}

// Write writes an event that the format does not refuse.
func (w *Writer) Write(e Event) error {
	encoded, err := w.format.Encode(e)
	if err != nil {
		return err
	}
	if w.batch = append(w.batch, encoded); len(w.batch) < w.format.Batch() {
		return nil
	}
	return w.writeBatch()
}

// Close writes what is left.
func (w *Writer) Close() error {
	if err := w.writeBatch(); err != nil {
		return err
	}
	return w.out.Flush()
}

func (w *Writer) writeBatch() error {
	if len(w.batch) == 0 {
		return nil
	}
	_, err := w.out.Write(append(w.format.Body(w.batch), '\n'))
	w.batch = w.batch[:0]
	return err
}

// stripeForm is the form of POST /v1/billing/meter_events.
func (f Format) stripeForm(e Event) string {
	name := Name
	if f == StripeOverage {
		name = OverageName
	}
	return url.Values{
		"event_name":                  {name},
		"identifier":                  {f.ID(e).String()},
		"timestamp":                   {strconv.FormatInt(e.Time().Unix(), 10)},
		"payload[stripe_customer_id]": {e.BillingRef},
		"payload[value]":              {strconv.FormatInt(f.Value(e), 10)},
		"payload[plan]":               {e.Plan},
	}.Encode()
}

// cloudEvent is a CloudEvent 1.0 in JSON.
type cloudEvent struct {
	SpecVersion     string    `json:"specversion"`
	ID              string    `json:"id"`
	Source          string    `json:"source"`
	Type            string    `json:"type"`
	Subject         string    `json:"subject"`
	Time            time.Time `json:"time"`
	DataContentType string    `json:"datacontenttype"`
	Data            data      `json:"data"`
}

type data struct {
	TenantID   int64     `json:"tenant_id"`
	Tenant     string    `json:"tenant"`
	BillingRef *string   `json:"billing_ref"`
	Hour       time.Time `json:"hour"`
	Assignment int64     `json:"assignment"`
	Version    int64     `json:"version"`
	Plan       string    `json:"plan"`
	Admitted   int64     `json:"admitted"`
	Refused    int64     `json:"refused"`
	Overage    int64     `json:"overage"`
	Correction int64     `json:"correction"`
}

func newCloudEvent(e Event, subject string) cloudEvent {
	d := data{
		TenantID:   e.TenantID,
		Tenant:     e.Tenant,
		Hour:       e.Hour.UTC(),
		Assignment: e.Assignment,
		Version:    e.Version,
		Plan:       e.Plan,
		Admitted:   e.Admitted,
		Refused:    e.Refused,
		Overage:    e.Overage,
		Correction: e.Correction,
	}
	if e.BillingRef != "" {
		d.BillingRef = &e.BillingRef
	}
	return cloudEvent{
		SpecVersion:     "1.0",
		ID:              CloudEvents.ID(e).String(),
		Source:          e.Source.URN(),
		Type:            Type,
		Subject:         subject,
		Time:            e.Time(),
		DataContentType: "application/json",
		Data:            d,
	}
}

// lagoEvent is an event of Lago's POST /api/v1/events/batch.
type lagoEvent struct {
	TransactionID          string         `json:"transaction_id"`
	ExternalSubscriptionID string         `json:"external_subscription_id"`
	Code                   string         `json:"code"`
	Timestamp              int64          `json:"timestamp"`
	Properties             lagoProperties `json:"properties"`
}

// lagoProperties are texts: Lago computes with decimals, and its schema takes no integers.
type lagoProperties struct {
	TenantID   string    `json:"tenant_id"`
	Hour       time.Time `json:"hour"`
	Assignment string    `json:"assignment"`
	Version    string    `json:"version"`
	Plan       string    `json:"plan"`
	Admitted   string    `json:"admitted"`
	Refused    string    `json:"refused"`
	Overage    string    `json:"overage"`
	Correction string    `json:"correction"`
}

func newLagoEvent(e Event) lagoEvent {
	text := func(n int64) string { return strconv.FormatInt(n, 10) }
	return lagoEvent{
		TransactionID: Lago.ID(
			e,
		).String(),
		ExternalSubscriptionID: e.BillingRef,
		Code:                   Name,
		Timestamp:              e.Time().Unix(),
		Properties: lagoProperties{
			TenantID:   text(e.TenantID),
			Hour:       e.Hour.UTC(),
			Assignment: text(e.Assignment),
			Version:    text(e.Version),
			Plan:       e.Plan,
			Admitted:   text(e.Admitted),
			Refused:    text(e.Refused),
			Overage:    text(e.Overage),
			Correction: text(e.Correction),
		},
	}
}
