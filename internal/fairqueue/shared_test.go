package fairqueue

import (
	"context"
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

// slowPets creates animals with calls that take a second; for a locked tenant, as long as a call may.
type slowPets struct {
	catalog.Store
	catalog.OnceStore
	mu     sync.Mutex
	last   int64
	calls  []string // "tenant: names"
	locked int64
	panics bool
}

var (
	errBad    = errors.New("bad")
	errLocked = fmt.Errorf("locked: %w", catalog.ErrUnavailable)
)

func (s *slowPets) CreatePets(ctx context.Context, tenantID int64, pets []catalog.NewPet) []catalog.Outcome[catalog.Pet] {
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

func (s *slowPets) CreatePetsOnce(ctx context.Context, tenantID int64, asked []catalog.Once[catalog.NewPet, catalog.Pet]) []catalog.Outcome[catalog.Answered] {
	pets, answered := make([]catalog.NewPet, len(asked)), make([]catalog.Outcome[catalog.Answered], len(asked))
	for i := range asked {
		pets[i] = asked[i].New
	}
	for i, created := range s.CreatePets(ctx, tenantID, pets) {
		if answered[i].Err = created.Err; created.Err == nil {
			answered[i].Result.Answer, answered[i].Err = asked[i].Answer(&created.Result)
		}
	}
	return answered
}

// outcome is that of one create.
type outcome struct {
	pet  catalog.Pet
	err  error
	took time.Duration
}

// creating runs a test of creates with a clock of its own. create starts one and returns where its outcome will be. At the end nothing is held.
func creating(t *testing.T, pets *slowPets, test func(t *testing.T, s *Store, create func(ctx context.Context, tenantID int64, name string) *outcome)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := New(Stores{Pets: pets, Requests: pets}, Options{Slots: 6, PerTenant: 4, Timeout: 10 * time.Second})
		test(t, s, func(ctx context.Context, tenantID int64, name string) *outcome {
			o, start := new(outcome), time.Now()
			go func() {
				defer func() {
					if recover() != nil {
						o.err = errPanicked
					}
				}()
				o.pet, o.err = s.CreatePet(ctx, tenantID, catalog.NewPet{Name: name})
				o.took = time.Since(start)
			}()
			synctest.Wait()
			return o
		})
		time.Sleep(time.Minute)
		synctest.Wait()
		left := len(s.queue.tenants) + len(s.creates.turns.tenants) + len(s.once.turns.tenants)
		if gathering := len(s.creates.gathering) + len(s.once.gathering); gathering+left+s.Waiting() != 0 {
			t.Errorf("at the end %d batches gather, %d tenants have calls, %d wait", gathering, left, s.Waiting())
		}
	})
}

