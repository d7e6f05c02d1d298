package client

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// lastSend is how long after its start an import sends rows. The service knows the idempotency keys
// for 24 hours.
const lastSend = 23*time.Hour + 55*time.Minute

var errTooLate = errors.New("petstore: the import began more than 23 h 55 min ago, so rows could be added twice: " +
	"look for animals that were added and not told to Each, then run it without StartedAt")

// Import says how [Client.ImportPets] adds animals.
type Import struct {
	// Source names where the rows come from, such as a file and its date. Rows of another source
	// are other animals.
	Source string
	// Concurrency is how many requests are under way at a time. If it is 0, it is 4.
	Concurrency int
	// RowKey returns a key of a row, unique in the source, such as a SKU. Without it, it is the
	// row's number, and a row that moves is another animal.
	RowKey func(row int64, pet NewPet) string
	// StartedAt is that of an earlier run which this one continues, within 24 hours. No row is sent
	// later than 23 h 55 min after it. Without it rows may be sent at any time.
	StartedAt time.Time
	// Each is called for each row when that is finished, for one row at a time.
	Each func(ImportedRow)
}

// ImportedRow is a row of an import that is finished.
type ImportedRow struct {
	Row int64 // from 1
	// Pet is the animal, nil if the API has refused the row. Then Err says why.
	Pet *Pet
	Err *Error
	// Replayed reports that an earlier run, or a lost try of this one, has added the animal.
	Replayed bool
	// StartedAt is when the import began, for a further run.
	StartedAt time.Time
	// FirstUnfinished is the first row that is not finished.
	FirstUnfinished int64
}

// ImportError is why an import ended before the last row. A further run with the same rows, Source,
// RowKey and StartedAt adds what is missing, and nothing twice.
type ImportError struct {
	FirstUnfinished int64
	StartedAt       time.Time
	Err             error
}

// Error describes the place and the reason.
func (e *ImportError) Error() string {
	return fmt.Sprintf("petstore: the import ended at row %d: %v", e.FirstUnfinished, e.Err)
}

// Unwrap returns the reason.
func (e *ImportError) Unwrap() error { return e.Err }

// ImportPets adds an animal for each row, several at a time. Its workers share one pause: when the
// limit is used up, all of them wait for the reset. A row that the API refuses with 400 or 422 is
// reported to Each, and the import goes on. Anything else ends it with an [*ImportError]: rows
// under way are finished before.
//
// Each row has an idempotency key, made of Source, its number or RowKey, and its members. So within
// 24 hours the import can be run again, also by another program or language, and adds what is
// missing. Pass the StartedAt of the first run: then it stops in time. It does not need to know
// which rows are done.
func (c *Client) ImportPets(ctx context.Context, rows iter.Seq[NewPet], how Import) error {
	next, stop := iter.Pull(rows)
	defer stop()
	im := &importing{client: c, next: next, underWay: map[int64]bool{}}
	if how.StartedAt.IsZero() {
		how.StartedAt = time.Now() // No earlier run has added a row.
	} else {
		im.notAfter = how.StartedAt.Add(lastSend)
	}
	if how.Concurrency <= 0 {
		how.Concurrency = 4
	}
	im.how = how
	var workers sync.WaitGroup
	for range how.Concurrency {
		workers.Go(func() { im.work(ctx) })
	}
	workers.Wait()
	if im.failed == nil {
		return nil
	}
	return &ImportError{im.firstUnfinished(), how.StartedAt, im.failed}
}

// importing is an import that runs. It holds as many rows as there are workers.
type importing struct {
	client   *Client
	how      Import
	notAfter time.Time // zero for any time

	mu       sync.Mutex
	next     func() (NewPet, bool)
	last     int64 // the row that was begun last
	underWay map[int64]bool
	failed   error
}

func (im *importing) work(ctx context.Context) {
	for {
		row, pet, ok := im.begin()
		if !ok {
			return
		}
		var res Response
		added, err := im.add(ctx, row, pet, &res)
		im.finish(row, added, res.Replayed, err)
	}
}

func (im *importing) begin() (row int64, pet NewPet, ok bool) {
	im.mu.Lock()
	defer im.mu.Unlock()
	if im.failed != nil {
		return 0, pet, false
	}
	if pet, ok = im.next(); ok {
		im.last++
		im.underWay[im.last] = true
	}
	return im.last, pet, ok
}

func (im *importing) add(ctx context.Context, row int64, pet NewPet, res *Response) (*Pet, error) {
	place := []string{"row", strconv.FormatInt(row, 10)}
	if im.how.RowKey != nil {
		place = []string{"key", im.how.RowKey(row, pet)}
	}
	cl := &call{method: http.MethodPost, path: "pets", repeatable: true, notAfter: im.notAfter}
	key := importKey(im.how.Source, place, pet)
	return fetch[Pet](ctx, im.client, cl, pet, []CallOption{IdempotencyKey(key), CaptureResponse(res)})
}

func (im *importing) finish(row int64, pet *Pet, replayed bool, err error) {
	im.mu.Lock()
	defer im.mu.Unlock()
	var refused *Error
	if errors.As(err, &refused) && (refused.Status == 400 || refused.Status == 422) {
		err = nil
	} else {
		refused = nil
	}
	if err != nil {
		if im.failed == nil {
			im.failed = err
		}
		return // The row stays unfinished.
	}
	delete(im.underWay, row)
	if im.how.Each != nil {
		im.how.Each(ImportedRow{row, pet, refused, replayed, im.how.StartedAt, im.firstUnfinished()})
	}
}

func (im *importing) firstUnfinished() int64 {
	first := im.last + 1
	for row := range im.underWay {
		first = min(first, row)
	}
	return first
}

// importKey returns the idempotency key of a row: a digest of texts that are written with their
// lengths, so that different rows never have the same ones.
func importKey(source string, place []string, pet NewPet) string {
	digest := sha256.New()
	members := []string{pet.Name, strconv.FormatInt(pet.CategoryID, 10), string(pet.Status)}
	for _, text := range append(append([]string{source}, place...), members...) {
		_, _ = fmt.Fprintf(digest, "%d:%s", len(text), text) // A hash never fails.
	}
	return base64.RawURLEncoding.EncodeToString(digest.Sum(nil))
}
