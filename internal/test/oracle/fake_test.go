package oracle_test

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/oracle"
)

// fake is the API as its documents describe it: three servers in one process, with a clock of its
// own, and at most one fault. It shares no code with petstore.
type fake struct {
	fault string
	t     *testing.T
	file  bytes.Buffer
	out   *oracle.Recorder
	now   time.Time

	counted map[string]int64 // by window
	billed  int64
	animals []oracle.Item
	orders  []oracle.Item
	keys    map[string]int64 // the animals, or orders, of idempotency keys
	// versions counts changes of the catalogue, writes the requests that change a name, ids the
	// animals.
	versions, writes, ids int64
	stalled               string        // a change that was answered with 503, and is still to come
	cached                []oracle.Item // what server 2 had in its cache
}

const (
	perMinute, perDay, perKey = 20, 50, 6
	edge                      = 17 * time.Second // of the minutes
)

func newFake(t *testing.T, fault string) *fake {
	f := &fake{
		fault:   fault,
		t:       t,
		now:     time.Date(2026, 11, 25, 12, 0, 30, 0, time.UTC),
		counted: map[string]int64{},
		keys:    map[string]int64{},
		ids:     1,
	}
	f.out = oracle.NewRecorder(&f.file)
	f.animals = []oracle.Item{{ID: 1, Name: "r-0"}}
	f.out.Tenant(
		oracle.Tenant{
			Name:      "acme",
			PerMinute: perMinute,
			PerDay:    perDay,
			Keys:      map[string]int64{"own": perKey},
			Registers: map[int64]string{1: "r-0"},
		},
	)
	return f
}

// is reports whether this fault is planted.
func (f *fake) is(fault string) bool { return f.fault == fault }

// send records a request that takes 40 ms. Requests overlap: the next one is sent after 25.
func (f *fake) send(q oracle.Request) oracle.Request {
	q.Tenant, q.Start, q.End = "acme", f.now, f.now.Add(40*time.Millisecond)
	f.serve(&q)
	f.out.Request(q)
	f.now = f.now.Add(25 * time.Millisecond)
	return q
}

func (f *fake) serve(q *oracle.Request) {
	if q.Used != nil {
		q.Status, *q.Used = http.StatusOK, f.billed
		return
	}
	minute := f.now.Add(-edge).Truncate(time.Minute).Add(edge)
	day, key, own := f.now.Truncate(24*time.Hour).String(), "key "+q.Key+minute.String(), minute.String()
	if f.is("a server's clock is 25 h ahead") && q.Server == 1 {
		day = "the next day"
	}
	if f.is("two servers count apart") && q.Server == 1 {
		own += " on server 1"
	}
	if f.is("a key's counter is evicted") && f.now.Second()%4 == 0 {
		delete(f.counted, key)
	}
	q.Limit, q.Reset = perMinute, minute.Add(time.Minute).Unix()
	switch {
	case f.counted[day] >= perDay:
		q.Status, q.Code, q.Limit, q.Reset = http.StatusTooManyRequests, "daily_quota_exceeded", perDay, f.now.Truncate(
			24*time.Hour,
		).Add(
			24*time.Hour,
		).Unix()
	case f.counted[own] >= perMinute, q.Key == "own" && f.counted[key] >= perKey:
		q.Status, q.Code = http.StatusTooManyRequests, "rate_limit_exceeded"
	}
	if q.Status == 0 || f.is("a refused request uses the day up") {
		f.counted[day]++
	}
	if q.Status == 0 || f.is("refused requests are billed") {
		f.billed++
	}
	if q.Status != 0 {
		return
	}
	f.counted[own]++
	f.counted[key]++
	f.answer(q)
}

func (f *fake) answer(q *oracle.Request) {
	switch {
	case q.Orders:
		q.Status, q.Items = http.StatusOK, slices.Clone(f.orders)
	case q.PetID != 0:
		f.order(q)
	case q.Method == http.MethodGet:
		f.list(q)
	case q.Method == http.MethodPatch:
		f.patch(q)
	case q.Method == http.MethodPost:
		f.create(q)
	}
}

