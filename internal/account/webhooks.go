package account

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"petstore.example/internal/keys"
	"petstore.example/internal/mail"
	"petstore.example/internal/webhooks"
)

const (
	// shownDeliveries is the number of deliveries of an endpoint on the page, shownEvents that of
	// events of which somebody was told.
	shownDeliveries, shownEvents = 10, 20
)

// shownEndpoint is an endpoint with the form that changes it, and what it was told of last.
type shownEndpoint struct {
	webhooks.Endpoint

	Form       endpointForm
	Deliveries []webhooks.SentDelivery
}

// toldEvent is an event with those who were told of it. At is when that was begun.
type toldEvent struct {
	ID   uuid.UUID
	Type string
	At   time.Time
	To   []toldTo
}

// toldTo is an endpoint that was told of an event, with the last delivery's status, or the address, if
// it has no ID.
type toldTo struct {
	webhooks.Endpoint

	Told string
}

func (v *visit) endpoints() error { return v.showEndpoints(endpointForm{}) }

// showEndpoints shows the tenant's endpoints with their forms, and what was sent to them. form, with
// what was typed, replaces one of these forms, that of a new endpoint if it has Once.
func (v *visit) showEndpoints(form endpointForm) error {
	list, err := v.Webhooks.List(v.Context(), v.requester())
	if err != nil {
		return err
	}
	data := struct {
		Problems  []string
		Queued    string
		Form      endpointForm
		Endpoints []shownEndpoint
		Told      []toldEvent
		Mailbox   mail.Mailbox
		Off, Full bool
	}{Problems: form.Problems, Form: form, Off: v.Sealer == nil, Full: len(list) >= webhooks.MaxEndpoints}
	if n, err := strconv.ParseUint(v.URL.Query().Get("queued"), 10, 32); err == nil {
		data.Queued = strconv.FormatUint(n, 10)
	}
	if form.Once == "" {
		data.Form = endpointForm{Events: []string{webhooks.AllEvents}}
		data.Form.Once, _ = keys.NewSecret()
	}
	sent := make([][]webhooks.SentDelivery, len(list))
	for i, e := range list {
		if sent[i], err = v.Webhooks.Deliveries(v.Context(), v.requester(), e.ID, 0, shownEvents); err != nil {
			return err
		}
		s := shownEndpoint{
			Endpoint:   e,
			Form:       formOfEndpoint(e),
			Deliveries: sent[i][:min(shownDeliveries, len(sent[i]))],
		}
		if e.ID == form.ID {
			// If the form is sent again, it applies to the endpoint as shown now.
			s.Form, s.Form.Version = form, e.Version
		}
		data.Endpoints = append(data.Endpoints, s)
	}
	if data.Mailbox, err = v.Addresses.Mailbox(v.Context(), v.session, shownEvents); err != nil {
		return err
	}
	data.Told = toldOf(list, sent, data.Mailbox.Mails)
	return v.show("webhooks", data)
}

// deadEndpoints returns the tenant's endpoints that do not answer.
func (v *visit) deadEndpoints() ([]webhooks.Endpoint, error) {
	list, err := v.Webhooks.List(v.Context(), v.requester())
	return slices.DeleteFunc(list, func(e webhooks.Endpoint) bool { return !e.Dead(v.now) }), err
}

// toldOf returns the events of deliveries and mails, the latest first. sent has the latest deliveries
// of each endpoint in list.
func toldOf(list []webhooks.Endpoint, sent [][]webhooks.SentDelivery, mails []mail.Told) (told []toldEvent) {
	tell := func(event uuid.UUID, kind string, at time.Time, to toldTo) {
		i := slices.IndexFunc(told, func(t toldEvent) bool { return t.ID == event })
		if i < 0 {
			i = len(told)
			told = append(told, toldEvent{ID: event, Type: kind})
		}
		t := &told[i]
		if at.After(t.At) {
			t.At = at
		}
		// Of several deliveries to one endpoint the latest is the first.
		if !slices.ContainsFunc(t.To, func(o toldTo) bool { return o.ID == to.ID }) {
			t.To = append(t.To, to)
		}
	}
	for i, e := range list {
		for _, d := range sent[i] {
			tell(d.EventID, d.Type, d.CreatedAt, toldTo{e, d.Status})
		}
	}
	for _, m := range mails {
		tell(m.Event, m.Type, m.At, toldTo{Told: m.Status})
	}
	slices.SortStableFunc(told, func(a, b toldEvent) int { return b.At.Compare(a.At) })
	return told[:min(shownEvents, len(told))]
}

// answerText is what an endpoint answered, as text: what is not UTF-8 is replaced.
func answerText(answer []byte) string { return strings.ToValidUTF8(string(answer), "\ufffd") }
