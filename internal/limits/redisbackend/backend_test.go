package redisbackend_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
	"petstore.example/internal/limits/distributed"
	"petstore.example/internal/limits/redisbackend"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/limitstest"
	"petstore.example/internal/test/redistest"
)

// timeout is how long a busy machine may take.
const timeout = 30 * time.Second

var unlimited = plans.Quota{PerMinute: 1 << 40, PerDay: 1 << 41}

// look returns a client to look into a Redis with.
func look(t testing.TB, url string) redis.UniversalClient {
	t.Helper()
	client, err := redisbackend.NewClient(url, timeout)
	assert.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// TestTakeWithoutMGET: a user may lack the right to MGET.
func TestTakeWithoutMGET(t *testing.T) {
	t.Parallel()
	url := redistest.New(t).URL
	err := look(
		t,
		url,
	).Do(
		t.Context(),
		"ACL",
		"SETUSER",
		"old",
		"on",
		">secret",
		"resetchannels",
		"~pst:*",
		"&pst:*",
		"+@all",
		"-mget",
	).Err()
	assert.NoError(t, err)
	c := backendAt(t, strings.Replace(url, "redis://", "redis://old:secret@", 1))
	requests := []distributed.Request{
		{Claim: limitstest.Claim(1, unlimited), Count: 1},
		{Claim: limitstest.Claim(2, unlimited), Count: 1},
	}
	for i := range int64(2) {
		assert.NoError(t, c.InitTenant(t.Context(), 1, 1+i, counter.Baseline{MinuteUsed: 10 * i}, false))
	}
	assert.NoError(t, c.Take(1, nil, requests))
	for i := range requests {
		want := limits.Used{Minute: int64(10 * i)}
		assert.True(
			t,
			requests[i].Status == distributed.Counted && requests[i].Used == want,
			"request",
			i,
			requests[i].Reply,
			"want",
			want,
			"counted",
		)
	}
}

// TestInitKeyInALaterMinute: in a Redis that was kept, a clock that is ahead may have begun a
// minute in which the server that initializes a key is not yet. Without the key's count that server
// would ask again without end.
func TestInitKeyInALaterMinute(t *testing.T) {
	t.Parallel()
	c := backendAt(t, redistest.New(t).URL)
	assert.NoError(t, c.InitTenant(t.Context(), 1, 1, counter.Baseline{Minute: 30}, false))
	assert.NoError(t, c.InitTenant(t.Context(), 2, 1, counter.Baseline{Minute: 29, LatestMinute: 30}, false))
	assert.NoError(t, c.InitKey(t.Context(), 2, 1, "key_1", 29, 5))
	requests := []distributed.Request{
		{Claim: limits.Claim{TenantID: 1, KeyID: "key_1", Quota: unlimited, KeyPerMinute: 10}, Minute: 29, Count: 1},
	}
	assert.NoError(t, c.Take(2, nil, requests))
	assert.True(
		t,
		requests[0].Status == distributed.Counted && requests[0].InMinute == 30 && requests[0].Used.Key == 0,
		requests[0].Reply,
	)
}

// backendAt returns a Backend that is pinned to the Redis of that URL.
func backendAt(t testing.TB, url string) *redisbackend.Backend {
	t.Helper()
	client, err := redisbackend.NewClient(url, timeout)
	assert.NoError(t, err)
	c := redisbackend.New(client)
	t.Cleanup(func() {
		c.Pin("")
		_ = client.Close()
	})
	fingerprint, err := c.Ping(t.Context())
	assert.NoError(t, err)
	c.Pin(fingerprint)
	return c
}

// TestTakeReconnects: neither a script that Redis has forgotten nor connections that it dropped
// make a call fail, and calls stay in the URL's database.
func TestTakeReconnects(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	admin := look(t, server.URL)
	do := func(args ...any) {
		t.Helper()
		assert.NoError(t, admin.Do(t.Context(), args...).Err())
	}
	do("ACL", "SETUSER", "petstore", "on", ">secret", "~*", "allchannels", "+@all")
	c := backendAt(t, "redis://petstore:secret@"+server.Addr+"/3")
	assert.NoError(t, c.InitTenant(t.Context(), 1, 1, counter.Baseline{}, false))
	for used, before := range []func(){
		func() {},
		func() { do("SCRIPT", "FLUSH") },
		func() {
			do("CLIENT", "KILL", "USER", "petstore")
			time.Sleep(20 * time.Millisecond) // The close has to arrive.
		},
	} {
		before()
		requests := []distributed.Request{{Claim: limitstest.Claim(1, unlimited), Count: 1}}
		if err := c.Take(
			1,
			nil,
			requests,
		); err != nil || requests[0].Status != distributed.Counted ||
			requests[0].Used.Minute != int64(used) {
			t.Errorf("%+v, %v; want %d used", requests[0].Reply, err, used)
		}
	}
	n, err := admin.Exists(t.Context(), "pst:4:{1}").Result()
	assert.Result(t, n, err, 0, "it counted in another database")
}

// TestDemotedMasterIsAnother: a master that was a replica for a while may have older counters,
// although its process is the same.
func TestDemotedMasterIsAnother(t *testing.T) {
	t.Parallel()
	url := redistest.New(t).URL
	c, admin := backendAt(t, url), look(t, url)
	assert.NoError(t, c.InitTenant(t.Context(), 1, 1, counter.Baseline{}, false))
	requests := []distributed.Request{{Claim: limitstest.Claim(1, unlimited), Count: 1}}
	assert.NoError(t, c.Take(1, nil, requests))
	before, err := redisbackend.New(admin.(*redisbackend.Client)).Ping(t.Context())
	assert.NoError(t, err)
	for _, args := range [][]any{{"REPLICAOF", "127.0.0.1", "1"}, {"REPLICAOF", "NO", "ONE"},
		{"CLIENT", "KILL", "TYPE", "normal"}} {
		assert.NoError(t, admin.Do(t.Context(), args...).Err(), args)
	}
	// The first call may find the closed connection.
	assert.True(t, c.Take(1, nil, requests) != nil, "it counted in a Redis that was a replica meanwhile")
	assert.True(
		t,
		c.Take(1, nil, requests) != nil,
		"it counted in a Redis that was a replica meanwhile, with a new connection",
	)
	after, err := redisbackend.New(admin.(*redisbackend.Client)).Ping(t.Context())
	assert.True(t, err == nil && after != before, err, after, "is named as before")
}