// unavailable gives a request back.
func (f *fake) unavailable(q *oracle.Request) {
	q.Status, q.Code = http.StatusServiceUnavailable, "unavailable"
	f.billed--
}

func (f *fake) list(q *oracle.Request) {
	q.Status, q.Items, q.ETag = http.StatusOK, slices.Clone(f.animals), fmt.Sprint(f.versions)
	if q.Asked != nil {
		q.Items = slices.DeleteFunc(q.Items, func(it oracle.Item) bool { return !slices.Contains(q.Asked, it.ID) })
	}
	stale := f.is("a cached list outlives a write") || f.is("a list goes back") && f.writes == 2
	switch {
	case f.is("a page of another tenant is served") && q.Server == 2:
		q.Items = []oracle.Item{{ID: 1, Name: "r-0"}, {ID: 900, Name: "of another tenant"}}
	case stale && q.Server == 2:
		q.Items = f.cached
	case q.IfNoneMatch != "" && (q.IfNoneMatch == q.ETag || f.is("304 after a write")):
		q.Status, q.Items = http.StatusNotModified, nil
	}
}

func (f *fake) patch(q *oracle.Request) {
	if q.IfMatch != "" && q.IfMatch != fmt.Sprint(f.versions) && !f.is("If-Match is ignored") {
		q.Status, q.Code = http.StatusPreconditionFailed, "precondition_failed"
		return
	}
	f.cached = slices.Clone(f.animals)
	f.writes++
	if f.writes == 3 {
		f.unavailable(q)
		f.stalled = q.Name
		if f.is("a change of unknown outcome runs later") {
			q.Code = "outcome_unknown"
		}
		return
	}
	f.versions++
	f.animals[0].Name, q.Status = q.Name, http.StatusOK
	if f.writes == 2 {
		q.Status = 0 // The response is lost.
	}
	if f.stalled != "" && (f.is("a stalled change runs later") || f.is("a change of unknown outcome runs later")) {
		f.animals[0].Name, f.stalled = f.stalled, ""
	}
}

func (f *fake) create(q *oracle.Request) {
	if q.Name == "refused" {
		if f.unavailable(q); !f.is("a create that was refused takes effect") {
			return
		}
		f.versions++
		f.animals = append(f.animals, oracle.Item{ID: 500, Name: q.Name})
		return
	}
	id, again := f.keys[q.IdempotencyKey]
	if !again || f.is("a repeated create takes effect twice") {
		f.versions++
		f.ids++
		id = f.ids
		if !f.is("a create is acknowledged before it is stored") || q.Name != "c-2" {
			f.animals = append(f.animals, oracle.Item{ID: id, Name: q.Name})
		}
		if f.is("a create makes two animals") && q.Name == "c-1" {
			f.animals = append(f.animals, oracle.Item{ID: 400, Name: q.Name})
		}
	}
	if q.IdempotencyKey != "" {
		f.keys[q.IdempotencyKey] = id
	}
	q.Status, q.Items = http.StatusCreated, []oracle.Item{{ID: id, Name: q.Name}}
}

func (f *fake) order(q *oracle.Request) {
	id, again := f.keys[q.IdempotencyKey]
	if again && !f.is("a repeated order takes effect twice") {
		q.Status, q.Items, q.ETag = http.StatusCreated, []oracle.Item{{ID: id, PetID: q.PetID}}, "of the order"
		if f.is("a replay is made anew") {
			q.ETag = "of the order as it is now"
		}
		return
	}
	ordered := slices.ContainsFunc(f.orders, func(o oracle.Item) bool { return o.PetID == q.PetID })
	if twice := f.is("an animal is ordered twice") && q.Server == 2; ordered && !again && !twice {
		q.Status, q.Code = http.StatusConflict, "pet_not_available"
		return
	}
	if q.PetID == 404 {
		if q.Status, q.Code = http.StatusNotFound, "pet_not_found"; f.is("an order that was refused takes effect") {
			f.orders = append(f.orders, oracle.Item{ID: 600, PetID: q.PetID})
		}
		return
	}
	o := oracle.Item{ID: int64(700 + len(f.orders)), PetID: q.PetID}
	if !f.is("an order is acknowledged before it is stored") || q.PetID != 2 {
		f.orders = append(f.orders, o)
	}
	if q.IdempotencyKey != "" {
		f.keys[q.IdempotencyKey] = o.ID
	}
	q.Status, q.Items, q.ETag = http.StatusCreated, []oracle.Item{o}, "of the order"
}

