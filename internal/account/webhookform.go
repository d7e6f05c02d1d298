package account

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/webhooks"
)

// endpointForm is the content of a form for an endpoint, whose ID is 0 if it is new. Once is only in
// the form for a new one, and the same whenever that is sent.
type endpointForm struct {
	ID, Version            int64
	URL, Description, Once string
	Events                 []string
	Problems               []string
}

// formOfEndpoint is the form of an endpoint in its present state.
func formOfEndpoint(e webhooks.Endpoint) endpointForm {
	return endpointForm{ID: e.ID, Version: e.Version, URL: e.URL, Description: e.Description, Events: e.Events}
}

func (v *visit) requester() webhooks.Requester {
	return webhooks.Requester{TenantID: v.who.Tenant.ID, Digest: v.session}
}

// number reads an ID or a version, 0 if it is none.
func (v *visit) number(name string) int64 {
	n, _ := strconv.ParseInt(v.PostFormValue(name), 10, 64)
	return n
}

// readEndpoint reads the form with its mistakes, and the changes that it makes to e, which is empty
// for a new endpoint.
func (v *visit) readEndpoint(e webhooks.Endpoint) (form endpointForm, p webhooks.EndpointPatch) {
	form = endpointForm{
		ID:          e.ID,
		Version:     v.number("version"),
		URL:         strings.TrimSpace(v.PostFormValue("url")),
		Description: strings.TrimSpace(v.PostFormValue("description")),
		Once:        v.PostFormValue("once"),
	}
	form.Events = v.PostForm["events"]
	if form.URL != e.URL || form.URL == "" {
		url, err := webhooks.CheckURL(form.URL, v.Rules)
		if err != nil {
			form.Problems = append(form.Problems, "The"+strings.TrimPrefix(err.Error(), "the")+".")
		}
		p.URL = &url
	}
	if !slices.Equal(form.Events, e.Events) || len(form.Events) == 0 {
		if err := webhooks.CheckEvents(form.Events); err != nil {
			form.Problems = append(form.Problems, "Events: "+err.Error()+".")
		}
		p.Events = &form.Events
	}
	if form.Description != e.Description {
		problem := keys.TextProblem(form.Description, keys.MaxName)
		if problem != "" && form.Description != "" {
			form.Problems = append(form.Problems, "Description: "+problem+".")
		}
		p.Description = &form.Description
	}
	return form, p
}

// submitEndpoint makes the change of a form, which counts as one. Why it is refused is shown above
// the endpoints, and the form keeps what was typed.
func (v *visit) submitEndpoint(form endpointForm, change func() error) error {
	status := http.StatusBadRequest
	var err error
	if len(form.Problems) == 0 {
		err, status = v.counted(change), http.StatusConflict
		problem := endpointProblem(err)
		if problem == "" {
			return err
		}
		form.Problems = append(form.Problems, problem)
	}
	switch v.refused(err, status); {
	case errors.Is(err, webhooks.ErrNotFound), errors.Is(err, webhooks.ErrDeliveryNotFound):
		v.status = http.StatusNotFound
	case errors.Is(err, errWebhooksOff):
		v.status = http.StatusServiceUnavailable
	case errors.Is(err, webhooks.ErrManyPings):
		v.status = http.StatusTooManyRequests
		v.header.Set("Retry-After", strconv.Itoa(int(time.Hour.Seconds())))
	}
	return v.showEndpoints(form)
}

// errWebhooksOff: the server has no key for secrets.
var errWebhooksOff = errors.New("webhooks are off")

// addEndpoint adds an endpoint, once, and shows its secret.
func (v *visit) addEndpoint() error {
	form, p := v.readEndpoint(webhooks.Endpoint{})
	if len(form.Once) != secretLength {
		return v.message(http.StatusBadRequest, "badForm")
	}
	return v.submitEndpoint(form, func() error {
		if v.Sealer == nil {
			return errWebhooksOff
		}
		seal, secret := v.Sealer.NewSecret()
		n := webhooks.NewEndpoint{URL: *p.URL, Events: form.Events, Description: form.Description}
		e, err := v.Webhooks.Create(v.Context(), v.requester(), n, seal, v.once(form.Once))
		if err != nil {
			return err
		}
		return v.showSecret(e, secret, false, 0)
	})
}

// showSecret shows the secret of an endpoint, this once. Those that sign now go on for grace.
func (v *visit) showSecret(e webhooks.Endpoint, secret string, rotated bool, grace time.Duration) error {
	return v.show("webhook", struct {
		webhooks.Endpoint

		Secret  string
		Rotated bool
		Until   time.Time
	}{e, secret, rotated, v.now.Add(grace)})
}