// Those that arrive while two calls are under way share the next ones, of 64 at most. Each gets its own animal, or its own error.
func TestCreatesShareCalls(t *testing.T) {
	pets := &slowPets{}
	creating(t, pets, func(t *testing.T, s *Store, create func(context.Context, int64, string) *outcome) {
		var all []*outcome
		for i := range 2 + maxShared + 3 {
			name := fmt.Sprint(i)
			if i == 10 {
				name = "bad"
			}
			all = append(all, create(t.Context(), 1, name))
			want := max(0, i-1)
			assert.Equal(t, s.Waiting(), want, "after", i+1, "creates wait")
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		for i, o := range all {
			want := outcome{pet: catalog.Pet{ID: o.pet.ID, NewPet: catalog.NewPet{Name: fmt.Sprint(i)}}, took: 2 * time.Second}
			if i < sharedPerTenant {
				want.took = time.Second
			}
			if i == 10 {
				want.pet, want.err = catalog.Pet{}, errBad
			}
			assert.Equal(t, *o, want, "create", i)
		}
		if len(pets.calls) != 4 || pets.last != int64(len(all)-1) {
			t.Errorf("%d animals by %d calls: %q", pets.last, len(pets.calls), pets.calls)
		}
	})
}

// Creates with an idempotency key share calls too, but not with the others.
func TestCreatesOnceShareCalls(t *testing.T) {
	pets := &slowPets{}
	creating(t, pets, func(t *testing.T, s *Store, create func(context.Context, int64, string) *outcome) {
		const n = sharedPerTenant + 5
		answers := make([]string, n)
		for i := range n {
			go func() {
				name := fmt.Sprint(i)
				if i == n-1 {
					name = "bad"
				}
				answered, err := s.CreatePetOnce(t.Context(), 1, catalog.Once[catalog.NewPet, catalog.Pet]{
					New:    catalog.NewPet{Name: name},
					Answer: func(p *catalog.Pet) (catalog.Answer, error) { return catalog.Answer{Location: p.Name}, nil },
				})
				answers[i] = fmt.Sprint(answered.Location, err)
			}()
			synctest.Wait()
		}
		if want := n - sharedPerTenant; s.Waiting() != want {
			t.Errorf("%d wait, want %d", s.Waiting(), want)
		}
		plain := create(t.Context(), 1, "Luna")
		time.Sleep(3 * time.Second)
		synctest.Wait()
		want := []string{"0<nil>", "1<nil>", "2<nil>", "3<nil>", "4<nil>", "5<nil>", "bad"}
		assert.DeepEqual(t, answers, want, "answers")
		if plain.err != nil || len(pets.calls) != sharedPerTenant+2 {
			t.Errorf("%+v; calls: %q", plain, pets.calls)
		}
	})
}

// Whoever leads a batch may be canceled: the others get their animals. An error of one that was canceled says so.
func TestCanceledCreateEndsNoOther(t *testing.T) {
	pets := &slowPets{}
	creating(t, pets, func(t *testing.T, _ *Store, create func(context.Context, int64, string) *outcome) {
		for range sharedPerTenant {
			create(t.Context(), 1, "first")
		}
		ctx, cancel := context.WithCancel(t.Context())
		leads, joins := create(ctx, 1, "leads"), create(t.Context(), 1, "joins")
		cancel()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if leads.err != nil || joins.err != nil || joins.pet.Name != "joins" {
			t.Errorf("%+v and %+v", leads, joins)
		}
		ctx, cancel = context.WithCancel(t.Context())
		bad := create(ctx, 1, "bad")
		cancel()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if !errors.Is(bad.err, context.Canceled) || !errors.Is(bad.err, errBad) {
			t.Errorf("%+v, want context.Canceled", bad)
		}
	})
}

// The creates of a tenant whose rows are locked wait for it, no longer than a call may, and those of other tenants do not.
func TestLockedTenantDelaysNoOther(t *testing.T) {
	pets := &slowPets{locked: 1}
	creating(t, pets, func(t *testing.T, _ *Store, create func(context.Context, int64, string) *outcome) {
		var locked []*outcome
		for range 200 {
			locked = append(locked, create(t.Context(), 1, "Rex"))
		}
		for range 4 {
			other := create(t.Context(), 2, "Luna")
			time.Sleep(1500 * time.Millisecond)
			synctest.Wait()
			if other.err != nil || other.took != time.Second {
				t.Errorf("other tenant: %+v", other)
			}
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		for i, o := range locked {
			if !errors.Is(o.err, catalog.ErrUnavailable) && !errors.Is(o.err, context.DeadlineExceeded) || o.took > 10*time.Second {
				t.Errorf("create %d: %+v", i, o)
			}
		}
		assert.Equal(t, len(pets.calls), sharedPerTenant+4, "calls", pets.calls)
	})
}

// A create that has no turn in time was never sent.
func TestCreateWithoutATurn(t *testing.T) {
	pets := &slowPets{locked: 1}
	creating(t, pets, func(t *testing.T, _ *Store, create func(context.Context, int64, string) *outcome) {
		for range sharedPerTenant {
			create(t.Context(), 1, "Rex")
		}
		time.Sleep(time.Second)
		leads, joins := create(t.Context(), 1, "late"), create(t.Context(), 1, "late")
		time.Sleep(20 * time.Second)
		synctest.Wait()
		for _, o := range []*outcome{leads, joins} {
			if !errors.Is(o.err, context.DeadlineExceeded) || o.took != 7500*time.Millisecond {
				t.Errorf("%+v, want no turn after 7.5 s", o)
			}
		}
		assert.Equal(t, len(pets.calls), sharedPerTenant, "calls", pets.calls)
	})
}

// A create that waits for a turn and then for a slot waits for both together no longer than any call waits.
func TestCreateWithoutASlot(t *testing.T) {
	pets := &slowPets{locked: 1}
	creating(t, pets, func(t *testing.T, s *Store, create func(context.Context, int64, string) *outcome) {
		for other := range int64(4) {
			defer s.queue.hold(10 + other)()
		}
		for range sharedPerTenant {
			create(t.Context(), 1, "Rex")
		}
		time.Sleep(3 * time.Second)
		late := create(t.Context(), 1, "late")
		time.Sleep(6 * time.Second)
		// They get the slots of the first two, after ten seconds, for one.
		create(t.Context(), 2, "Luna")
		create(t.Context(), 3, "Milo")
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if !errors.Is(late.err, context.DeadlineExceeded) || late.took != 7500*time.Millisecond || len(pets.calls) != sharedPerTenant+2 {
			t.Errorf("%+v, want no slot after 7.5 s; calls: %q", late, pets.calls)
		}
	})
}

// A panic leaves nobody waiting.
func TestPanicEndsABatch(t *testing.T) {
	pets := &slowPets{panics: true}
	creating(t, pets, func(t *testing.T, _ *Store, create func(context.Context, int64, string) *outcome) {
		var all []*outcome
		for range sharedPerTenant + 2 {
			all = append(all, create(t.Context(), 1, "Rex"))
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		for _, o := range all {
			assert.ErrorIs(t, o.err, errPanicked, o)
		}
	})
}
