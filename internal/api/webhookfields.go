package api

import (
	"errors"
	"strings"
	"time"

	"petstore.example/internal/api/jsonbody"
	"petstore.example/internal/api/problem"
	"petstore.example/internal/keys"
	"petstore.example/internal/webhooks"
)

// The responses of /v1/webhooks.
type (
	// webhook is an endpoint. Secret is only in the response to the request that made it.
	webhook struct {
		ID             int64            `json:"id"`
		URL            string           `json:"url"`
		Events         []string         `json:"events"`
		Description    string           `json:"description"`
		Environment    keys.Environment `json:"environment"`
		Status         webhooks.Status  `json:"status"`
		DisabledReason *string          `json:"disabledReason"`
		CreatedAt      time.Time        `json:"createdAt"`
		Secret         string           `json:"secret,omitempty"`
	}
	delivery struct {
		ID            int64      `json:"id"`
		EventID       string     `json:"eventId"`
		Type          string     `json:"type"`
		CreatedAt     time.Time  `json:"createdAt"`
		Status        string     `json:"status"`
		NextAttemptAt *time.Time `json:"nextAttemptAt"`
		Attempts      []attempt  `json:"attempts"`
	}
	attempt struct {
		At         time.Time `json:"at"`
		DurationMs int64     `json:"durationMs"`
		Status     *int      `json:"status"`
		Answer     string    `json:"answer"`
		Problem    *string   `json:"problem"`
	}
)

func webhookOf(e webhooks.Endpoint) webhook {
	return webhook{
		ID: e.ID, URL: e.URL, Events: e.Events, Description: e.Description, Environment: e.Environment,
		Status: e.Status, DisabledReason: orNull(e.DisabledReason), CreatedAt: e.CreatedAt,
	}
}

func deliveryOf(d webhooks.SentDelivery) delivery {
	shown := delivery{
		ID: d.ID, EventID: d.EventID.String(), Type: d.Type, CreatedAt: d.CreatedAt, Status: d.Status,
		NextAttemptAt: orNull(d.DueAt), Attempts: make([]attempt, len(d.Attempts)),
	}
	for i, a := range d.Attempts {
		shown.Attempts[i] = attempt{
			At: a.At, DurationMs: a.Took.Milliseconds(), Status: orNull(a.Status),
			Answer: strings.ToValidUTF8(string(a.Answer), "\ufffd"), Problem: orNull(a.Said),
		}
	}
	return shown
}

// readWebhook reads a new endpoint, or a change of one. It rejects unknown members, as those of
// keys are: a misspelt one would leave an endpoint with other events than was meant.
func (a *api) readWebhook(data []byte, isNew bool) (p webhooks.EndpointPatch, err error) {
	members, nullable := []string{"url", "events", "description"}, []string(nil)
	if !isNew {
		members, nullable = append(members, "status"), []string{"description"}
	}
	o, err := jsonbody.ReadNullable(data, true, nullable, members...)
	if err != nil {
		return p, err
	}
	if isNew {
		o.Require("url")
	}
	p.URL, p.Events = o.Text("url"), eventsOf(o, "events")
	if p.Description = textOf(o, "description", keys.MaxName); o.Null("description") {
		p.Description = new(string)
	}
	status := jsonbody.Enum(o, "status", func(s string) (webhooks.Status, bool) {
		return webhooks.Status(s), s == string(webhooks.Enabled) || s == string(webhooks.Disabled)
	}, "enabled, disabled")
	if status != nil {
		p.Enabled = new(*status == webhooks.Enabled)
	}
	if err := o.Err(); err != nil || p.URL == nil {
		return p, err
	}
	*p.URL, err = webhooks.CheckURL(*p.URL, a.Webhooks.Rules)
	if reason, ok := errors.AsType[webhooks.InvalidURLError](err); ok {
		err = problem.InvalidURL.WithMessage("url " + string(reason) + ".")
	}
	return p, err
}

// eventsOf returns a member that has types of events, nil if it is missing or rejected.
func eventsOf(o *jsonbody.Object, name string) *[]string {
	events := o.Texts(name)
	if events == nil {
		return nil
	}
	if err := webhooks.CheckEvents(events); err != nil {
		o.Reject(name + ": " + err.Error())
		return nil
	}
	return &events
}

// readGracePeriod reads {gracePeriod?}, in seconds.
func readGracePeriod(data []byte) (time.Duration, error) {
	o, err := jsonbody.Read(data, true, "gracePeriod")
	if err != nil {
		return 0, err
	}
	seconds, _ := gracePeriodOf(o)
	return time.Duration(seconds) * time.Second, o.Err()
}

// readReplay reads {since?, until?, types?, all?}.
func readReplay(data []byte) (r webhooks.Replay, err error) {
	o, err := jsonbody.Read(data, true, "since", "until", "types", "all")
	if err != nil {
		return r, err
	}
	for name, bound := range map[string]*time.Time{"since": &r.Since, "until": &r.Until} {
		if text := o.Text(name); text != nil {
			at, ok := parseInstant(*text)
			if *bound = at.UTC(); !ok || at.Year() > 9999 || at.Year() < 1 {
				o.Reject(name + " must be a date and time, such as 2026-11-20T09:21:48Z")
			}
		}
	}
	if types := eventsOf(o, "types"); types != nil {
		r.Types = *types
	}
	r.All = o.True("all")
	return r, o.Err()
}