// editEndpoint changes an endpoint, unless it has changed since the form was made. A form with
// "enabled" enables or disables it, and changes nothing else.
func (v *visit) editEndpoint() error {
	e, err := v.Webhooks.Get(v.Context(), v.requester(), v.number("id"))
	if err != nil {
		return v.submitEndpoint(endpointForm{}, func() error { return err })
	}
	form, p := endpointForm{}, webhooks.EndpointPatch{}
	if v.PostForm.Has("enabled") {
		p.Enabled = new(v.PostFormValue("enabled") == "yes")
	} else if form, p = v.readEndpoint(e); form.Version != e.Version {
		form.Problems = []string{endpointProblem(webhooks.ErrChanged)}
	}
	return v.submitEndpoint(form, func() error {
		_, err := v.Webhooks.Update(v.Context(), v.requester(), e.ID, form.Version, p)
		v.redirectToEndpoint(err, "#webhook-", e.ID)
		return err
	})
}

// redirectToEndpoint leads to a place on the page, unless there is an error.
func (v *visit) redirectToEndpoint(err error, place string, id int64) {
	if err == nil {
		v.redirect("/account/webhooks" + place + strconv.FormatInt(id, 10))
	}
}

// rotateEndpoint adds a secret and shows it.
func (v *visit) rotateEndpoint() error {
	grace, ok := v.readGrace()
	if !ok {
		return v.message(http.StatusBadRequest, "badForm")
	}
	return v.submitEndpoint(endpointForm{}, func() error {
		if v.Sealer == nil {
			return errWebhooksOff
		}
		seal, secret := v.Sealer.NewSecret()
		e, err := v.Webhooks.Rotate(v.Context(), v.requester(), v.number("id"), grace, seal)
		if err != nil {
			return err
		}
		return v.showSecret(e, secret, true, grace)
	})
}

// testEndpoint queues a ping.
func (v *visit) testEndpoint() error {
	return v.submitEndpoint(endpointForm{}, func() error {
		d, err := v.Webhooks.Test(v.Context(), v.requester(), v.number("id"))
		v.redirectToEndpoint(err, "#sent-", d.ID)
		return err
	})
}

// retryDelivery queues a delivery again.
func (v *visit) retryDelivery() error {
	return v.submitEndpoint(endpointForm{}, func() error {
		d, err := v.Webhooks.Retry(v.Context(), v.requester(), v.number("id"), v.number("delivery"))
		v.redirectToEndpoint(err, "#sent-", d.ID)
		return err
	})
}

// replayEndpoint queues events of the past, and the page says how many.
func (v *visit) replayEndpoint() error {
	id, form := v.number("id"), endpointForm{}
	r := webhooks.Replay{Types: v.PostForm["events"], All: v.PostForm.Has("all")}
	for name, bound := range map[string]*time.Time{"since": &r.Since, "until": &r.Until} {
		if text := v.PostFormValue(name); text != "" {
			var err error
			if *bound, err = time.Parse("2006-01-02T15:04", text); err != nil {
				form.Problems = append(form.Problems, "Replay: a time is written as in 2026-11-20T09:21, in UTC.")
			}
		}
	}
	if err := webhooks.CheckEvents(r.Types); err != nil && len(r.Types) > 0 {
		form.Problems = append(form.Problems, "Replay: "+err.Error()+".")
	}
	return v.submitEndpoint(form, func() error {
		n, err := v.Webhooks.Replay(v.Context(), v.requester(), id, r)
		v.redirectToEndpoint(err, "?queued="+strconv.FormatInt(n, 10)+"#webhook-", id)
		return err
	})
}

// removeEndpoint removes an endpoint for ever.
func (v *visit) removeEndpoint() error {
	return v.submitEndpoint(endpointForm{}, func() error {
		err := v.Webhooks.Delete(v.Context(), v.requester(), v.number("id"))
		if err == nil {
			v.redirect("/account/webhooks")
		}
		return err
	})
}

// endpointProblem says why a change of endpoints was refused, "" for another error.
func endpointProblem(err error) string {
	if added, ok := errors.AsType[*webhooks.AlreadyAddedError](err); ok {
		return "This form was sent before, and added the webhook " + strconv.FormatInt(added.ID, 10) +
			", whose secret is not shown again. If you have not copied it, rotate it."
	}
	for refusal, text := range map[error]string{
		errManyChanges: manyChanges,
		errWebhooksOff: "Webhooks are not set up on this server. Ask our support when they will be.",

		webhooks.ErrNotFound:         "There is no such webhook any more.",
		webhooks.ErrDeliveryNotFound: "There is no such delivery any more: they are kept for 7 days.",
		webhooks.ErrChanged: "The webhook was changed after you opened this page. Compare what it has now with " +
			"what you typed, and send it again.",
		webhooks.ErrTooMany:   "You have 5 webhooks already, those for staging included: remove one first.",
		webhooks.ErrDisabled:  "That webhook is disabled: enable it first.",
		webhooks.ErrManyPings: "You have sent 20 pings within an hour to webhooks that are pending: wait for an hour.",

		catalog.ErrIdempotencyKeyReused: "This form was sent before with other values. Send it again.",
	} {
		if errors.Is(err, refusal) {
			return text
		}
	}
	return ""
}
