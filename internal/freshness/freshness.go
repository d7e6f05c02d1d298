package freshness

import (
	"context"
	"sync"
	"time"
)

// Stamp identifies a state of a tenant's catalogue. 0 means that the state is uncertain: nothing
// may be served from a cache.
type Stamp int64

// Kind is the effect of a write on the existing animals.
type Kind int

const (
	// Changes is a write that may change existing animals.
	Changes Kind = iota
	// Adds is a write that only adds animals, with IDs above all earlier ones.
	Adds
)

// WriteIntentTTL is how long an abandoned write intent lasts. By then the write is committed, or
// never will be, unless Watch sees it.
const WriteIntentTTL = 10 * time.Second

// Invalidator announces every write to a tenant's catalogue.
type Invalidator interface {
	// BeginWrite announces a write. It is called before the transaction begins. An error means that
	// the write could not be announced, so it must not be made.
	BeginWrite(ctx context.Context, tenantID int64, k Kind) (*Write, error)
}

// Write is an announced write. Exactly one of its methods is to be called; later calls do nothing.
type Write struct {
	once sync.Once
	end  func(settled bool) error
	err  error
}

// NewWrite returns a write. end is called once, at its end; settled says that the outcome is known.
func NewWrite(end func(settled bool) error) *Write { return &Write{end: end} }

// Commit ends a write whose outcome is known: it was committed, or certainly was not. An error
// means that Commit came too late: readers may not know of the write, and it must not be
// acknowledged.
func (w *Write) Commit() error { return w.endAs(true) }

func (w *Write) endAs(settled bool) error {
	w.once.Do(func() { w.err = w.end(settled) })
	return w.err
}

// Abandon ends a write whose outcome is unknown. The catalogue has no stamp until WriteIntentTTL
// has passed.
func (w *Write) Abandon() { _ = w.endAs(false) }
