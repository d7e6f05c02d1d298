package plans

import (
	"strings"
	"testing"
	"time"

	"petstore.example/internal/plans/redistest"
)

// TestProbeNeedsAllRights: a user who lacks one that some script needs must not have the limiter begin and leave off again and again.
func TestProbeNeedsAllRights(t *testing.T) {
	t.Parallel()
	url := redistest.New(t).URL
	admin := look(t, url)
	for user, tt := range map[string]struct {
		rights  string
		healthy bool
	}{
		"all":      {"~pst:* &pst:* -@all +evalsha +eval +info +subscribe +get +set +setrange +expire +time +publish", true},
		"nochan":   {"~pst:* resetchannels +@all", false},
		"norange":  {"~pst:* &pst:* +@all -setrange", false},
		"noexpire": {"~pst:* &pst:* +@all -expire", false},
		"noinfo":   {"~pst:* &pst:* +@all -info", false},
	} {
		t.Run(user, func(t *testing.T) {
			args := []any{"ACL", "SETUSER", user, "on", ">secret"}
			for _, right := range strings.Fields(tt.rights) {
				args = append(args, right)
			}
			if err := admin.Do(t.Context(), args...).Err(); err != nil {
				t.Fatal(err)
			}
			client, err := NewRedisClient(strings.Replace(url, "redis://", "redis://"+user+":secret@", 1), patient.Timeout)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = client.Close() }()
			if _, err := newRedisCounters(client).probe(t.Context()); (err == nil) != tt.healthy {
				t.Errorf("the probe says %v", err)
			}
		})
	}
}

// TestTakeWithoutMGET: users from before take.lua used MGET may not have the right to it.
func TestTakeWithoutMGET(t *testing.T) {
	t.Parallel()
	url := redistest.New(t).URL
	err := look(t, url).Do(t.Context(), "ACL", "SETUSER", "old", "on", ">secret", "~pst:*", "&pst:*", "+@all", "-mget").Err()
	if err != nil {
		t.Fatal(err)
	}
	c := countersAt(t, strings.Replace(url, "redis://", "redis://old:secret@", 1))
	asks := []ask{{claim: claim(1, open), count: 1}, {claim: claim(2, open), count: 1}}
	for i := range int64(2) {
		if err := c.begin(t.Context(), 1, 1+i, Baseline{MinuteUsed: 10 * i}, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.take(1, asks); err != nil {
		t.Fatal(err)
	}
	for i := range asks {
		if want := (used{minute: int64(10 * i)}); asks[i].status != counted || asks[i].used != want {
			t.Errorf("ask %d: %+v, want %+v counted", i, asks[i].answer, want)
		}
	}
}

// countersAt returns counters that expect the Redis of that URL.
func countersAt(t *testing.T, url string) *redisCounters {
	t.Helper()
	client, err := NewRedisClient(url, patient.Timeout)
	if err != nil {
		t.Fatal(err)
	}
	c := newRedisCounters(client)
	t.Cleanup(func() {
		c.expect("")
		_ = client.Close()
	})
	fingerprint, err := c.probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.expect(fingerprint)
	return c
}

// TestTakeReconnects: neither a script that Redis has forgotten nor connections that it dropped make a call fail, and calls stay in
// the URL's database.
func TestTakeReconnects(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	admin := look(t, server.URL)
	do := func(args ...any) {
		t.Helper()
		if err := admin.Do(t.Context(), args...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	do("ACL", "SETUSER", "petstore", "on", ">secret", "~*", "&*", "+@all")
	c := countersAt(t, "redis://petstore:secret@"+server.Addr+"/3")
	if err := c.begin(t.Context(), 1, 1, Baseline{}, false); err != nil {
		t.Fatal(err)
	}
	for used, before := range []func(){
		func() {},
		func() { do("SCRIPT", "FLUSH") },
		func() {
			do("CLIENT", "KILL", "USER", "petstore")
			time.Sleep(20 * time.Millisecond) // The close has to arrive.
		},
	} {
		before()
		asks := []ask{{claim: claim(1, open), count: 1}}
		if err := c.take(1, asks); err != nil || asks[0].status != counted || asks[0].used.minute != int64(used) {
			t.Errorf("%+v, %v; want %d used", asks[0].answer, err, used)
		}
	}
	if n, err := admin.Exists(t.Context(), tenantKey(1)).Result(); n != 0 || err != nil {
		t.Errorf("it counted in another database: %d, %v", n, err)
	}
}
