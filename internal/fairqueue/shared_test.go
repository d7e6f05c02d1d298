package fairqueue

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"petstore.example/internal/catalog"
	"petstore.example/internal/test/assert"
)

// slowPets creates, changes and orders animals with calls that take a second; for a locked tenant,
// as long as a call may.
type slowPets struct {
	catalog.Store
	catalog.OrderStore
	catalog.OnceStore
	mu    sync.Mutex
	last  int64
	calls []string // "tenant: names"
	slow
}

// slow is what is wrong with calls.
type slow struct {
	locked int64 // a tenant
	panics bool
}

var (
	errBad    = errors.New("bad")
	errLocked = fmt.Errorf("locked: %w", catalog.ErrUnavailable)
)

func (s *slowPets) CreatePets(
	ctx context.Context,
	tenantID int64,
	pets []catalog.NewPet,
) []catalog.Outcome[catalog.Pet] {
	if s.panics {
		time.Sleep(time.Second)
		panic("bug")
	}
	created, names := make([]catalog.Outcome[catalog.Pet], len(pets)), make([]string, len(pets))
	if tenantID == s.locked {
		<-ctx.Done()
	} else {
		time.Sleep(time.Second)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, p := range pets {
		names[i] = p.Name
		switch {
		case tenantID == s.locked:
			created[i].Err = errLocked
		case p.Name == "bad":
			created[i].Err = errBad
		default:
			s.last++
			created[i].Result = catalog.Pet{ID: s.last, NewPet: catalog.NewPet{Name: p.Name}}
		}
	}
	s.calls = append(s.calls, fmt.Sprintf("%d: %s", tenantID, strings.Join(names, " ")))
	return created
}

func (s *slowPets) ChangePets(
	ctx context.Context,
	tenantID int64,
	changes []catalog.PetChange,
) []catalog.Outcome[catalog.Pet] {
	pets := make([]catalog.NewPet, len(changes))
	for i, c := range changes {
		c.Set(&pets[i])
	}
	return s.CreatePets(ctx, tenantID, pets)
}

func (s *slowPets) PlaceOrders(
	ctx context.Context,
	tenantID int64,
	orders []catalog.NewOrder,
) []catalog.Outcome[catalog.Order] {
	pets, placed := make([]catalog.NewPet, len(orders)), make([]catalog.Outcome[catalog.Order], len(orders))
	for i, o := range orders {
		pets[i].Name = nameOf(o.PetID)
	}
	for i, o := range s.CreatePets(ctx, tenantID, pets) {
		placed[i] = catalog.Outcome[catalog.Order]{
			Result: catalog.Order{ID: o.Result.ID, PetID: orders[i].PetID},
			Err:    o.Err,
		}
	}
	return placed
}

func (s *slowPets) CreatePetsOnce(
	ctx context.Context,
	tenantID int64,
	asked []catalog.Once[catalog.NewPet, catalog.Pet],
) []catalog.Outcome[catalog.Answered] {
	return answered(ctx, tenantID, asked, s.CreatePets)
}

func (s *slowPets) PlaceOrdersOnce(
	ctx context.Context,
	tenantID int64,
	asked []catalog.Once[catalog.NewOrder, catalog.Order],
) []catalog.Outcome[catalog.Answered] {
	return answered(ctx, tenantID, asked, s.PlaceOrders)
}

func answered[New, Created any](
	ctx context.Context,
	tenantID int64,
	asked []catalog.Once[New, Created],
	create func(context.Context, int64, []New) []catalog.Outcome[Created],
) []catalog.Outcome[catalog.Answered] {
	news, outcomes := make([]New, len(asked)), make([]catalog.Outcome[catalog.Answered], len(asked))
	for i := range asked {
		news[i] = asked[i].New
	}
	for i, created := range create(ctx, tenantID, news) {
		if outcomes[i].Err = created.Err; created.Err == nil {
			outcomes[i].Result.Answer, outcomes[i].Err = asked[i].Answer(&created.Result)
		}
	}
	return outcomes
}

// An animal of short name is ordered by its bytes.
func orderOf(name string) catalog.NewOrder {
	var id [8]byte
	copy(id[:], name)
	return catalog.NewOrder{PetID: int64(binary.BigEndian.Uint64(id[:]))}
}

func nameOf(id int64) string {
	return strings.TrimRight(string(binary.BigEndian.AppendUint64(nil, uint64(id))), "\x00")
}

// kinds are requests that share calls, each for an animal of that name.
var kinds = map[string]func(ctx context.Context, s *Store, tenantID int64, name string) (catalog.Pet, error){
	"creates": func(ctx context.Context, s *Store, tenantID int64, name string) (catalog.Pet, error) {
		return s.CreatePet(ctx, tenantID, catalog.NewPet{Name: name})
	},
	"changes": func(ctx context.Context, s *Store, tenantID int64, name string) (catalog.Pet, error) {
		return s.ChangePet(ctx, tenantID, 7, catalog.PetPatch{Name: &name})
	},
	"orders": func(ctx context.Context, s *Store, tenantID int64, name string) (pet catalog.Pet, err error) {
		o, err := s.PlaceOrder(ctx, tenantID, orderOf(name))
		if err == nil {
			pet = catalog.Pet{ID: o.ID, NewPet: catalog.NewPet{Name: nameOf(o.PetID)}}
		}
		return pet, err
	},
	"creates with a key": func(ctx context.Context, s *Store, tenantID int64, name string) (catalog.Pet, error) {
		a, err := s.CreatePetOnce(ctx, tenantID, catalog.Once[catalog.NewPet, catalog.Pet]{
			New:    catalog.NewPet{Name: name},
			Answer: func(p *catalog.Pet) (catalog.Answer, error) { return catalog.Answer{Location: p.Name}, nil },
		})
		return catalog.Pet{NewPet: catalog.NewPet{Name: a.Location}}, err
	},
	"orders with a key": func(ctx context.Context, s *Store, tenantID int64, name string) (catalog.Pet, error) {
		a, err := s.PlaceOrderOnce(ctx, tenantID, catalog.Once[catalog.NewOrder, catalog.Order]{
			New: orderOf(name),
			Answer: func(o *catalog.Order) (catalog.Answer, error) {
				return catalog.Answer{Location: nameOf(o.PetID)},
					nil
			},
		})
		return catalog.Pet{NewPet: catalog.NewPet{Name: a.Location}}, err
	},
}

// left is how many batches gather, and how many tenants have calls.
func (s *shared[Asked, Result]) left() int { return len(s.gathering) + len(s.turns.tenants) }

// outcome is that of one request.
type outcome struct {
	pet  catalog.Pet
	err  error
	took time.Duration
}

// sharing runs a test of each kind with a clock of its own. ask starts one request and returns
// where its outcome will be. At the end nothing is held.
func sharing(
	t *testing.T,
	like slow,
	test func(t *testing.T, pets *slowPets, s *Store,
		ask func(ctx context.Context, tenantID int64, name string) *outcome),
) {
	t.Helper()
	for kind, do := range kinds {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pets := &slowPets{slow: like}
				s := New(
					Stores{Pets: pets, Orders: pets, Requests: pets},
					Options{Slots: 6, PerTenant: 4, Timeout: 10 * time.Second},
				)
				test(t, pets, s, func(ctx context.Context, tenantID int64, name string) *outcome {
					o, start := new(outcome), time.Now()
					go func() {
						defer func() {
							if recover() != nil {
								o.err = errPanicked
							}
						}()
						o.pet, o.err = do(ctx, s, tenantID, name)
						o.took = time.Since(start)
					}()
					synctest.Wait()
					return o
				})
				time.Sleep(time.Minute)
				synctest.Wait()
				left := len(
					s.queue.tenants,
				) + s.creates.left() + s.changes.left() + s.orders.left() + s.createsOnce.left() + s.ordersOnce.left()
				assert.Equal(t, left+s.Waiting(), 0, "at the end batches gather, or tenants have calls")
			})
		})
	}
}

