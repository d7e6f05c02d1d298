package store_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/store"
	"petstore.example/internal/store/changefeed"
	storecounters "petstore.example/internal/store/counters"
	"petstore.example/internal/test/storetest"
)

// relay returns the relay of a server, which hears notifications if it listens.
func relay(t *testing.T, url, serverID string, listens bool) *storecounters.Relay {
	t.Helper()
	r := storetest.Open(t, url, store.Options{AsAPI: true, Timeout: longTimeout}).Relay(serverID)
	t.Cleanup(r.Close)
	if listens {
		h := &heard{}
		runFor(t, func(ctx context.Context) error {
			return changefeed.Listen(ctx, url, h, func() {}, zerolog.Nop(),
				changefeed.Handler{Channel: storecounters.RelayChannel, Notified: r.Notified})
		})
		h.await(t, "all")
	}
	return r
}

func backwards(_ context.Context, call []byte) []byte {
	slices.Reverse(call)
	return call
}

// TestRelay: a call reaches the other server, and its result the caller, also if the caller is not notified.
func TestRelay(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	relay(t, db.APIURL, "b", true).Serve(backwards)
	deaf := relay(t, db.APIURL, "a", false)
	for name, from := range map[string]*storecounters.Relay{"notified": relay(t, db.APIURL, "c", true), "not notified": deaf} {
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), longTimeout)
			if got, err := from.Send(ctx, []string{"b"}, []byte("abc")); string(got) != "cba" || err != nil {
				t.Errorf("%s: %q, %v, want cba", name, got, err)
			}
			cancel()
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if got, err := deaf.Send(ctx, []string{"nobody"}, []byte("abc")); err == nil {
		t.Errorf("a server that is not there returned %q", got)
	}
	if got := db.text(t, `select count(*) from relayed_calls`); got != "1" && got != "0" {
		t.Errorf("%s calls are left, want the one that nobody made", got)
	}
	// What others left behind goes with a later call.
	db.exec(t, `update relayed_calls set made_at = made_at - interval '1 minute'`)
	if _, err := deaf.Send(t.Context(), []string{"nobody", "b"}, []byte("abc")); err != nil {
		t.Fatal(err)
	}
	if got := db.text(t, `select count(*) from relayed_calls`); got != "0" {
		t.Errorf("%s calls are left", got)
	}
}

// TestForgedRelay: a notification alone, which every login can send, makes no call and is no result. Staff can't write calls.
func TestForgedRelay(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	served := make(chan string, 10)
	relay(t, db.APIURL, "b", true).Serve(func(_ context.Context, call []byte) []byte {
		served <- string(call)
		return call
	})
	staff := connect(t, db.SupportURL)
	staff.MustExec(`select pg_notify('petstore_relay', text) from unnest(array['call b a 1', 'result b 1', 'call', '', 'call b a x', 'result b x']) text`)
	from := relay(t, db.APIURL, "a", true)
	if got, err := from.Send(t.Context(), []string{"nobody", "b"}, []byte("true")); string(got) != "true" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if call := <-served; call != "true" || len(served) > 0 {
		t.Errorf("served %q, and %d more", call, len(served))
	}
	for _, statement := range []string{
		`insert into relayed_calls (caller, number, server, call) values ('a', 9, 'b', '')`,
		`update relayed_calls set result = ''`, `select * from relayed_calls`,
	} {
		if _, err := staff.Exec(statement); err == nil {
			t.Errorf("staff may: %s", statement)
		}
	}
}

// TestRelayEnds: a call ends with its context. Close waits for those that are served, and this server's own still go out.
func TestRelayEnds(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	began, finish := make(chan struct{}), make(chan struct{})
	to := relay(t, db.APIURL, "b", true)
	to.Serve(func(context.Context, []byte) []byte {
		close(began)
		<-finish
		return nil
	})
	from := relay(t, db.APIURL, "a", true)
	ctx, cancel := context.WithCancel(t.Context())
	sent := make(chan error, 1)
	go func() {
		_, err := from.Send(ctx, []string{"b"}, []byte("abc"))
		sent <- err
	}()
	<-began
	cancel()
	if err := <-sent; !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was canceled", err)
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		to.Close()
	}()
	select {
	case <-closed:
		t.Error("Close returned while a call was served")
	case <-time.After(20 * time.Millisecond):
	}
	close(finish)
	<-closed
	from.Serve(func(context.Context, []byte) []byte { return []byte("done") })
	if result, err := to.Send(t.Context(), []string{"a"}, []byte("abc")); err != nil || string(result) != "done" {
		t.Errorf("%q, %v: want that a relay that is closed still sends", result, err)
	}
}
