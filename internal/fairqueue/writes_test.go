package fairqueue

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"petstore.example/internal/catalog"
	"petstore.example/internal/test/assert"
)

const (
	lockedTenant = int64(1)
	freeTenant   = int64(2)
	// each is what a call takes of a tenant whose rows are not locked.
	each = time.Second
)

// lockedRows are the stores of tenants, of which one's rows are locked: a write of it ends with its
// context.
type lockedRows struct {
	catalog.Store
	catalog.OrderStore
	catalog.OnceStore
	calls atomic.Int64
}

func (s *lockedRows) write(ctx context.Context, tenantID int64) error {
	s.calls.Add(1)
	if tenantID != lockedTenant {
		time.Sleep(each) // by the bubble's clock
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	<-bounded.Done()
	return bounded.Err()
}

func (s *lockedRows) CreatePet(ctx context.Context, tenantID int64, _ catalog.NewPet) (catalog.Pet, error) {
	return catalog.Pet{}, s.write(ctx, tenantID)
}

func (s *lockedRows) ChangePet(ctx context.Context, tenantID, _ int64, _ catalog.PetPatch) (catalog.Pet, error) {
	return catalog.Pet{}, s.write(ctx, tenantID)
}

func (s *lockedRows) PlaceOrder(ctx context.Context, tenantID int64, _ catalog.NewOrder) (catalog.Order, error) {
	return catalog.Order{}, s.write(ctx, tenantID)
}

func (s *lockedRows) CreatePetOnce(
	ctx context.Context, tenantID int64, _ catalog.Once[catalog.NewPet, catalog.Pet],
) (catalog.Answered, error) {
	return catalog.Answered{}, s.write(ctx, tenantID)
}

func (s *lockedRows) PlaceOrderOnce(
	ctx context.Context, tenantID int64, _ catalog.Once[catalog.NewOrder, catalog.Order],
) (catalog.Answered, error) {
	return catalog.Answered{}, s.write(ctx, tenantID)
}

// writes are those of customers, as the API makes them.
var writes = map[string]func(ctx context.Context, s *Store, tenantID int64) error{
	"create": func(ctx context.Context, s *Store, tenantID int64) error {
		_, err := s.CreatePet(ctx, tenantID, catalog.NewPet{})
		return err
	},
	"change": func(ctx context.Context, s *Store, tenantID int64) error {
		_, err := s.ChangePet(ctx, tenantID, 7, catalog.PetPatch{})
		return err
	},
	"order": func(ctx context.Context, s *Store, tenantID int64) error {
		_, err := s.PlaceOrder(ctx, tenantID, catalog.NewOrder{})
		return err
	},
	"create with a key": func(ctx context.Context, s *Store, tenantID int64) error {
		_, err := s.CreatePetOnce(ctx, tenantID, catalog.Once[catalog.NewPet, catalog.Pet]{})
		return err
	},
	"order with a key": func(ctx context.Context, s *Store, tenantID int64) error {
		_, err := s.PlaceOrderOnce(ctx, tenantID, catalog.Once[catalog.NewOrder, catalog.Order]{})
		return err
	},
}

// outcome is that of one request.
type outcome struct {
	err  error
	took time.Duration
}

// asking runs a test of each kind of write with a clock of its own. ask starts one, and returns
// where its outcome will be.
func asking(
	t *testing.T,
	test func(t *testing.T, rows *lockedRows, ask func(ctx context.Context, tenantID int64) *outcome),
) {
	t.Helper()
	for kind, do := range writes {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				rows := &lockedRows{}
				s := New(
					Stores{Pets: rows, Orders: rows, Requests: rows},
					Options{Slots: 6, PerTenant: 4, Timeout: 10 * time.Second},
				)
				test(t, rows, func(ctx context.Context, tenantID int64) *outcome {
					o, start := new(outcome), time.Now()
					go func() {
						o.err = do(ctx, s, tenantID)
						o.took = time.Since(start)
					}()
					synctest.Wait()
					return o
				})
				time.Sleep(time.Minute)
				synctest.Wait()
				assert.Equal(t, len(s.queue.tenants)+s.Waiting(), 0, "at the end tenants have calls")
			})
		})
	}
}

// TestLockedTenantDelaysNoOther: the writes of a tenant whose rows are locked wait for it, no longer
// than a call may, and those of other tenants do not.
func TestLockedTenantDelaysNoOther(t *testing.T) {
	t.Parallel()
	asking(t, func(t *testing.T, rows *lockedRows, ask func(context.Context, int64) *outcome) {
		var locked []*outcome
		for range 200 {
			locked = append(locked, ask(t.Context(), lockedTenant))
		}
		for range 4 {
			other := ask(t.Context(), freeTenant)
			time.Sleep(each * 3 / 2)
			synctest.Wait()
			assert.Equal(t, *other, outcome{took: each}, "another tenant")
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		notMade := 0
		for i, o := range locked {
			assert.ErrorIs(t, o.err, context.DeadlineExceeded, "request", i)
			assert.True(t, o.took <= 10*time.Second, "request", i, "took", o.took)
			if errors.Is(o.err, catalog.ErrNotMade) {
				notMade++
			}
		}
		assert.Equal(t, rows.calls.Load(), 4+4, "calls")
		assert.Equal(t, notMade, 200-4, "without a turn in time, and certainly not made")
	})
}

// TestNoTurnForAClientThatIsGone: a write whose client goes while it waits for its turn is not begun.
func TestNoTurnForAClientThatIsGone(t *testing.T) {
	t.Parallel()
	asking(t, func(t *testing.T, rows *lockedRows, ask func(context.Context, int64) *outcome) {
		for range 4 {
			ask(t.Context(), lockedTenant)
		}
		ctx, cancel := context.WithCancel(t.Context())
		waits := ask(ctx, lockedTenant)
		cancel()
		synctest.Wait()
		assert.ErrorIs(t, waits.err, catalog.ErrNotMade)
		assert.ErrorIs(t, waits.err, context.Canceled)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		assert.Equal(t, rows.calls.Load(), 4, "calls")
	})
}
