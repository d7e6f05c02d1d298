package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	petstore "petstore.example/client"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
)

// The service's clock is far from that of the clients.
var serviceTime = time.Date(2031, time.March, 7, 9, 0, 0, 0, time.UTC)

func dates(in time.Duration) []string {
	at := serviceTime.Add(in)
	return []string{at.Format(http.TimeFormat), at.Format("Monday, 02-Jan-06 15:04:05 GMT"), at.Format(time.ANSIC)}
}

// retryAfters are values of Retry-After and what they mean in seconds: 0 for nothing at all.
var retryAfters = []struct {
	values  []string
	seconds int
}{
	{[]string{"1"}, 1},
	{[]string{"30", "030"}, 30},
	{[]string{"90"}, 90},
	{dates(30 * time.Second), 30},
	{[]string{"0", "000"}, 1},
	{append(dates(0), "Sun, 06 Nov 1994 08:49:37 GMT"), 1},
	{[]string{
		"", "-1", "-0", "1.5", "+5", "1e3", "0x10", "soon", "30, 60", "30 s", "1_0", "\xb2", "NaN", "Infinity",
		"null", "true", "2031-03-07T09:00:30Z", "Fri, 07 Mar 2031", "Fri, 31 Feb 2031 09:00:30 GMT",
		"Fri, 07 Mar 2031 25:00:30 GMT", "Fri, 07 Mar 2031 09:00:30 +0000", "Foo, 07 Mar 2031 09:00:30 GMT",
		"Fri, 07 Foo 2031 09:00:30 GMT", "Fri, 07 Mar 2031 09:00:30 GMT, 30",
	}, 0},
	{[]string{"91"}, 91},
	{[]string{"2592000"}, 2592000}, // setTimeout of JavaScript takes at most 2147483 s
	{dates(100 * time.Second), 100},
	{dates(40 * 24 * time.Hour), 40 * 24 * 3600},
	{[]string{"99999999999999999999", strings.Repeat("9", 5000)}, endless},
}

// endless is any number of seconds that is longer than a life.
const endless = -1

// retryCase is a response that a client gets to its first request, or to all.
type retryCase struct {
	status     int
	retryAfter string
	seconds    int
	always     bool
	requests   int
}

func retryCases() (all []*retryCase) {
	for _, same := range retryAfters {
		for _, value := range same.values {
			for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
				all = append(all, &retryCase{
					status: status, retryAfter: value, seconds: same.seconds,
					always: same.seconds <= 0 || same.seconds > 90,
				})
			}
		}
	}
	return append(all, &retryCase{status: http.StatusTooManyRequests, retryAfter: "1", seconds: 1, always: true})
}

// retryAPI answers as the case says that the request's Idempotency-Key is the number of.
type retryAPI struct {
	mu    sync.Mutex
	cases []*retryCase
}

