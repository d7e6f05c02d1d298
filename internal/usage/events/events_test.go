package events_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"petstore.example/internal/test/assert"
	_ "petstore.example/internal/test/sandbox"
	"petstore.example/internal/usage/events"
)

var (
	source = uuid.MustParse("6e8bc430-9c3a-41d9-9669-0800200c9a66")
	hour   = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
)

// examples are a first event, of an assignment that began within its hour, a correction below zero of
// a closed month, and a tenant whose texts must be escaped.
var examples = []events.Event{
	{
		Source:     source,
		TenantID:   1,
		Tenant:     "acme",
		BillingRef: "cus_NciAYcXfLnqBoz",
		Hour:       hour,
		At:         hour,
		Assignment: 17,
		Began:      hour.Add(20*time.Minute + 33*time.Second + time.Microsecond),
		Version:    1,
		Plan:       "pro",
		Admitted:   8030,
		Refused:    12,
		Overage:    30,
	},
	{
		Source:     source,
		TenantID:   1,
		Tenant:     "acme",
		BillingRef: "cus_NciAYcXfLnqBoz",
		Hour:       hour.AddDate(0, -1, 11),
		At:         hour.Add(time.Hour),
		Assignment: 17,
		Version:    2,
		Plan:       "pro",
		Admitted:   -3,
		Overage:    -1,
		Correction: 1,
	},
	{
		Source:     source,
		TenantID:   2,
		Tenant:     "Zoë & \"<Söhne>\"\n\u2028",
		BillingRef: "a&b=c d\n\"",
		Hour:       hour,
		At:         hour,
		Assignment: 18,
		Version:    1,
		Plan:       "enterprise",
		Admitted:   1 << 53,
		Refused:    0,
	},
}

func write(t *testing.T, format events.Format, list ...events.Event) string {
	t.Helper()
	var out bytes.Buffer
	w := events.NewWriter(&out, format)
	for _, e := range list {
		assert.NoError(t, w.Write(e))
	}
	assert.NoError(t, w.Close())
	return out.String()
}

// TestFormats compares the examples in each format with a file: receivers have read them. With
// UPDATE_GOLDEN it writes the files.
func TestFormats(t *testing.T) {
	t.Parallel()
	for _, format := range events.Formats {
		got, file := write(t, format, examples...), "testdata/"+string(format)+".golden"
		if os.Getenv("UPDATE_GOLDEN") != "" {
			assert.NoError(t, os.WriteFile(file, []byte(got), 0o644))
		}
		want, err := os.ReadFile(file)
		assert.Result(t, got, err, string(want), format, "-file +got")
	}
}

// TestIDs: an ID depends on what is counted, and on nothing else.
func TestIDs(t *testing.T) {
	t.Parallel()
	first := examples[0]
	same := first
	same.Tenant, same.BillingRef, same.Admitted, same.At, same.Version = "renamed", "cus_2", 1, hour.Add(time.Hour), 9
	same.Hour = first.Hour.In(time.FixedZone("", 3600))
	assert.Equal(t, events.Stripe.ID(same), events.Lago.ID(first), "ID of the same count")
	ids := map[uuid.UUID]bool{events.Stripe.ID(first): true, events.StripeOverage.ID(first): true}
	for _, change := range []func(*events.Event){
		func(e *events.Event) { e.Source[0]++ },
		func(e *events.Event) { e.TenantID = 11 },
		func(e *events.Event) { e.Hour = hour.Add(time.Hour) },
		func(e *events.Event) { e.Assignment = 171 },
		func(e *events.Event) { e.Correction = 1 },
	} {
		other := first
		change(&other)
		ids[events.Stripe.ID(other)] = true
	}
	assert.Equal(t, len(ids), 7, "IDs of 7 counts")
}