// placeOrders orders animals with keys and without, one of them more than once.
func (f *fake) placeOrders() {
	for _, q := range []oracle.Request{
		{PetID: 1, IdempotencyKey: "order-1"},
		{PetID: 1, IdempotencyKey: "order-1", Server: 1},
		{PetID: 1, Server: 2},
		{PetID: 2},
		{PetID: 404, IdempotencyKey: "order-404"},
	} {
		q.Method = http.MethodPost
		f.send(q)
		f.now = f.now.Add(time.Second)
	}
	f.send(oracle.Request{Method: http.MethodGet, Orders: true, Walk: true})
}

// next goes on to some seconds after the beginning of the next minute.
func (f *fake) next() { f.now = f.now.Truncate(time.Minute).Add(time.Minute + edge + 5*time.Second) }

// run sends what uses up a minute, its key's minute and the day, with writes, and then walks
// through all animals.
func (f *fake) run() oracle.Records {
	tag := f.send(oracle.Request{Method: http.MethodGet}).ETag
	for i := range 5 {
		f.send(oracle.Request{Method: http.MethodPatch, ID: 1, Name: fmt.Sprint("r-", i+1), Server: i % 3})
		f.now = f.now.Add(time.Second)
		f.send(oracle.Request{Method: http.MethodGet, Server: 0})
		f.now = f.now.Add(time.Second)
		f.send(oracle.Request{Method: http.MethodGet, Server: 2, IfNoneMatch: tag})
	}
	for i, tag := range []string{tag, ""} { // The first has changed since.
		before := f.send(oracle.Request{Method: http.MethodGet, Asked: []int64{1}})
		expected := "r-0"
		if tag == "" {
			tag, expected = before.ETag, before.Items[0].Name
		}
		f.send(
			oracle.Request{
				Method:   http.MethodPatch,
				ID:       1,
				Name:     fmt.Sprint("m-", i),
				IfMatch:  tag,
				Expected: expected,
			},
		)
	}
	f.next()
	f.placeOrders()
	f.next()
	for i := range 4 {
		f.send(
			oracle.Request{
				Method:         http.MethodPost,
				Name:           fmt.Sprint("c-", i),
				IdempotencyKey: fmt.Sprint("key-", i),
				Server:         i % 3,
			},
		)
	}
	f.send(oracle.Request{Method: http.MethodPost, Name: "c-1", IdempotencyKey: "key-1", Server: 2})
	f.send(oracle.Request{Method: http.MethodPost, Name: "refused"})
	f.now = f.now.Add(time.Second)
	f.send(oracle.Request{Method: http.MethodGet, Server: 1, Asked: []int64{1, 2, 3, 4}})
	f.send(oracle.Request{Method: http.MethodGet, Server: 1, Walk: true})
	for i := range 30 {
		f.now = f.now.Add(time.Second)
		f.send(oracle.Request{Method: http.MethodGet, Key: []string{"own", "", "own"}[i%3], Server: i % 3})
	}
	f.next()
	for i := range 30 {
		f.now = f.now.Add(time.Second)
		f.send(oracle.Request{Method: http.MethodGet, Server: cmp.Compare(i, 4)})
	}
	f.send(oracle.Request{Method: http.MethodGet, Used: new(int64)})
	assert.NoError(f.t, f.out.Err())
	all, err := oracle.Read(&f.file)
	assert.NoError(f.t, err)
	return all
}
