package pgconn_test

import (
	"testing"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// TestReasons: why Postgres is unavailable has a name.
func TestReasons(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	create := func() error {
		_, err := s.Pets.CreatePet(t.Context(), s.A.ID, catalog.NewPet{Name: "Rex", Status: catalog.Available})
		return err
	}
	check := func(err error, reason string) {
		t.Helper()
		assert.ErrorIs(t, err, store.ErrUnavailable)
		assert.Equal(t, pgconn.Reason(err), reason, err)
	}
	free := s.FillDisk(t, "pets")
	check(create(), pgconn.DiskFull)
	free()
	assert.NoError(t, create(), "with room again")

	primary := storetest.NewServer(t)
	standby := primary.Standby()
	single := storetest.Open(t, standby.APIURL, store.Options{AsAPI: true})
	check(single.PingWrites(t.Context()), pgconn.ReadOnly)
	both := storetest.Open(
		t,
		storetest.HostsURL(t, storetest.APILogin, primary, standby),
		store.Options{AsAPI: true, Timeout: fixture.ShortTimeout},
	)
	assert.NoError(t, both.PingWrites(t.Context()), "both")
	primary.Kill()
	// The session to the primary may end in the middle of the first call, which then names that.
	wait.Until(t, "the standby's reason", func() bool {
		return pgconn.Reason(both.PingWrites(t.Context())) == pgconn.ReadOnly
	})
	standby.Pause()
	check(both.PingWrites(t.Context()), "timed_out")
	standby.Resume()
	standby.Stop()
	check(both.PingWrites(t.Context()), "unreachable")
}
