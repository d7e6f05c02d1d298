//go:build !scripts

package ctl

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"petstore.example/internal/subprocess"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/usage/events"
)

// receiver is a stand-in for a billing system, with the rules that its documentation states. take
// returns the events of a body, or why it refuses it.
type receiver struct {
	contentType string
	take        func(body []byte) ([]received, error)
	// duplicates is the reply to a body with events that the receiver has; nil if it ignores them.
	duplicates func(of, all []received) (status int, reply string)

	mu  sync.Mutex
	ids map[string]bool
	// counted is how often each event was counted, first what it was when it came first.
	counted map[string]int
	first   map[string]string
	// sums are the counted requests by customer, lines the requests with new events, requests all.
	sums            map[string]int64
	lines, requests int
	// wrong is what no client may do: two requests at a time, or the same event in other bytes.
	wrong []string
	// down and forgetful are how many requests fail: before the events are taken, or after. hangs
	// is how many are never answered. chaos is how many of 10 requests fail so at random.
	down, forgetful, hangs, chaos int
	// begun gets something when a request comes, if somebody waits for it.
	begun chan struct{}
	// refused is a customer of whom it takes nothing, status its answer to all; 0 for what is right.
	refused string
	status  int
}

type received struct {
	id, customer string
	value        int64
	raw          string
}

// maxLatency is how long a reply takes in chaos, before the events are taken.
const maxLatency = 20 * time.Millisecond

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // A client that was killed.
	}
	if r.chaos > 0 { // A network that takes its time.
		select {
		case r.begun <- struct{}{}:
		default:
		}
		time.Sleep(rand.N(maxLatency)) // a kill may come while the receiver thinks
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	fails := func(left *int) bool {
		*left--
		return *left >= 0 || rand.IntN(30) < r.chaos
	}
	if r.status != 0 {
		w.Header().Set("Location", "/elsewhere")
		http.Error(w, "no: "+req.Header.Get("Authorization"), r.status)
		return
	}
	if fails(&r.down) {
		w.Header().Set("Retry-After", "0")
		http.Error(w, "try again later", http.StatusServiceUnavailable)
		return
	}
	status, reply := r.receive(req.Header.Get("Content-Type"), body, req.Header.Get("Authorization"))
	if r.hangs--; r.hangs >= 0 {
		r.mu.Unlock()
		<-req.Context().Done()
		r.mu.Lock()
		return
	}
	if status == http.StatusOK && fails(&r.forgetful) {
		status, reply = http.StatusBadGateway, "the reply was lost"
	}
	http.Error(w, reply, status)
}

func (r *receiver) receive(contentType string, body []byte, authorization string) (status int, reply string) {
	if contentType != r.contentType {
		return http.StatusUnsupportedMediaType, contentType
	}
	all, err := r.take(body)
	if err != nil {
		return http.StatusBadRequest, err.Error()
	}
	for _, e := range all {
		if r.first[e.id] == "" {
			r.first[e.id] = e.raw
		}
		if r.first[e.id] != e.raw {
			r.wrong = append(r.wrong, fmt.Sprintf("event %s was %s, and is %s", e.id, r.first[e.id], e.raw))
		}
		if e.customer == r.refused {
			return http.StatusUnprocessableEntity, "no such customer: \x00\xff" + authorization
		}
	}
	known := slices.DeleteFunc(slices.Clone(all), func(e received) bool { return !r.ids[e.id] })
	if len(known) > 0 && r.duplicates != nil {
		return r.duplicates(known, all)
	}
	r.lines++
	for _, e := range all {
		if !r.ids[e.id] {
			r.ids[e.id] = true
			r.counted[e.id]++
			r.sums[e.customer] += e.value
		}
	}
	return http.StatusOK, "ok"
}

// forget forgets the IDs, as receivers do after some time.
func (r *receiver) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.ids)
}

func (r *receiver) start(t testing.TB) string {
	t.Helper()
	r.begun = make(chan struct{})
	r.ids, r.sums, r.counted, r.first = map[string]bool{}, map[string]int64{}, map[string]int{}, map[string]string{}
	var active atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		defer active.Add(-1)
		if active.Add(1) > 1 && r.chaos == 0 { // A client that was killed may leave one behind.
			r.mu.Lock()
			r.wrong = append(r.wrong, "two requests at a time")
			r.mu.Unlock()
		}
		r.ServeHTTP(w, req)
	}))
	t.Cleanup(s.Close)
	t.Cleanup(func() { assert.Equal(t, len(r.wrong), 0, "mistakes of the client", r.wrong) })
	return s.URL
}

