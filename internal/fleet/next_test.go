package fleet_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/fleet"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// ago returns a server last seen so long before noon.
func ago(id string, d time.Duration, redis string, acked int64) fleet.Server {
	return fleet.Server{ID: id, Seen: noon.Add(-d), Redis: redis, Acked: acked}
}

func TestNext(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	shared := fleet.Term{Number: 7, Redis: "r", Servers: 2}
	for _, c := range []struct {
		name string
		from fleet.State
		beat fleet.Beat
		want fleet.State
	}{
		{
			"the first server is alone, in a term that is not yet active", fleet.State{}, fleet.Beat{ServerID: "a"},
			fleet.State{Term: fleet.Term{Number: 1, Alone: "a", Servers: 1}, Servers: []fleet.Server{ago("a", 0, "", 0)}},
		},
		{
			"the first server sees Redis", fleet.State{}, fleet.Beat{ServerID: "a", Redis: "r"},
			fleet.State{Term: fleet.Term{Number: 1, Redis: "r", Servers: 1}, Servers: []fleet.Server{ago("a", 0, "r", 0)}},
		},
		{
			"its acknowledgement begins the term",
			fleet.State{Term: fleet.Term{Number: 1, Alone: "a", Servers: 1}, Servers: []fleet.Server{ago("a", ms, "", 0)}},
			fleet.Beat{ServerID: "a", Acked: 1},
			fleet.State{Term: fleet.Term{Number: 1, Alone: "a", Servers: 1}, Active: true, Servers: []fleet.Server{ago("a", 0, "", 1)}},
		},
		{
			"one that joins and sees the same changes nothing",
			fleet.State{Term: shared, Active: true, Servers: []fleet.Server{ago("b", ms, "r", 7), ago("c", ms, "r", 7)}},
			fleet.Beat{ServerID: "a", Redis: "r"},
			fleet.State{Term: shared, Active: true, Servers: []fleet.Server{ago("a", 0, "r", 0), ago("b", ms, "r", 7), ago("c", ms, "r", 7)}},
		},
		{
			"one loses Redis: all leave it",
			fleet.State{Term: shared, Active: true, Servers: []fleet.Server{ago("a", ms, "r", 7), ago("b", ms, "r", 7)}},
			fleet.Beat{ServerID: "a", Acked: 7},
			fleet.State{Term: fleet.Term{Number: 8, Servers: 2}, Servers: []fleet.Server{ago("a", 0, "", 7), ago("b", ms, "r", 7)}},
		},
		{
			"they see different ones",
			fleet.State{Term: shared, Active: true, Servers: []fleet.Server{ago("a", ms, "r", 7), ago("b", ms, "r", 7)}},
			fleet.Beat{ServerID: "a", Redis: "other", Acked: 7},
			fleet.State{Term: fleet.Term{Number: 8, Servers: 2}, Servers: []fleet.Server{ago("a", 0, "other", 7), ago("b", ms, "r", 7)}},
		},
		{
			"one that has not acknowledged and was heard of lately is waited for",
			fleet.State{Term: fleet.Term{Number: 8, Servers: 2}, Servers: []fleet.Server{ago("a", ms, "", 7), ago("b", fleet.Silence-ms, "r", 7)}},
			fleet.Beat{ServerID: "a", Acked: 8},
			fleet.State{Term: fleet.Term{Number: 8, Servers: 2}, Servers: []fleet.Server{ago("a", 0, "", 8), ago("b", fleet.Silence-ms, "r", 7)}},
		},
		{
			"a silent one is not, and closes what began before it surely ended",
			fleet.State{Term: fleet.Term{Number: 8, Servers: 2}, Servers: []fleet.Server{ago("a", ms, "", 7), ago("b", fleet.Silence, "r", 7)}},
			fleet.Beat{ServerID: "a", Acked: 8},
			fleet.State{Term: fleet.Term{Number: 8, Closed: noon.Add(time.Second), Servers: 2}, Active: true, Servers: []fleet.Server{ago("a", 0, "", 8), ago("b", fleet.Silence, "r", 7)}},
		},
		{
			"a silent one that had acknowledged closes nothing",
			fleet.State{Term: fleet.Term{Number: 8, Servers: 2}, Servers: []fleet.Server{ago("a", ms, "", 7), ago("b", fleet.Silence, "", 8)}},
			fleet.Beat{ServerID: "a", Acked: 8},
			fleet.State{Term: fleet.Term{Number: 8, Servers: 2}, Active: true, Servers: []fleet.Server{ago("a", 0, "", 8), ago("b", fleet.Silence, "", 8)}},
		},
		{
			"a silent one leaves the other not yet alone",
			fleet.State{Term: fleet.Term{Number: 8, Servers: 2}, Active: true, Servers: []fleet.Server{ago("a", ms, "", 8), ago("b", fleet.Expiry-ms, "", 8)}},
			fleet.Beat{ServerID: "a", Acked: 8},
			fleet.State{Term: fleet.Term{Number: 8, Servers: 2}, Active: true, Servers: []fleet.Server{ago("a", 0, "", 8), ago("b", fleet.Expiry-ms, "", 8)}},
		},
		{
			"one that is gone does, and may have used what began before",
			fleet.State{Term: fleet.Term{Number: 8, Servers: 2}, Active: true, Servers: []fleet.Server{ago("a", ms, "", 8), ago("b", fleet.Expiry, "", 8)}},
			fleet.Beat{ServerID: "a", Acked: 8},
			fleet.State{Term: fleet.Term{Number: 9, Alone: "a", Closed: noon.Add(fleet.Silence + time.Second - fleet.Expiry), Servers: 1}, Servers: []fleet.Server{ago("a", 0, "", 8), ago("b", fleet.Expiry, "", 8)}},
		},
		{
			"one that is gone does not keep the others from Redis",
			fleet.State{Term: fleet.Term{Number: 8, Servers: 2}, Active: true, Servers: []fleet.Server{ago("a", ms, "", 8), ago("b", fleet.Expiry, "", 8)}},
			fleet.Beat{ServerID: "a", Redis: "r", Acked: 8},
			fleet.State{Term: fleet.Term{Number: 9, Redis: "r", Closed: noon.Add(fleet.Silence + time.Second - fleet.Expiry), Servers: 1}, Servers: []fleet.Server{ago("a", 0, "r", 8), ago("b", fleet.Expiry, "", 8)}},
		},
		{
			"one that ended long ago is forgotten, what it closed is not",
			fleet.State{Term: fleet.Term{Number: 8, Alone: "b", Closed: noon.Add(-time.Hour), Servers: 1}, Active: true, Servers: []fleet.Server{ago("a", fleet.Kept, "", 7), ago("b", ms, "", 8)}},
			fleet.Beat{ServerID: "b", Acked: 8},
			fleet.State{Term: fleet.Term{Number: 8, Alone: "b", Closed: noon.Add(-time.Hour), Servers: 1}, Active: true, Servers: []fleet.Server{ago("b", 0, "", 8)}},
		},
		{
			"the store's clock was set back",
			fleet.State{Term: shared, Active: true, Servers: []fleet.Server{ago("a", -time.Hour, "r", 7), ago("b", -time.Hour, "r", 7)}},
			fleet.Beat{ServerID: "a", Redis: "r", Acked: 7},
			fleet.State{Term: shared, Active: true, Servers: []fleet.Server{ago("a", 0, "r", 7), ago("b", 0, "r", 7)}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, fleet.Next(c.from, c.beat, noon)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
