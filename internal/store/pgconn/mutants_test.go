package pgconn_test

import (
	"math/rand/v2"
	"net"
	"testing"

	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/mutants"
)

// TestMutants: whatever was done to the URL around the password, no error has it, and only the host
// that the URL names gets it, as a password.
func TestMutants(t *testing.T) {
	const mutations = 2000
	named, standard := mutants.Listen(t), mutants.Listen(t)
	host, port, err := net.SplitHostPort(standard.Addr)
	assert.NoError(t, err)
	t.Setenv("PGHOST", host) // where a URL without a host leads
	t.Setenv("PGPORT", port)
	random := rand.New(rand.NewPCG(56, 3))
	refused, sent := 0, 0
	for n := range mutations {
		m := mutants.Of(random, named.Addr)
		_, err := pgconn.Open(t.Context(), m.Text, pgconn.Options{MaxConns: 1})
		if err == nil {
			t.Fatalf("%d: %q: opened", n, m.Text)
		}
		_, readErr := pgconn.ReadTarget(m.Text)
		asPassword, else1, dials := named.Recorded()
		atStandard, else2, _ := standard.Recorded()
		for where, text := range map[string]string{
			"the error": err.Error(), "the wire": else1, "another host": atStandard + else2,
		} {
			if m.In(text) > 0 {
				t.Errorf("%d: %q: the password is in %s: %q", n, m.Text, where, text)
			}
		}
		if readErr != nil {
			refused++
			if dials > 0 || m.In(readErr.Error()) > 0 {
				t.Errorf("%d: %q: %d dials, %v", n, m.Text, dials, readErr)
			}
		}
		if m.In(asPassword) > 0 {
			sent++
		}
	}
	t.Logf(
		"%d mutations: %d refused before a dial, %d sent the password to the host that they name",
		mutations,
		refused,
		sent,
	)
	assert.True(t, refused > mutations/2 && sent > mutations/50, "refused", refused, "sent", sent)
}
