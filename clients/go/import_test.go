package client_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"petstore.example/client"
)

// TestImportHoldsFewRows: no more rows are read than there are workers, and Each is told where a
// further run would go on.
func TestImportHoldsFewRows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFixedWindow(60, 0)
		store := newInside(t, 0, w.answer)
		read, done := 0, 0
		rows := func(yield func(client.NewPet) bool) {
			for read < 100 {
				if read++; read-done > 4 {
					t.Errorf("%d rows are read, and %d done", read, done)
				}
				if !yield(client.NewPet{Name: "Rex"}) {
					return
				}
			}
		}
		err := store.ImportPets(t.Context(), rows, client.Import{Each: func(r client.ImportedRow) {
			done++
			if r.FirstUnfinished > int64(done)+1 || r.FirstUnfinished < int64(done)-3 || r.StartedAt.IsZero() {
				t.Errorf("after %d rows: %+v", done, r)
			}
		}})
		if err != nil || done != 100 || w.most() > 4 {
			t.Errorf("%d rows, %d × 429, error %v", done, w.most(), err)
		}
	})
}

// TestImportIsCanceled while its workers wait, at once, and says where to go on.
func TestImportIsCanceled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFixedWindow(10, 0)
		store := newInside(t, 0, w.answer)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Second, cancel)
		began := time.Now()
		rows := func(yield func(client.NewPet) bool) {
			for yield(client.NewPet{Name: "Rex"}) {
			}
		}
		err := store.ImportPets(ctx, rows, client.Import{Source: "endless"})
		var ended *client.ImportError
		if !errors.As(err, &ended) || !errors.Is(err, context.Canceled) || ended.FirstUnfinished != 11 ||
			!ended.StartedAt.Equal(began) || time.Since(began) != 20*time.Second {
			t.Errorf("after %v: %+v", time.Since(began), err)
		}
	})
}

// TestRotationNeedsAHook, and a key that may be lost has its ID in the error or says to list.
func TestRotationNeedsAHook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		store := newInside(t, 0, func(*http.Request) (*http.Response, error) {
			requests++
			return nil, errors.New("no route")
		})
		if _, err := store.RotateSelf(t.Context(), client.KeyRotation{}, nil); err == nil || requests != 0 {
			t.Errorf("%d requests, error %v", requests, err)
		}
		_, err := store.RotateSelf(
			t.Context(),
			client.KeyRotation{},
			func(context.Context, *client.Key) error { return nil },
		)
		var lost *client.KeyError
		if !errors.As(err, &lost) || lost.KeyID != "" || !errors.Is(err, client.ErrConnection) || requests != 5 {
			t.Errorf("%d requests, error %v", requests, err)
		}
	})
}