// TestTimes: an event is in its hour, and, as far as that allows, in its assignment.
func TestTimes(t *testing.T) {
	t.Parallel()
	for began, want := range map[time.Duration]time.Duration{
		-time.Hour:                 0,
		0:                          0,
		time.Microsecond:           time.Second,
		90 * time.Second:           90 * time.Second,
		time.Hour - 2:              time.Hour - time.Second,
		time.Hour:                  time.Hour - time.Second,
		800 * time.Hour:            time.Hour - time.Second,
		time.Hour - time.Second:    time.Hour - time.Second,
		time.Hour - 61*time.Second: time.Hour - 61*time.Second,
	} {
		// A correction counts to At, long after the requests.
		e := events.Event{Hour: hour.AddDate(0, -1, 0), At: hour, Began: hour.Add(began)}
		assert.Equal(t, e.Time().Sub(hour), want, "time of an event whose assignment began", began, "after its hour")
	}
}

func TestReceiversBounds(t *testing.T) {
	t.Parallel()
	now := hour.Add(90 * time.Minute)
	for name, c := range map[string]struct {
		change func(*events.Event)
		want   map[events.Format]events.Reason
	}{
		"an event that all take": {func(*events.Event) {}, nil},
		"no billing reference": {
			func(e *events.Event) { e.BillingRef = "" },
			map[events.Format]events.Reason{
				events.Stripe: events.NoBillingRef, events.OpenMeter: events.NoBillingRef,
				events.Lago: events.NoBillingRef,
			},
		},
		"as old as Stripe takes": {func(e *events.Event) { e.At = now.AddDate(0, 0, -35).Add(time.Hour) }, nil},
		"an assignment that began within the hour": {
			func(e *events.Event) {
				e.At = now.AddDate(0, 0, -35).Add(time.Hour).Truncate(time.Hour)
				e.Began = e.At.Add(59 * time.Minute)
			}, nil,
		},
		"older": {
			func(e *events.Event) { e.At = now.AddDate(0, 0, -35).Add(time.Hour - time.Second) },
			map[events.Format]events.Reason{events.Stripe: events.TooOld},
		},
		"a correction of an old hour": {func(e *events.Event) { e.Hour = hour.AddDate(0, -3, 0) }, nil},
		"five minutes ahead":          {func(e *events.Event) { e.At = now.Add(5 * time.Minute) }, nil},
		"further ahead": {
			func(e *events.Event) { e.At = now.Add(5*time.Minute + time.Second) },
			map[events.Format]events.Reason{events.Stripe: events.TooEarly},
		},
		"2^53": {func(e *events.Event) { e.Admitted, e.Refused = -1<<53, 1<<53 },
			map[events.Format]events.Reason{events.Stripe: events.TooLarge}},
		"2^53 + 1": {
			func(e *events.Event) { e.Refused = 1<<53 + 1 },
			map[events.Format]events.Reason{events.CloudEvents: events.TooLarge, events.OpenMeter: events.TooLarge},
		},
		"15 digits": {func(e *events.Event) { e.Admitted = -999_999_999_999_999 }, nil},
		"16 digits": {func(e *events.Event) { e.Admitted = -1_000_000_000_000_000 },
			map[events.Format]events.Reason{events.Stripe: events.TooLarge}},
		"the least": {
			func(e *events.Event) { e.Admitted = math.MinInt64 },
			map[events.Format]events.Reason{events.CloudEvents: events.TooLarge, events.OpenMeter: events.TooLarge,
				events.Stripe: events.TooLarge},
		},
	} {
		e := examples[0]
		e.Began = time.Time{}
		c.change(&e)
		e.Overage = e.Admitted
		for _, format := range events.Formats {
			want := c.want[format]
			if format == events.StripeOverage {
				want = c.want[events.Stripe]
			}
			assert.Equal(t, format.Refuses(e, now), want, name, format, "refuses it")
		}
	}
}