func (a *retryAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, _ = io.Copy(io.Discard, r.Body)
	number, err := strconv.Atoi(r.Header.Get("Idempotency-Key"))
	if err != nil {
		panic(err)
	}
	c := a.cases[number]
	w.Header().Set("Date", serviceTime.Format(http.TimeFormat))
	w.Header().Set("X-Request-Id", "r1")
	if c.requests++; c.requests > 1 && !c.always {
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"id":1,"name":"Rex","categoryId":7,"status":"available"}`)
		return
	}
	if c.retryAfter != "" {
		w.Header().Set("Retry-After", c.retryAfter)
	}
	w.WriteHeader(c.status)
	fmt.Fprintf(w, `{"code":"unavailable","message":"Wait.","status":%d}`, c.status)
}

// outcome is what a client made of a case: how long it waited before each further request, in
// seconds, and its error.
type outcome struct {
	Waits []float64
	Error string
}

// check compares an outcome with what docs/clients.md promises of a client that waits for a limit
// that often.
func (c *retryCase) check(t *testing.T, got outcome, longest int) {
	t.Helper()
	var low, high []float64
	switch s := float64(c.seconds); {
	case c.seconds == 0:
		low, high = []float64{0, 0, 0}, []float64{1, 2, 4}
	case s > 90 || c.seconds == endless: // no wait
	case !c.always:
		low, high = []float64{s}, []float64{s * 1.1}
	default:
		low, high = slices.Repeat([]float64{s}, longest), slices.Repeat([]float64{2 * s}, longest)
	}
	name := fmt.Sprintf("%d with Retry-After: %.40q", c.status, c.retryAfter)
	if c.requests != len(low)+1 || len(got.Waits) != len(low) || (got.Error != "") != c.always {
		t.Errorf("%s: %d requests, waits %v, error %q; want %d requests and an error: %t", name, c.requests, got.Waits,
			got.Error, len(low)+1, c.always)
		return
	}
	const rounding = 0.1 // of clocks, beside which no wait passes
	for i, wait := range got.Waits {
		if wait < low[i]-rounding || wait > high[i]+rounding {
			t.Errorf("%s: wait %d is %v s, want %v to %v s", name, i+1, wait, low[i], high[i])
		}
	}
	if c.seconds > 0 && c.always && !strings.HasSuffix(got.Error, fmt.Sprintf("; try again in %d s", c.seconds)) ||
		c.seconds == endless && !regexp.MustCompile(`; try again in \d{10,} s$`).MatchString(got.Error) {
		t.Errorf("%s: error %q has no number", name, got.Error)
	}
}

// retryDrivers send the request of each case with the library. Time passes only while they sleep.
var retryDrivers = map[string]string{
	"Python": `import json, sys, time
real, slept, waits = time.monotonic, 0, []
def sleep(seconds):
    global slept
    waits.append(seconds)
    slept += seconds
time.sleep, time.monotonic = sleep, lambda: real() + slept
import petstore
for number in range(int(sys.argv[1])):
    waits.clear()
    error = ""
    try:
        petstore.create_pet({"name": "Rex", "categoryId": 7}, str(number))
    except Exception as e:
        error = str(e)
    print(json.dumps({"waits": waits, "error": error}))
`,
	"JavaScript": `import timers from "node:timers/promises";
import { syncBuiltinESMExports } from "node:module";
const real = performance.now.bind(performance);
let slept = 0, waits = [];
timers.setTimeout = async (ms) => { waits.push(ms / 1000); slept += ms; };
performance.now = () => real() + slept;
syncBuiltinESMExports();
const { createPet } = await import("./petstore.mjs");
for (let number = 0; number < Number(process.argv[2]); number++) {
  waits = [];
  let error = "";
  try { await createPet({ name: "Rex", categoryId: 7 }, String(number)); } catch (e) { error = e.message; }
  console.log(JSON.stringify({ waits, error }));
}
`,
}

// TestExampleRetryAfter: the clients in all three languages do the same with each value.
func TestExampleRetryAfter(t *testing.T) {
	t.Parallel()
	for name, e := range examples {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := &retryAPI{cases: retryCases()}
			server := httptest.NewServer(api)
			t.Cleanup(server.Close)
			dir := e.install(t, 4)
			write(t, dir, "driver.mjs", retryDrivers[name])
			cmd := e.command(t, dir, server.URL, "key", "driver.mjs", strconv.Itoa(len(api.cases)))
			out, err := cmd.Output()
			assert.NoError(t, err, string(out))
			lines := json.NewDecoder(strings.NewReader(string(out)))
			for _, c := range api.cases {
				var got outcome
				assert.NoError(t, lines.Decode(&got))
				c.check(t, got, 10)
			}
			t.Logf("%d cases", len(api.cases))
		})
	}
	t.Run("Go", func(t *testing.T) {
		t.Parallel()
		api := &retryAPI{cases: retryCases()}
		for number, c := range api.cases {
			synctest.Test(t, func(t *testing.T) { c.check(t, goOutcome(t, api, number), 3) })
		}
		t.Logf("%d cases", len(api.cases))
	})
}

func goOutcome(t *testing.T, api http.Handler, number int) (got outcome) {
	t.Helper()
	var last time.Time
	store, err := petstore.New("http://127.0.0.1/v1", "key", petstore.WithHTTPClient(&http.Client{
		Transport: transport(func(r *http.Request) (*http.Response, error) {
			if !last.IsZero() {
				got.Waits = append(got.Waits, time.Since(last).Seconds())
			}
			last = time.Now()
			w := httptest.NewRecorder()
			api.ServeHTTP(w, r)
			return w.Result(), nil
		}),
	}))
	assert.NoError(t, err)
	_, err = store.CreatePet(t.Context(), petstore.NewPet{Name: "Rex"}, petstore.IdempotencyKey(strconv.Itoa(number)))
	if err != nil {
		got.Error = err.Error()
	}
	return got
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestExampleRetryAfterTable: docs/clients.md names only values that are tried, with their outcome.
func TestExampleRetryAfterTable(t *testing.T) {
	t.Parallel()
	page := programs.Read(t, "../../docs/clients.md")
	_, table, _ := strings.Cut(page, "| `Retry-After` | a client |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := regexp.MustCompile("(?m)^\\| ([^|]*`[^|]*) \\| ([^|]*) \\|$").FindAllStringSubmatch(table, -1)
	assert.Equal(t, len(rows), 5, "rows")
	for _, row := range rows {
		for _, quoted := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			var meant string
			for _, same := range retryAfters {
				if !slices.Contains(same.values, quoted[1]) {
					continue
				}
				switch s := same.seconds; {
				case strings.HasPrefix(quoted[1], "Sun, "), s > 0 && s <= 90 && quoted[1] != "0":
					meant = "waits "
				case s == 0:
					meant = "waits a random time"
				case s == 1:
					meant = "waits 1 second"
				default:
					meant = "does not wait"
				}
			}
			if meant == "" || !strings.HasPrefix(row[2], meant) {
				t.Errorf("%s is tried as %q, and the page says %q", quoted[1], meant, row[2])
			}
		}
	}
}
