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

// Verdict is what a reply says of the events.
type Verdict int

// The verdicts.
const (
	// Later: send the same again.
	Later Verdict = iota
	// Arrived: the receiver has them, by this request or by an earlier one.
	Arrived
	// Refused: the receiver will not take this request.
	Refused
	// Stopped: the receiver takes nothing from here: wrong secrets, or a wrong URL.
	Stopped
)

// Answer is the outcome of a request.
type Answer struct {
	Verdict
	// Certain: this request had no effect.
	Certain bool
	// After is how long the receiver asks to wait; 0 if it says nothing.
	After time.Duration
	// Text is the status and at most 200 characters of the reply, or the error, without secrets.
	Text string
}

const (
	maxReply = 64 << 10
	maxText  = 200
)

// Post sends events in one request, as Encode of the format returns them. The answer is without
// meaning if ctx has ended.
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
		if within := (*url.Error)(nil); errors.As(err, &within) { // It repeats the URL.
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
	case refused && err != nil: // Half a reply does not say why.
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

// known reports whether the receiver refuses an event because it has it.
func (r *Receiver) known(reply string) bool {
	switch r.Format {
	case events.Stripe:
		return strings.Contains(reply, "already exists")
	case events.Lago:
		return strings.Contains(reply, "value_already_exist")
	default: // They take what they have, and ignore it.
		return false
	}
}

// retryAfter reads the header of that name: seconds, or a time.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// clean returns the beginning of a text from elsewhere, without secrets, in one line that can be
// stored and shown.
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
