package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/usage"
)

// refusal is the n-th of a server, at so many seconds after noon.
func (k meteredKey) refusal(server string, n int) usage.RefusalRecord {
	return usage.RefusalRecord{
		Refusal: usage.Refusal{
			At: noon.Add(time.Duration(n) * time.Second), RequestID: fmt.Sprintf("%s-%d", server, n), TenantID: k.TenantID,
			KeyID: k.ID, Code: "rate_limit_exceeded", Plan: "pro", Window: "minute", Limit: 300, Reset: noon.Unix() + 60,
			Partial: true, Method: "GET", Route: "/v1/pets",
		},
		ServerID: server, Number: int64(n), Suppressed: int64(n),
	}
}

func TestRefusalsAreStoredOnce(t *testing.T) {
	t.Parallel()
	db := newMeteredDB(t)
	k, other := db.key(t, 1), db.key(t, 2)
	gone := k
	gone.ID = "key_gone000000000000"
	banned := k.refusal("a", 3)
	banned.Code, banned.Window, banned.Limit, banned.Reset, banned.Partial = "key_banned", "", 0, 0, false
	batch := []usage.RefusalRecord{k.refusal("a", 1), k.refusal("a", 2), banned, other.refusal("a", 4), gone.refusal("a", 5)}
	for range 2 {
		if err := db.api.Refusals.WriteRefusals(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	got, err := db.staff.Refusals.OfKey(t.Context(), k.TenantID, k.ID, 100)
	if diff := cmp.Diff([]usage.RefusalRecord{banned, batch[1], batch[0]}, got); err != nil || diff != "" {
		t.Errorf("of the key (-want +got):\n%s%v", diff, err)
	}
	if n := db.text(t, `select count(*) from refusals`); n != "4" {
		t.Errorf("%s stored, want 4", n)
	}

	again := other.refusal("b", 9)
	again.RequestID = batch[0].RequestID
	if err := db.api.Refusals.WriteRefusals(t.Context(), []usage.RefusalRecord{again}); err != nil {
		t.Fatal(err)
	}
	got, err = db.staff.Refusals.OfRequest(t.Context(), batch[0].RequestID, 100)
	if diff := cmp.Diff([]usage.RefusalRecord{again, batch[0]}, got); err != nil || diff != "" {
		t.Errorf("of the request (-want +got):\n%s%v", diff, err)
	}
}

// TestRefusalsPerKeyAreBounded: whoever writes at the same time, of each key the latest stay.
func TestRefusalsPerKeyAreBounded(t *testing.T) {
	t.Parallel()
	db := newMeteredDB(t)
	k, quiet := db.key(t, 1), db.key(t, 2)
	if err := db.api.Refusals.WriteRefusals(t.Context(), []usage.RefusalRecord{quiet.refusal("a", 1_000_000)}); err != nil {
		t.Fatal(err)
	}
	atOnce(t, 4, 4, nil, func(server int) error {
		for round := range 20 {
			batch := make([]usage.RefusalRecord, 10)
			for i := range batch {
				batch[i] = k.refusal(fmt.Sprint(server), 10*round+i)
			}
			if err := db.api.Refusals.WriteRefusals(t.Context(), batch); err != nil {
				return err
			}
		}
		return nil
	})
	latest := k.refusal("last", 5000)
	if err := db.api.Refusals.WriteRefusals(t.Context(), []usage.RefusalRecord{latest}); err != nil {
		t.Fatal(err)
	}
	got, err := db.staff.Refusals.OfKey(t.Context(), k.TenantID, k.ID, 1000)
	if err != nil || len(got) != usage.RefusalsPerKey {
		t.Fatalf("%d stored, want %d; %v", len(got), usage.RefusalsPerKey, err)
	}
	if diff := cmp.Diff(latest, got[0]); diff != "" {
		t.Errorf("the latest (-want +got):\n%s", diff)
	}
	// Four servers refused 48 times after the 187th second.
	if oldest := got[len(got)-1].At; oldest.Before(noon.Add(187 * time.Second)) {
		t.Errorf("the oldest stored is of %v", oldest)
	}
	if n := db.text(t, `select count(*) from refusals`); n != fmt.Sprint(usage.RefusalsPerKey+1) {
		t.Errorf("%s stored in all", n)
	}
}

func TestPruneRefusals(t *testing.T) {
	t.Parallel()
	db := newMeteredDB(t)
	k := db.key(t, 1)
	var batch []usage.RefusalRecord
	for n := range 10 {
		batch = append(batch, k.refusal("a", n))
	}
	if err := db.api.Refusals.WriteRefusals(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{4, 3, 0} {
		removed, err := db.api.Refusals.Prune(t.Context(), noon.Add(7*time.Second), 4)
		if err != nil || removed != want {
			t.Errorf("%d removed, want %d; %v", removed, want, err)
		}
	}
	if n := db.text(t, `select string_agg(number::text, ' ' order by number) from refusals`); n != "7 8 9" {
		t.Errorf("left: %s", n)
	}
}
