package storetest_test

import (
	"context"
	"testing"
	"time"

	"petstore.example/internal/test/storetest"
)

func TestServerStopsAndStarts(t *testing.T) {
	t.Parallel()
	server := storetest.NewServer(t)
	db := open(t, server.URL)
	exec(t, db, `create table notes (n int); insert into notes values (1)`)

	server.Stop()
	if err := db.PingContext(t.Context()); err == nil {
		t.Error("a stopped server answers")
	}
	server.Start()
	if got := text(t, db, `select count(*) from notes`); got != "1" {
		t.Errorf("after stop and start: %s notes, want 1", got)
	}
	exec(t, db, `insert into notes values (2)`)

	server.Kill()
	if err := db.PingContext(t.Context()); err == nil {
		t.Error("a killed server answers")
	}
	server.Start()
	if got := text(t, db, `select count(*) from notes`); got != "2" {
		t.Errorf("after kill and start: %s notes, want 2", got)
	}
}

func TestServerPauses(t *testing.T) {
	t.Parallel()
	server := storetest.NewServer(t)
	db := open(t, server.APIURL)
	answers := func(limit time.Duration) bool {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		done := make(chan error, 1)
		go func() {
			_, err := db.ExecContext(ctx, `select 1`)
			done <- err
		}()
		select {
		case err := <-done:
			return err == nil
		case <-ctx.Done():
			return false
		}
	}
	if !answers(time.Minute) {
		t.Fatal("a running server does not answer")
	}
	server.Pause()
	if answers(200 * time.Millisecond) {
		t.Error("a paused server answers")
	}
	server.Resume()
	if !answers(time.Minute) {
		t.Error("a resumed server does not answer")
	}
	server.Pause() // and the cleanup has to cope
}
