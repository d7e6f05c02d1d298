package redisbackend_test

import (
	"testing"

	"petstore.example/internal/limits/counter"
	"petstore.example/internal/limits/distributed"
	"petstore.example/internal/limits/redisbackend"
	"petstore.example/internal/test/limitstest"
	"petstore.example/internal/test/redistest"
)

// TestDemotedMasterIsAnother: a master that was a replica for a while may have older counters, although its process is the same.
func TestDemotedMasterIsAnother(t *testing.T) {
	t.Parallel()
	url := redistest.New(t).URL
	c, admin := backendAt(t, url), look(t, url)
	if err := c.InitTenant(t.Context(), 1, 1, counter.Baseline{}, false); err != nil {
		t.Fatal(err)
	}
	requests := []distributed.Request{{Claim: limitstest.Claim(1, unlimited), Count: 1}}
	if err := c.Take(1, nil, requests); err != nil {
		t.Fatal(err)
	}
	before, err := redisbackend.New(admin.(*redisbackend.Client)).Ping(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]any{{"REPLICAOF", "127.0.0.1", "1"}, {"REPLICAOF", "NO", "ONE"}, {"CLIENT", "KILL", "TYPE", "normal"}} {
		if err := admin.Do(t.Context(), args...).Err(); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
	}
	// The first call may find the closed connection.
	if err := c.Take(1, nil, requests); err == nil {
		t.Error("it counted in a Redis that was a replica meanwhile")
	}
	if err := c.Take(1, nil, requests); err == nil {
		t.Error("it counted in a Redis that was a replica meanwhile, with a new connection")
	}
	after, err := redisbackend.New(admin.(*redisbackend.Client)).Ping(t.Context())
	if err != nil || after == before {
		t.Errorf("%v; %s is named as before", err, after)
	}
}
