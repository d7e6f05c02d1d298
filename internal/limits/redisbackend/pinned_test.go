package redisbackend_test

import (
	"testing"

	"petstore.example/internal/limits/counter"
	"petstore.example/internal/limits/distributed"
	"petstore.example/internal/limits/redisbackend"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/limitstest"
	"petstore.example/internal/test/redistest"
)

// TestDemotedMasterIsAnother: a master that was a replica for a while may have older counters, although its process is the same.
func TestDemotedMasterIsAnother(t *testing.T) {
	t.Parallel()
	url := redistest.New(t).URL
	c, admin := backendAt(t, url), look(t, url)
	assert.NoError(t, c.InitTenant(t.Context(), 1, 1, counter.Baseline{}, false))
	requests := []distributed.Request{{Claim: limitstest.Claim(1, unlimited), Count: 1}}
	assert.NoError(t, c.Take(1, nil, requests))
	before, err := redisbackend.New(admin.(*redisbackend.Client)).Ping(t.Context())
	assert.NoError(t, err)
	for _, args := range [][]any{{"REPLICAOF", "127.0.0.1", "1"}, {"REPLICAOF", "NO", "ONE"}, {"CLIENT", "KILL", "TYPE", "normal"}} {
		assert.NoError(t, admin.Do(t.Context(), args...).Err(), args)
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
