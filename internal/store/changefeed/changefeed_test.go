package changefeed_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/audit"
	"petstore.example/internal/cluster"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/changefeed"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// heard has the events of a listener.
type heard struct {
	mu     sync.Mutex
	events []string
}

func (h *heard) add(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, fmt.Sprintf(format, args...))
}

func (h *heard) KeyChanged(d keys.DigestPrefix) { h.add("key %x", d[:2]) }
func (h *heard) TenantChanged(id int64)         { h.add("tenant %d", id) }
func (h *heard) AllChanged()                    { h.add("all") }
func (h *heard) FeedLost()                      { h.add("lost") }
func (h *heard) FeedProven(time.Time)           {}
func (h *heard) ProofWanted() <-chan struct{}   { return nil }

// await returns once the events are exactly the wanted ones, and forgets them.
func (h *heard) await(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	wait.Until(t, fmt.Sprintf("%q", want), func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		got = slices.Clone(h.events)
		if slices.Equal(got, want) {
			h.events = nil
			return true
		}
		return false
	}, &got)
}

func listen(t *testing.T, url string, wake func()) *heard {
	t.Helper()
	h, db := &heard{}, storetest.Open(t, url, store.Options{})
	runFor(t, func(ctx context.Context) error {
		changefeed.Listen(ctx, db.CurrentURL, h, wake, zerolog.Nop())
		return nil
	})
	return h
}

func TestChangesAreHeard(t *testing.T) {
	t.Parallel()
	database := storetest.New(t)
	db := storetest.Open(t, database.URL, store.Options{})
	h := listen(t, database.URL, func() {})
	h.await(t, "all")

	by, now, tomorrow := audit.By{Actor: "test"}, time.Now(), time.Now().AddDate(0, 0, 1)
	tenant, err := db.Tenants.Create(t.Context(), by, tenancy.NewTenant{Name: "acme", Plan: plans.Free}, now)
	assert.NoError(t, err)
	service := keys.Service{Store: db.Keys}
	key, token, err := service.Issue(t.Context(), by, keys.Request{Tenant: "acme", Environment: keys.Live})
	assert.NoError(t, err)
	d := token.Digest()
	ofKey, ofTenant := fmt.Sprintf("key %x", d[:2]), fmt.Sprintf("tenant %d", tenant.ID)
	h.await(t, ofTenant, ofKey)

	for _, step := range []struct {
		name string
		do   func() error
		want string
	}{
		{"suspend", func() error { _, err := db.Tenants.Suspend(t.Context(), by, "acme", now); return err }, ofTenant},
		{"resume", func() error { _, err := db.Tenants.Resume(t.Context(), by, "acme"); return err }, ofTenant},
		{"rename", func() error {
			name := "acme-europe"
			if _, _, err := db.Tenants.Edit(t.Context(), by, "acme", tenancy.TenantEdit{Name: &name}); err != nil {
				return err
			}
			caller, err := db.Keys.Caller(t.Context(), d, now)
			if err == nil && caller.Tenant.Name != name {
				err = fmt.Errorf("servers get the name %s", caller.Tenant.Name)
			}
			return err
		}, ofTenant},
		{"expiry", func() error {
			_, _, err := service.Edit(t.Context(), by, key.ID, keys.Edit{ExpiresAt: &tomorrow})
			return err
		}, ofKey},
		{"assign", func() error {
			_, _, err := fixture.AssignPlan(t.Context(), db, by, "acme-europe", plans.Pro, nil, time.Time{})
			return err
		}, ofTenant},
		{"ban", func() error { _, err := db.Bans.PlaceAutomaticBan(t.Context(), tenant.ID, key.ID); return err },
			ofKey},
		{"lift", func() error { _, err := db.Bans.Lift(t.Context(), by, key.ID, now); return err }, ofKey},
		{"limit", func() error {
			fifty := int64(50)
			_, _, err := service.Edit(t.Context(), by, key.ID, keys.Edit{PerMinute: &fifty})
			return err
		}, ofKey},
		{"revoke", func() error { _, err := service.Revoke(t.Context(), by, key.ID); return err }, ofKey},
	} {
		assert.NoError(t, step.do(), step.name)
		h.await(t, step.want)
	}
}

func TestFeedIsLostAndRestored(t *testing.T) {
	t.Parallel()
	server := storetest.NewServer(t)
	h := listen(t, server.URL, func() {})
	h.await(t, "all")
	server.Stop()
	h.await(t, "lost")
	server.Start()
	h.await(t, "all")
	server.Pause()
	h.await(t, "lost")
	server.Resume()
	h.await(t, "all")
}

// TestManyServersAtOnce: many servers join, renew and agree at the same time, and hear of the term
// by notice.
func TestManyServersAtOnce(t *testing.T) {
	t.Parallel()
	db := fixture.NewMeteredDB(t)
	var woken atomic.Bool
	listen(t, db.URL, func() { woken.Store(true) }).await(t, "all")
	var members []*cluster.Member
	for i := range 8 {
		m := cluster.NewMember(db.API.Cluster, cluster.Options{ServerID: fmt.Sprintf("s%d", i)})
		m.SetRedis("r")
		members = append(members, m)
	}
	for _, m := range members {
		runFor(t, m.Run)
	}
	for _, m := range members {
		await(t, m, "r")
	}
	wait.Until(t, "a notice", woken.Load)
	s, err := db.API.Cluster.State(t.Context())
	if got := len(s.Servers); err != nil || got != len(members) {
		t.Errorf("%d servers, want %d: %v", got, len(members), err)
	}
}

// runFor runs work until the test ends.
func runFor(t *testing.T, work func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()
	t.Cleanup(func() {
		cancel()
		assert.Equal(t, <-done, nil)
	})
}

func await(t *testing.T, m *cluster.Member, redis string) {
	t.Helper()
	deadline := time.Now().Add(fixture.LongTimeout)
	for time.Now().Before(deadline) {
		if term, ok := m.Term(); ok && term.Redis == redis {
			return
		}
		time.Sleep(100 * time.Microsecond) // between two looks
	}
	term, ok := m.Term()
	t.Fatalf("server %s: in force %v %+v, want Redis %q", m.ID(), ok, term, redis)
}
