package store_test

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

func TestLiveServers(t *testing.T) {
	t.Parallel()
	db := newMeteredDB(t)
	live := func(now time.Time, want int) {
		t.Helper()
		got, err := db.api.LiveServers(t.Context(), now, 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%d live servers at %v, want %d", got, now, want)
		}
	}
	beat := func(id string, now time.Time) {
		t.Helper()
		if err := db.api.Heartbeat(t.Context(), id, now); err != nil {
			t.Fatal(err)
		}
	}
	live(eleven, 0)
	beat("s1", eleven)
	beat("s2", eleven.Add(5*time.Second))
	beat("s2", eleven.Add(4*time.Second)) // a beat that came late
	live(eleven.Add(9*time.Second), 2)
	live(eleven.Add(10*time.Second), 1)
	live(eleven.Add(14*time.Second), 1)
	beat("s1", eleven.Add(14*time.Second))
	live(eleven.Add(14*time.Second), 2)
	for range 2 {
		if err := db.api.RemoveServer(t.Context(), "s2"); err != nil {
			t.Fatal(err)
		}
	}
	live(eleven.Add(14*time.Second), 1)
	beat("s3", eleven.Add(2*time.Hour))
	if got := db.text(t, `select string_agg(id, ' ') from servers`); got != "s3" {
		t.Errorf("servers remembered: %s, want s3", got)
	}
}

func TestHeartbeatsOfManyServersAtOnce(t *testing.T) {
	t.Parallel()
	db := newMeteredDB(t)
	db.exec(t, `insert into servers select 'old' || n, now() - interval '1 day' from generate_series(1, 200) n`)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 20 {
				if err := db.api.Heartbeat(t.Context(), fmt.Sprintf("s%d", i), time.Now()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := db.text(t, `select count(*) from servers`); got != "8" {
		t.Errorf("%s servers remembered, want 8", got)
	}
}