// Those that arrive while two calls are under way share the next ones, of 64 at most. Each gets its
// own result, or its own error.
func TestWritesShareCalls(t *testing.T) {
	sharing(t, slow{}, func(t *testing.T, pets *slowPets, s *Store, ask func(context.Context, int64, string) *outcome) {
		var all []*outcome
		for i := range 2 + maxShared + 3 {
			name := fmt.Sprint(i)
			if i == 10 {
				name = "bad"
			}
			all = append(all, ask(t.Context(), 1, name))
			want := max(0, i-1)
			assert.Equal(t, s.Waiting(), want, "after", i+1, "requests wait")
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		for i, o := range all {
			want := outcome{
				pet:  catalog.Pet{ID: o.pet.ID, NewPet: catalog.NewPet{Name: fmt.Sprint(i)}},
				took: 2 * time.Second,
			}
			if i < sharedPerTenant {
				want.took = time.Second
			}
			if i == 10 {
				want.pet, want.err = catalog.Pet{}, errBad
			}
			assert.Equal(t, *o, want, "request", i)
		}
		if len(pets.calls) != 4 || pets.last != int64(len(all)-1) {
			t.Errorf("%d animals by %d calls: %q", pets.last, len(pets.calls), pets.calls)
		}
	})
}

type onePet struct{ catalog.Store }

func (onePet) ChangePet(context.Context, int64, int64, catalog.PetPatch) (catalog.Pet, error) {
	return catalog.Pet{}, errBad
}

// A change that depends on what the animal is has a call of its own.
func TestDependentChangesShareNoCall(t *testing.T) {
	t.Parallel()
	pets := &slowPets{Store: onePet{}}
	s := New(Stores{Pets: pets, Orders: pets, Requests: pets}, Options{Slots: 1, PerTenant: 1, Timeout: time.Minute})
	for _, c := range []catalog.PetPatch{{Status: new(catalog.Sold)},
		{Precondition: func(catalog.Pet) error { return nil }}} {
		_, err := s.ChangePet(t.Context(), 1, 7, c)
		assert.ErrorIs(t, err, errBad)
	}
	assert.Equal(t, len(pets.calls), 0, "shared calls")
}

// Whoever leads a batch may be canceled: the others get theirs. An error of one that was canceled
// says so.
func TestCanceledWriteEndsNoOther(t *testing.T) {
	sharing(t, slow{}, func(t *testing.T, pets *slowPets, _ *Store, ask func(context.Context, int64, string) *outcome) {
		for range sharedPerTenant {
			ask(t.Context(), 1, "first")
		}
		ctx, cancel := context.WithCancel(t.Context())
		leads, joins := ask(ctx, 1, "leads"), ask(t.Context(), 1, "joins")
		cancel()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if leads.err != nil || joins.err != nil || joins.pet.Name != "joins" {
			t.Errorf("%+v and %+v", leads, joins)
		}
		ctx, cancel = context.WithCancel(t.Context())
		bad := ask(ctx, 1, "bad")
		cancel()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if !errors.Is(bad.err, context.Canceled) || !errors.Is(bad.err, errBad) {
			t.Errorf("%+v, want context.Canceled", bad)
		}
	})
}

// The writes of a tenant whose rows are locked wait for it, no longer than a call may, and those of
// other tenants do not.
func TestLockedTenantDelaysNoOther(t *testing.T) {
	sharing(
		t,
		slow{locked: 1},
		func(t *testing.T, pets *slowPets, _ *Store, ask func(context.Context, int64, string) *outcome) {
			var locked []*outcome
			for range 200 {
				locked = append(locked, ask(t.Context(), 1, "Rex"))
			}
			for range 4 {
				other := ask(t.Context(), 2, "Luna")
				time.Sleep(1500 * time.Millisecond)
				synctest.Wait()
				if other.err != nil || other.took != time.Second {
					t.Errorf("other tenant: %+v", other)
				}
			}
			time.Sleep(10 * time.Second)
			synctest.Wait()
			for i, o := range locked {
				if !errors.Is(o.err, catalog.ErrUnavailable) && !errors.Is(o.err, context.DeadlineExceeded) ||
					o.took > 10*time.Second {
					t.Errorf("request %d: %+v", i, o)
				}
			}
			assert.Equal(t, len(pets.calls), sharedPerTenant+4, "calls", pets.calls)
		},
	)
}

// A write that has no turn in time was never sent.
func TestWriteWithoutATurn(t *testing.T) {
	sharing(
		t,
		slow{locked: 1},
		func(t *testing.T, pets *slowPets, _ *Store, ask func(context.Context, int64, string) *outcome) {
			for range sharedPerTenant {
				ask(t.Context(), 1, "Rex")
			}
			time.Sleep(time.Second)
			leads, joins := ask(t.Context(), 1, "late"), ask(t.Context(), 1, "late")
			time.Sleep(20 * time.Second)
			synctest.Wait()
			for _, o := range []*outcome{leads, joins} {
				if !errors.Is(o.err, context.DeadlineExceeded) || o.took != 7500*time.Millisecond {
					t.Errorf("%+v, want no turn after 7.5 s", o)
				}
			}
			assert.Equal(t, len(pets.calls), sharedPerTenant, "calls", pets.calls)
		},
	)
}

// A write that waits for a turn and then for a slot waits for both together no longer than any call
// waits.
func TestWriteWithoutASlot(t *testing.T) {
	sharing(
		t,
		slow{locked: 1},
		func(t *testing.T, pets *slowPets, s *Store, ask func(context.Context, int64, string) *outcome) {
			for other := range int64(4) {
				defer s.queue.hold(10 + other)()
			}
			for range sharedPerTenant {
				ask(t.Context(), 1, "Rex")
			}
			time.Sleep(3 * time.Second)
			late := ask(t.Context(), 1, "late")
			time.Sleep(6 * time.Second)
			// They get the slots of the first two, after ten seconds, for one.
			ask(t.Context(), 2, "Luna")
			ask(t.Context(), 3, "Milo")
			time.Sleep(20 * time.Second)
			synctest.Wait()
			if !errors.Is(late.err, context.DeadlineExceeded) || late.took != 7500*time.Millisecond ||
				len(pets.calls) != sharedPerTenant+2 {
				t.Errorf("%+v, want no slot after 7.5 s; calls: %q", late, pets.calls)
			}
		},
	)
}

// A panic leaves nobody waiting.
func TestPanicEndsABatch(t *testing.T) {
	sharing(
		t,
		slow{panics: true},
		func(t *testing.T, pets *slowPets, _ *Store, ask func(context.Context, int64, string) *outcome) {
			var all []*outcome
			for range sharedPerTenant + 2 {
				all = append(all, ask(t.Context(), 1, "Rex"))
			}
			time.Sleep(3 * time.Second)
			synctest.Wait()
			for _, o := range all {
				assert.ErrorIs(t, o.err, errPanicked, o)
			}
		},
	)
}
