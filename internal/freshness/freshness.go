package freshness

import (
	"context"
	"sync"
	"time"
)

// Stamp identifies a state of a tenant's catalogue. 0 means that the state is not certain: nothing
// may be served from a cache.
type Stamp int64

// Kind is what a write does to the animals that are there.
type Kind int

const (
	// Changes is a write that may change them.
	Changes Kind = iota
	// Adds is a write that only adds animals, whose IDs are above those of all before.
	Adds
)

// WriteIntentTTL is how long a write intent that nobody ended lasts. Within it a write is
// committed, or never will be, unless Watch sees it.
const WriteIntentTTL = 10 * time.Second

// Invalidator is told of every write to a tenant's catalogue.
type Invalidator interface {
	// BeginWrite announces a write. It is called before the transaction begins. An error means that
	// readers could not be told, so the write must not be made.
	BeginWrite(ctx context.Context, tenantID int64, k Kind) (*Write, error)
}

// Write is a write that was announced. Exactly one of its methods is to be called; later calls do
// nothing.
type Write struct {
	once sync.Once
	end  func(settled bool) error
	err  error
}

// NewWrite returns a write. At its end, end is called once; settled says that the outcome is known.
func NewWrite(end func(settled bool) error) *Write { return &Write{end: end} }

// Commit ends a write whose outcome is known: it was committed, or certainly was not. After an
// error readers may not know of it, because it came too late. Then it must not be acknowledged.
func (w *Write) Commit() error { return w.endAs(true) }

func (w *Write) endAs(settled bool) error {
	w.once.Do(func() { w.err = w.end(settled) })
	return w.err
}

// Abandon leaves a write whose outcome is not known. The catalogue has no stamp until
// WriteIntentTTL has passed.
func (w *Write) Abandon() { _ = w.endAs(false) }
