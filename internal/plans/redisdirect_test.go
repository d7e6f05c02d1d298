package plans

import (
	"errors"
	"testing"
	"time"

	"petstore.example/internal/plans/redistest"
)

// TestDirect: neither scripts that Redis has forgotten nor connections that it dropped while they were idle make a call fail, and one
// that fails leaves nothing behind.
func TestDirect(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	admin := look(t, server.URL)
	if err := admin.Do(t.Context(), "ACL", "SETUSER", "petstore", "on", ">secret", "~*", "&*", "+@all").Err(); err != nil {
		t.Fatal(err)
	}
	c := countersAt(t, "redis://petstore:secret@"+server.Addr+"/3")
	if err := c.begin(t.Context(), 1, 1, Base{}, false); err != nil {
		t.Fatal(err)
	}
	counts := int64(0)
	take := func(what string, direct bool) {
		t.Helper()
		d := c.checked.Load().direct
		before := d.used
		if direct {
			d.used = time.Now()
		}
		asks := []ask{{claim: claim(1, open), count: 1}}
		if err := c.take(1, asks); err != nil || asks[0].status != counted || asks[0].used.minute != counts {
			t.Errorf("%s: %+v, %v; want %d used", what, asks[0].answer, err, counts)
		}
		counts++
		if d.conn == nil || !d.used.After(before) {
			t.Errorf("%s: the next call would not go directly", what)
		}
	}
	take("the first", false)
	take("one just after it", true)
	if err := admin.ScriptFlush(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	take("a forgotten script", true)
	take("after it", true)
	if err := admin.Do(t.Context(), "CLIENT", "KILL", "USER", "petstore").Err(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * inUse)
	take("a connection that was dropped", false)
	take("after it", true)
	if err := admin.Do(t.Context(), "CLIENT", "KILL", "USER", "petstore").Err(); err != nil {
		t.Fatal(err)
	}
	c.checked.Load().direct.used = time.Now()
	if err := c.take(1, []ask{{claim: claim(1, open), count: 1}}); err == nil {
		t.Error("no error where the connection broke in use")
	}
	take("after an error", false)
	if n, err := admin.Exists(t.Context(), tenantKey(1)).Result(); n != 0 || err != nil {
		t.Errorf("it counted in another database: %d, %v", n, err)
	}
}

func TestBulk(t *testing.T) {
	t.Parallel()
	const reply = "$12\r\nab\r\ncd\r\n$1\r\n\r\n"
	for n := range len(reply) {
		if value, whole, err := bulk([]byte(reply[:n])); whole || err != nil {
			t.Errorf("%q: %q, %v, %v; want to wait for more", reply[:n], value, whole, err)
		}
	}
	if value, whole, err := bulk([]byte(reply)); string(value) != reply[5:17] || !whole || err != nil {
		t.Errorf("%q: %q, %v, %v", reply, value, whole, err)
	}
	if _, whole, err := bulk([]byte("-NOSCRIPT No matching script.\r\n")); !whole || !errors.Is(err, errNoScript) {
		t.Errorf("an unknown script: %v, %v", whole, err)
	}
	for _, bad := range []string{"+OK\r\n", "$-1\r\n", ":1\r\n", "$x\r\n", "$1\r\nabcd", "-OOM command not allowed\r\n"} {
		if value, whole, err := bulk([]byte(bad)); err == nil || !whole || errors.Is(err, errNoScript) {
			t.Errorf("%q: %q, %v, %v; want an error", bad, value, whole, err)
		}
	}
}
