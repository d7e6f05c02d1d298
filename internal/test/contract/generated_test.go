package contract

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"petstore.example/internal/api"
	"petstore.example/internal/catalog"
	"petstore.example/internal/freshness"
	"petstore.example/internal/keys"
	"petstore.example/internal/keys/callers"
	"petstore.example/internal/keys/strikes"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
	"petstore.example/internal/usage"
)

// The memory store of address buckets and the page cache have goroutines that end when the garbage collector finds them.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(storetest.Suite{M: m}, goleak.IgnoreAnyFunction("github.com/ulule/limiter/v3/drivers/store/memory.(*cleaner).Run"),
		goleak.IgnoreAnyFunction("github.com/maypok86/otter/v2.periodicCleanUp[...]"))
}

// deployment is the API on a database of its own, and a tenant that no limit stops.
type deployment struct {
	http.Handler
	document     *Document
	key          string
	remote       bool
	staff        *store.DB
	pets, orders []string
}

// theDocument loads the API's document.
func theDocument(t *testing.T) *Document {
	t.Helper()
	d, err := Load(documentText(t))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func documentText(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func newDeployment(t *testing.T) *deployment {
	t.Helper()
	d := &deployment{document: theDocument(t)}
	database := storetest.New(t)
	staff := storetest.Open(t, database.URL, store.Options{})
	d.staff = staff
	d.key = storetest.IssueKey(t, staff, store.NewTenant{Name: "acme", Plan: plans.Enterprise, Own: &plans.Quota{PerMinute: 1 << 40, PerDay: 1 << 40}})
	db := storetest.Open(t, database.APIURL, store.Options{AsAPI: true, Timeout: wait.Limit})
	strikes := strikes.New(strikes.Options{Bans: db.Bans})
	t.Cleanup(strikes.Close)
	// Pages are kept in memory, as by a server that is the only one.
	stamps := freshness.NewMemory(func() (int64, bool) { return 1, true })
	var err error
	d.Handler, err = api.New(api.Config{
		Directory: callers.NewDirectory(db.Keys, keys.Live, time.Now), Limiter: limits.NewMemory(limits.WithStamps(stamps)),
		Invalidator: stamps, ListCacheBytes: 1 << 20, Addresses: limits.NewAddresses(1 << 40),
		Strikes: strikes, Meter: usage.NewMeter(db.Usage, usage.Options{}), Pets: db.Pets, Orders: db.Orders, Requests: db.Idempotency, Usage: db.Usage, Plans: db.PriceList,
		BodyBytes: api.MinBodyBytes, BaseURL: "https://api.example.com/v1", Log: zerolog.Nop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	d.fill(t, db)
	return d
}

// fill adds animals and orders.
func (d *deployment) fill(t *testing.T, db *store.DB) {
	t.Helper()
	const tenant = 1
	for range 400 {
		pet, err := db.Pets.CreatePet(t.Context(), tenant, catalog.NewPet{Name: "Rex", CategoryID: 7, Status: catalog.Available})
		if err != nil {
			t.Fatal(err)
		}
		d.pets = append(d.pets, strconv.FormatInt(pet.ID, 10))
		if pet.ID%2 == 0 {
			continue
		}
		order, err := db.Orders.PlaceOrder(t.Context(), tenant, catalog.NewOrder{PetID: pet.ID, Quantity: 1})
		if err != nil {
			t.Fatal(err)
		}
		d.orders = append(d.orders, strconv.FormatInt(order.ID, 10))
	}
}

// requests makes requests of an operation.
func (d *deployment) requests(t *testing.T, o *Operation) *requests {
	t.Helper()
	r, err := newRequests(d.document, o, map[string][]string{"petId": d.pets, "orderId": d.orders})
	if err != nil {
		t.Fatal(err)
	}
	r.remote = d.remote
	return r
}

// ask sends a request and returns the status, and what is wrong with the answer. After 503 it waits and asks again, as Retry-After says:
// on a busy machine a key that is not in memory may not be looked up in time.
func (d *deployment) ask(req *http.Request, body []byte) (int, error) {
	const attempts = 5
	for attempt := 1; ; attempt++ {
		again := req.Clone(req.Context())
		again.Body = io.NopCloser(bytes.NewReader(body))
		rec := httptest.NewRecorder()
		d.ServeHTTP(rec, again)
		err := d.document.CheckAnswer(Exchange{Request: req, RequestBody: body, Status: rec.Code, Header: rec.Result().Header, Body: rec.Body.Bytes()})
		if err != nil || rec.Code != http.StatusServiceUnavailable || attempt == attempts {
			return rec.Code, err
		}
		seconds, err := strconv.Atoi(rec.Result().Header.Get("Retry-After"))
		if err != nil {
			return rec.Code, fmt.Errorf("503 with Retry-After %q", rec.Result().Header["Retry-After"])
		}
		time.Sleep(time.Duration(seconds) * time.Second) // as Retry-After says
	}
}

// cases is how many requests of each kind are made of the operation; a tenth of them without a good key. Over the network it is a
// twentieth of that. An open operation returns one of two long documents, whatever the request: for it, it is a tenth.
func (d *deployment) cases(o *Operation) int {
	n := 1_000
	if os.Getenv("PETSTORE_SOAK") != "" {
		n = 20_000
	}
	if d.remote {
		n /= 20
	}
	if o.Open {
		n /= 10
	}
	return n
}

// TestGenerated: what the document allows is done, what it forbids is refused with an Error, and without a good key nothing is
// done.
func TestGenerated(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	d.testOperations(t)
	for mode := range Modes {
		t.Run("fast path "+mode, func(t *testing.T) {
			t.Parallel()
			remote := *d
			remote.Handler, remote.remote = Remote(t, &http.Server{Handler: d.Handler, ConnContext: api.ConnContext}, mode), true
			remote.testOperations(t)
		})
	}
}

func (d *deployment) testOperations(t *testing.T) {
	for _, o := range d.document.Operations {
		t.Run(o.ID, func(t *testing.T) {
			t.Parallel()
			t.Run("valid", func(t *testing.T) { d.sendGood(t, o) })
			t.Run("invalid", func(t *testing.T) { d.sendBad(t, o) })
			if !o.Open {
				t.Run("without a key", func(t *testing.T) { d.sendWithoutKey(t, o) })
			}
		})
	}
}

func (d *deployment) sendGood(t *testing.T, o *Operation) {
	r, counts := d.requests(t, o), counter{}
	for range d.cases(o) {
		req, body := r.request(t.Context(), r.good(), d.key)
		status, err := d.ask(req, body)
		counts[strconv.Itoa(status)]++
		if err != nil || status >= 500 || slices.Contains([]int{400, 401, 405, 410, 413, 414, 415, 422, 429}, status) {
			t.Fatalf("a valid request: %d, %v\n%s", status, err, show(req, body))
		}
	}
	t.Log(counts)
}

func (d *deployment) sendBad(t *testing.T, o *Operation) {
	r, counts := d.requests(t, o), counter{}
	for range d.cases(o) {
		s, f := r.bad()
		req, body := r.request(t.Context(), s, d.key)
		status, err := d.ask(req, body)
		counts[fmt.Sprint(status, " ", f.name)]++
		if err != nil || !slices.Contains(f.wants, status) {
			t.Fatalf("%s: %d, want %v; %v\n%s", f.name, status, f.wants, err, show(req, body))
		}
	}
	t.Log(counts)
}

func (d *deployment) sendWithoutKey(t *testing.T, o *Operation) {
	r, counts := d.requests(t, o), counter{}
	other, err := keys.NewToken(keys.Live)
	if err != nil {
		t.Fatal(err)
	}
	staging, err := keys.NewToken(keys.Test)
	if err != nil {
		t.Fatal(err)
	}
	for range d.cases(o) / 10 {
		s := r.good()
		if r.chance(50) {
			if bad, f := r.bad(); !slices.Contains(f.wants, http.StatusRequestURITooLong) {
				s = bad
			}
		}
		req, body := r.request(t.Context(), s, "")
		credentials := pick(r.values, [][]string{
			nil, {""}, {"Basic dXNlcjpwYXNz"}, {"Bearer"}, {"Bearer "}, {"Bearer x"}, {"Bearer " + d.key + "x"}, {"Bearer " + d.key[:44]},
			{"Bearer " + d.key, "Bearer " + d.key}, {d.key}, {"Bearer " + other.Reveal()}, {"Bearer " + staging.Reveal()}, {"Bearer " + strings.ToUpper(d.key)},
		})
		if credentials != nil {
			req.Header["Authorization"] = credentials
		}
		status, err := d.ask(req, body)
		counts[strconv.Itoa(status)]++
		if err != nil || status != http.StatusUnauthorized {
			t.Fatalf("with %q: %d, want 401; %v\n%s", credentials, status, err, show(req, body))
		}
	}
	t.Log(counts)
}

// TestOtherMethods: what a path does not have is 405, with what it has in Allow.
func TestOtherMethods(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	for _, o := range d.document.Operations {
		operations, _ := d.document.match(o.Path)
		has := methods(operations)
		r := d.requests(t, o)
		for _, method := range []string{"GET", "PUT", "POST", "DELETE", "PATCH", "TRACE", "QUERY", "PROPFIND", "get", "X"} {
			if slices.Contains(has, method) {
				continue
			}
			for _, key := range []string{d.key, ""} {
				req, body := r.request(t.Context(), r.good(), key)
				req.Method = method
				if status, err := d.ask(req, body); err != nil || status != http.StatusMethodNotAllowed {
					t.Errorf("%s: %d, %v", method, status, err)
				}
			}
		}
		req, body := r.request(t.Context(), r.good(), "")
		req.Method = http.MethodOptions
		if status, err := d.ask(req, body); err != nil || status != http.StatusNoContent {
			t.Errorf("OPTIONS: %d, %v", status, err)
		}
	}
}

// TestSameSeedSameRequests: a failure can be had again.
func TestSameSeedSameRequests(t *testing.T) {
	t.Parallel()
	d := theDocument(t)
	for _, o := range d.Operations {
		var all [2]string
		for i := range all {
			r, err := newRequests(d, o, nil)
			if err != nil {
				t.Fatal(err)
			}
			for range 20 {
				req, body := r.request(context.Background(), r.good(), "key")
				s, _ := r.bad()
				req2, body2 := r.request(context.Background(), s, "key")
				all[i] += show(req, body) + show(req2, body2)
			}
		}
		if all[0] != all[1] {
			t.Errorf("%s: the requests differ", o.ID)
		}
	}
}

// counter counts outcomes by name.
type counter map[string]int

func (t counter) String() string {
	total, parts := 0, []string{}
	for what, n := range t {
		total += n
		parts = append(parts, fmt.Sprintf("%s: %d", what, n))
	}
	slices.Sort(parts)
	return fmt.Sprintf("%d (%s)", total, strings.Join(parts, ", "))
}

func show(req *http.Request, body []byte) string {
	h := req.Header.Clone()
	h.Del("Authorization")
	return fmt.Sprintf("%s %.300s\n%q\n%.600q", req.Method, req.RequestURI, h, body)
}
