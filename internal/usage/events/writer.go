package events

import (
	"bufio"
	"encoding/json"
	"io"
	"net/url"
	"strconv"
	"time"
)

// Writer writes events in a format. Each line is the body of one request.
type Writer struct {
	out    *bufio.Writer
	lines  *json.Encoder
	format Format
	// batch is the line that is not full yet.
	batch []any
}

// NewWriter returns a Writer of the format.
func NewWriter(out io.Writer, format Format) *Writer {
	w := &Writer{out: bufio.NewWriter(out), format: format}
	w.lines = json.NewEncoder(w.out)
	// The output goes to programs, not into an HTML page.
	w.lines.SetEscapeHTML(false)
	return w
}

// Write writes an event that the format does not refuse.
func (w *Writer) Write(e Event) error {
	switch w.format {
	case Stripe:
		_, err := w.out.WriteString(stripeForm(e) + "\n")
		return err
	case OpenMeter:
		return w.add(newCloudEvent(e, e.BillingRef))
	case Lago:
		return w.add(newLagoEvent(e))
	default:
		return w.lines.Encode(newCloudEvent(e, "tenant:"+strconv.FormatInt(e.TenantID, 10)))
	}
}

// Close writes what is left.
func (w *Writer) Close() error {
	if err := w.writeBatch(); err != nil {
		return err
	}
	return w.out.Flush()
}

func (w *Writer) add(event any) error {
	if w.batch = append(w.batch, event); len(w.batch) < MaxBatch {
		return nil
	}
	return w.writeBatch()
}

func (w *Writer) writeBatch() error {
	if len(w.batch) == 0 {
		return nil
	}
	var line any = w.batch
	if w.format == Lago {
		line = lagoBatch{w.batch}
	}
	err := w.lines.Encode(line)
	w.batch = w.batch[:0]
	return err
}

// stripeForm is the form of POST /v1/billing/meter_events.
func stripeForm(e Event) string {
	return url.Values{
		"event_name":                  {Name},
		"identifier":                  {e.ID().String()},
		"timestamp":                   {strconv.FormatInt(e.Time().Unix(), 10)},
		"payload[stripe_customer_id]": {e.BillingRef},
		"payload[value]":              {strconv.FormatInt(e.Admitted, 10)},
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
		Correction: e.Correction,
	}
	if e.BillingRef != "" {
		d.BillingRef = &e.BillingRef
	}
	return cloudEvent{
		SpecVersion: "1.0", ID: e.ID().String(), Source: e.Source.URN(), Type: Type, Subject: subject, Time: e.Time(),
		DataContentType: "application/json", Data: d,
	}
}

type lagoBatch struct {
	Events []any `json:"events"`
}

// lagoEvent is an event of Lago's POST /api/v1/events/batch.
type lagoEvent struct {
	TransactionID          string         `json:"transaction_id"`
	ExternalSubscriptionID string         `json:"external_subscription_id"`
	Code                   string         `json:"code"`
	Timestamp              int64          `json:"timestamp"`
	Properties             lagoProperties `json:"properties"`
}

// lagoProperties are texts: Lago computes with decimals, and its schema takes no integer, because
// each is also a number.
type lagoProperties struct {
	TenantID   string    `json:"tenant_id"`
	Hour       time.Time `json:"hour"`
	Assignment string    `json:"assignment"`
	Version    string    `json:"version"`
	Plan       string    `json:"plan"`
	Admitted   string    `json:"admitted"`
	Refused    string    `json:"refused"`
	Correction string    `json:"correction"`
}

func newLagoEvent(e Event) lagoEvent {
	text := func(n int64) string { return strconv.FormatInt(n, 10) }
	return lagoEvent{
		TransactionID: e.ID().String(), ExternalSubscriptionID: e.BillingRef, Code: Name, Timestamp: e.Time().Unix(),
		Properties: lagoProperties{
			TenantID:   text(e.TenantID),
			Hour:       e.Hour.UTC(),
			Assignment: text(e.Assignment),
			Version:    text(e.Version),
			Plan:       e.Plan,
			Admitted:   text(e.Admitted),
			Refused:    text(e.Refused),
			Correction: text(e.Correction),
		},
	}
}