// TestStripeBounds: event_name and identifier have at most 100 characters.
func TestStripeBounds(t *testing.T) {
	t.Parallel()
	if id := events.Stripe.ID(examples[0]).String(); len(events.Name) > 100 || len(id) > 100 {
		t.Errorf("event_name %q or identifier %q is longer than 100", events.Name, id)
	}
	e := examples[0]
	for _, format := range events.Formats {
		e.Admitted, e.Overage = 0, 0
		assert.Equal(t, format.Counts(e), !format.IsStripe(), "refused requests only count for", format)
		e.Overage = -1
		assert.Equal(t, format.Counts(e), format != events.Stripe, "overage only counts for", format)
		e.Admitted, e.Overage = 1, 0
		assert.Equal(t, format.Counts(e), format != events.StripeOverage, "included requests only count for", format)
	}
}

// TestCloudEventsSDK: the SDK of the CNCF reads every event and finds it valid, and reads what was
// written.
func TestCloudEventsSDK(t *testing.T) {
	t.Parallel()
	var read []event.Event
	for line := range strings.Lines(write(t, events.CloudEvents, examples...)) {
		var e event.Event
		assert.NoError(t, json.Unmarshal([]byte(line), &e))
		read = append(read, e)
	}
	var batch []event.Event
	assert.NoError(t, json.Unmarshal([]byte(write(t, events.OpenMeter, examples...)), &batch))
	if read = append(read, batch...); len(read) != 2*len(examples) {
		t.Fatalf("read %d events", len(read))
	}
	for i, e := range read {
		want := examples[i%len(examples)]
		assert.Equal(t, e.Validate(), nil, "event", i)
		var data struct {
			Tenant                     string
			Hour                       time.Time
			Admitted, Refused, Overage int64
		}
		assert.NoError(t, e.DataAs(&data))
		if e.ID() != events.CloudEvents.ID(want).String() || !e.Time().Equal(want.Time()) ||
			data.Tenant != want.Tenant ||
			!data.Hour.Equal(want.Hour) ||
			data.Admitted != want.Admitted ||
			data.Refused != want.Refused ||
			data.Overage != want.Overage {
			t.Errorf("event %d: read %v, want %+v", i, e, want)
		}
	}
}

// TestSchemas checks batches against what Lago and OpenMeter publish. Each file names its source.
func TestSchemas(t *testing.T) {
	t.Parallel()
	many := make([]events.Event, 2*events.MaxBatch+1)
	for i := range many {
		many[i] = examples[i%len(examples)]
		many[i].Assignment = int64(i)
	}
	for _, format := range []events.Format{events.Lago, events.OpenMeter} {
		compiler := jsonschema.NewCompiler()
		compiler.AssertFormat()
		schema, err := compiler.Compile("testdata/" + string(format) + ".schema.json")
		assert.NoError(t, err)
		lines := strings.SplitAfter(write(t, format, many...), "\n")
		if len(lines) != 4 || lines[3] != "" {
			t.Errorf("%s: %d lines of %d events, want 3", format, len(lines)-1, len(many))
		}
		for _, line := range lines[:len(lines)-1] {
			assert.Equal(t, validate(schema, line), nil, format)
		}
		// A check that accepts anything would be no check.
		for _, member := range []string{`"type"`, `"subject"`, `"transaction_id"`, `"external_subscription_id"`,
			`"code"`} {
			if broken := strings.Replace(
				lines[0],
				member,
				`"x"`,
				1,
			); broken != lines[0] &&
				validate(schema, broken) == nil {
				t.Errorf("%s: accepted without %s", format, member)
			}
		}
	}
}

func validate(schema *jsonschema.Schema, text string) error {
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// TestWriterReportsErrors: what was not written whole is an error at Close at the latest.
func TestWriterReportsErrors(t *testing.T) {
	t.Parallel()
	for _, format := range events.Formats {
		w := events.NewWriter(brokenPipe{}, format)
		err := w.Write(examples[0])
		if err = errors.Join(err, w.Close()); !errors.Is(err, errBroken) {
			t.Errorf("%s: %v, want %v", format, err, errBroken)
		}
	}
}

var errBroken = errors.New("broken pipe")

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errBroken }