// stripeReceiver passes each body to stripe-mock, which knows Stripe's OpenAPI document, and adds
// the rules that this does not state.
func stripeReceiver(mock string) *receiver {
	return &receiver{
		contentType: "application/x-www-form-urlencoded",
		take: func(body []byte) ([]received, error) {
			if mock != "" {
				if err := postToMock(mock, body); err != nil {
					return nil, err
				}
			}
			form, err := url.ParseQuery(string(body))
			if err != nil {
				return nil, err
			}
			id, value := form.Get("identifier"), form.Get("payload[value]")
			at, err := strconv.ParseInt(form.Get("timestamp"), 10, 64)
			age := time.Since(time.Unix(at, 0))
			if err != nil || age > 35*24*time.Hour || age < -5*time.Minute {
				return nil, fmt.Errorf("timestamp %q", form.Get("timestamp"))
			}
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil || len(strings.TrimPrefix(value, "-")) > 15 || len(id) > 100 ||
				len(form.Get("event_name")) > 100 {
				return nil, fmt.Errorf("out of bounds: %s", body)
			}
			return []received{{id, form.Get("payload[stripe_customer_id]"), n, string(body)}}, nil
		},
		duplicates: func(of, _ []received) (int, string) {
			return http.StatusBadRequest, `{"error": {"message": "An event already exists with identifier ` +
				of[0].id + `."}}`
		},
	}
}

func postToMock(address string, body []byte) error {
	req, err := http.NewRequest(http.MethodPost, "http://"+address+"/v1/billing/meter_events", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.SetBasicAuth("sk_test_123", "")
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		reply, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("stripe-mock: %s", reply)
	}
	return nil
}

// startStripeMock returns the address of a stripe-mock.
func startStripeMock(t testing.TB) string {
	t.Helper()
	find := sandbox.Command(t, "go", "tool", "-modfile=../../tools/go.mod", "-n", "stripe-mock")
	find.Dir = "."
	path, err := find.Output()
	assert.NoError(t, err, "build stripe-mock")
	cmd := sandbox.Command(
		t,
		strings.TrimSpace(string(path)),
		"-http-addr",
		"127.0.0.1:0",
		"-https-addr",
		"127.0.0.1:0",
	)
	out, err := cmd.StdoutPipe()
	assert.NoError(t, err)
	p, err := subprocess.Start(cmd, syscall.SIGKILL)
	assert.NoError(t, err)
	t.Cleanup(func() { _ = p.Stop(t.Context(), time.Second, syscall.SIGKILL) })
	listening := regexp.MustCompile(`HTTP at address: (\S+)`)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return m[1]
		}
	}
	t.Fatal("stripe-mock does not listen")
	return ""
}

func schemaOf(t testing.TB, format events.Format) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema, err := compiler.Compile("../usage/events/testdata/" + string(format) + ".schema.json")
	assert.NoError(t, err)
	return schema
}

func checkSchema(schema *jsonschema.Schema, body []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// lagoReceiver takes all events of a body, or none if it has one of them.
func lagoReceiver(t testing.TB) *receiver {
	schema := schemaOf(t, events.Lago)
	return &receiver{
		contentType: "application/json",
		take: func(body []byte) (all []received, err error) {
			var batch struct {
				Events []json.RawMessage
			}
			if err := errors.Join(checkSchema(schema, body), json.Unmarshal(body, &batch)); err != nil {
				return nil, err
			}
			for _, raw := range batch.Events {
				var e struct {
					TransactionID          string `json:"transaction_id"`
					ExternalSubscriptionID string `json:"external_subscription_id"`
					Properties             struct {
						Admitted int64 `json:",string"`
					}
				}
				if err := json.Unmarshal(raw, &e); err != nil {
					return nil, err
				}
				all = append(
					all,
					received{e.TransactionID, e.ExternalSubscriptionID, e.Properties.Admitted, string(raw)},
				)
			}
			return all, nil
		},
		duplicates: func(of, all []received) (int, string) {
			details := map[string]any{}
			for i, e := range all {
				if slices.Contains(of, e) {
					details[strconv.Itoa(i)] = map[string][]string{"transaction_id": {"value_already_exist"}}
				}
			}
			reply, _ := json.Marshal(
				map[string]any{"status": 422, "code": "validation_errors", "error_details": details},
			)
			return http.StatusUnprocessableEntity, string(reply)
		},
	}
}

// cloudEvents reads and validates events as the SDK of CloudEvents does.
func cloudEvents(all []json.RawMessage) (list []received, err error) {
	for _, raw := range all {
		var e event.Event
		var data struct{ Admitted int64 }
		if err := json.Unmarshal(raw, &e); err != nil {
			return nil, err
		}
		if err := errors.Join(e.Validate(), e.DataAs(&data)); err != nil {
			return nil, err
		}
		list = append(list, received{e.Source() + e.ID(), e.Subject(), data.Admitted, string(raw)})
	}
	return list, nil
}

func openMeterReceiver(t testing.TB) *receiver {
	schema := schemaOf(t, events.OpenMeter)
	return &receiver{
		contentType: "application/cloudevents-batch+json",
		take: func(body []byte) ([]received, error) {
			var batch []json.RawMessage
			if err := errors.Join(checkSchema(schema, body), json.Unmarshal(body, &batch)); err != nil {
				return nil, err
			}
			return cloudEvents(batch)
		},
	}
}

func cloudEventsReceiver() *receiver {
	return &receiver{
		contentType: "application/cloudevents+json; charset=UTF-8",
		take:        func(body []byte) ([]received, error) { return cloudEvents([]json.RawMessage{body}) },
	}
}
