package oracle

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Tenant is a customer of the run, with its limits.
type Tenant struct {
	Name              string
	PerMinute, PerDay int64
	// PerMonth is how many requests a UTC calendar month admits, 0 for no limit.
	PerMonth int64 `json:",omitempty"`
	// Keys has the limits per minute of keys that have their own.
	Keys map[string]int64
	// Registers are the animals that existed before the run, by ID, with their names. Each change
	// in the run gives a name that no other gives.
	Registers map[int64]string
}

// Request is a request and its response, as the client saw both.
type Request struct {
	Tenant, Key string
	// Server is the number of the server that it was sent to, for people.
	Server int

	Method string
	// ID is the animal that a PATCH changes. Asked are the animals that a list asks for; if it is
	// empty, all.
	ID    int64   `json:",omitempty"`
	Asked []int64 `json:",omitempty"`
	// Name is the name that the request gives an animal. No two writes give the same name, except
	// repetitions with one IdempotencyKey.
	Name           string `json:",omitempty"`
	IdempotencyKey string `json:",omitempty"`
	IfNoneMatch    string `json:",omitempty"`
	// IfMatch makes a PATCH take effect only while the animal has the name Expected. The response
	// with that ETag showed that name.
	IfMatch  string `json:",omitempty"`
	Expected string `json:",omitempty"`
	// PetID is the animal that a POST orders. Nobody cancels an order.
	PetID int64 `json:",omitempty"`
	// Orders says that a GET is of the list of orders.
	Orders bool `json:",omitempty"`
	// Walk says that the request gets a page of the walk at the end, through all animals or all
	// orders.
	Walk bool `json:",omitempty"`

	// Start is an instant before the request was sent, End one after its response was read, by the
	// same clock.
	Start, End time.Time

	// Status is 0 without a response.
	Status int
	Code   string `json:",omitempty"`
	ETag   string `json:",omitempty"`
	// Limit and Reset are X-RateLimit-Limit and X-RateLimit-Reset, 0 without them.
	Limit, Reset int64
	Items        []Item `json:",omitempty"`
	// Next is the cursor of the next page.
	Next string `json:",omitempty"`
	// Used is the number of billed requests of this month, for GET /v1/usage.
	Used *int64 `json:",omitempty"`
}

// Item is an animal in a body, or an order, which has no name.
type Item struct {
	ID    int64  `json:"id"`
	Name  string `json:"name"`
	PetID int64  `json:"petId,omitempty"` // of an order only
}

// Fault is what the nemesis did. If it set something back, all changes since SetBack are lost;
// otherwise SetBack is zero.
type Fault struct {
	What       string
	Start, End time.Time
	SetBack    time.Time `json:",omitzero"`
}

// Records are the result of a run.
type Records struct {
	Tenants  []Tenant
	Requests []Request
	Faults   []Fault
}

// line is one line of the file. One of its members is set.
type line struct {
	Tenant  *Tenant  `json:",omitempty"`
	Request *Request `json:",omitempty"`
	Fault   *Fault   `json:",omitempty"`
}

// Recorder writes records to a file, one JSON object a line.
type Recorder struct {
	mu  sync.Mutex
	out *json.Encoder
	err error
}

// NewRecorder returns a Recorder that writes to w.
func NewRecorder(w io.Writer) *Recorder { return &Recorder{out: json.NewEncoder(w)} }

func (r *Recorder) write(l line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = errors.Join(r.err, r.out.Encode(l))
}

// Tenant records a customer.
func (r *Recorder) Tenant(t Tenant) { r.write(line{Tenant: &t}) }

// Request records a request when it has ended.
func (r *Recorder) Request(q Request) { r.write(line{Request: &q}) }

// Fault records a fault when it has ended.
func (r *Recorder) Fault(f Fault) { r.write(line{Fault: &f}) }

// Err returns why records could not be written.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Read reads what a Recorder wrote.
func Read(from io.Reader) (all Records, err error) {
	for in := json.NewDecoder(from); ; {
		var l line
		if err := in.Decode(&l); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return all, fmt.Errorf("read the records: %w", err)
		}
		switch {
		case l.Tenant != nil:
			all.Tenants = append(all.Tenants, *l.Tenant)
		case l.Request != nil:
			all.Requests = append(all.Requests, *l.Request)
		case l.Fault != nil:
			all.Faults = append(all.Faults, *l.Fault)
		}
	}
}
