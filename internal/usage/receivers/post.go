package receivers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"petstore.example/internal/usage/events"
)

// Verdict is what a reply says about the events.
type Verdict int

// The verdicts.
const (
	// Later: send the same again.
	Later Verdict = iota
	// Arrived: the receiver has them, from this request or an earlier one.
	Arrived
	// Refused: the receiver will not take this request.
	Refused
	// Stopped: the receiver takes no events from here, because of wrong secrets or a wrong URL.
	Stopped
)

// Answer is the outcome of a request.
type Answer struct {
	Verdict
	// Certain says that this request had no effect.
	Certain bool
	// After is how long the receiver asks to wait; 0 if it does not say.
	After time.Duration
	// Text is the status and at most 200 characters of the reply, or the error, without secrets.
	Text string
}

const (
	maxReply = 64 << 10
	maxText  = 200
)

// Post sends events, as the format's Encode returns them, in one request. The answer means nothing
// if ctx has ended.
func (r *Receiver) Post(ctx context.Context, encoded [][]byte) Answer {
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	req, err := http.NewRequestWithContext(
		httptrace.WithClientTrace(ctx, trace), http.MethodPost, r.url.String(), bytes.NewReader(r.Format.Body(encoded)),
	)
	if err != nil {
		return Answer{Verdict: Stopped, Certain: true, Text: errURL.Error()}
	}
	req.Header = r.header.Clone()
	resp, err := r.client.Do(req)
	if err != nil {
		if within := (*url.Error)(nil); errors.As(err, &within) { // The url.Error repeats the URL.
			err = within.Err
		}
		return Answer{Certain: !connected.Load(), Text: r.clean(err.Error())}
	}
	defer func() { _ = resp.Body.Close() }()
	reply, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	a := Answer{
		Verdict: verdict(resp.StatusCode),
		After:   retryAfter(resp.Header.Get("Retry-After"), time.Now()),
		Text:    strings.TrimSpace(fmt.Sprintf("%d %s", resp.StatusCode, r.clean(string(reply)))),
	}
	refused := a.Verdict == Refused || resp.StatusCode == http.StatusConflict
	switch {
	case refused && err != nil: // A reply that was cut off does not say why.
		a.Verdict = Later
	case refused && len(encoded) == 1 && r.known(string(reply)):
		a.Verdict = Arrived
	}
	a.Certain = a.Verdict == Stopped || resp.StatusCode == http.StatusTooManyRequests
	return a
}

func verdict(status int) Verdict {
	switch {
	case status >= 200 && status < 300:
		return Arrived
	case status < 400, status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusNotFound:
		return Stopped
	case status >= 500, status == http.StatusRequestTimeout, status == http.StatusConflict,
		status == http.StatusTooManyRequests:
		return Later
	}
	return Refused
}

// known reports whether the receiver refuses an event because it already has it.
func (r *Receiver) known(reply string) bool {
	switch r.Format {
	case events.Stripe, events.StripeOverage:
		return strings.Contains(reply, "already exists")
	case events.Lago:
		return strings.Contains(reply, "value_already_exist")
	default: // Other receivers accept events that they have, and ignore them.
		return false
	}
}

// retryAfter reads the Retry-After header: seconds, or a time.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// clean returns the beginning of a foreign text, without secrets, in one line that can be stored
// and shown.
func (r *Receiver) clean(text string) string {
	text = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(r.hide.Replace(text), "\uFFFD"))
	text = strings.Join(strings.Fields(text), " ")
	if cut := []rune(text); len(cut) > maxText {
		text = string(cut[:maxText])
	}
	return text
}
