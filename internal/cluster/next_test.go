package cluster_test

import (
	"testing"
	"time"

	"petstore.example/internal/cluster"
	"petstore.example/internal/test/assert"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// first is the number of a term that is made at noon, and n a later one.
var (
	first = int64(noon.Sub(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))/time.Second) + 1
	n     = first + 100
)

// ago returns a server that was last seen d before noon.
func ago(id string, d time.Duration, redis string, acked int64) cluster.Server {
	return cluster.Server{ID: id, Seen: noon.Add(-d), Redis: redis, Acked: acked}
}

func TestNext(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	shared := cluster.Term{Number: n + 7, Redis: "r", Servers: 2}
	noMonths := shared
	noMonths.NoMonths = true
	last := func(id string, d time.Duration) cluster.Server {
		s := ago(id, d, "r", n+7)
		s.NoMonths = true
		return s
	}
	for _, c := range []struct {
		name      string
		from      cluster.State
		heartbeat cluster.Heartbeat
		want      cluster.State
	}{
		{
			"the first server is the sole one, in a term that is not active yet", cluster.State{},
			cluster.Heartbeat{ServerID: "a"},
			cluster.State{Term: cluster.Term{Number: first, First: true, Sole: "a", Servers: 1},
				Servers: []cluster.Server{ago("a", 0, "", 0)}},
		},
		{
			"the first server reaches Redis", cluster.State{}, cluster.Heartbeat{ServerID: "a", Redis: "r"},
			cluster.State{Term: cluster.Term{Number: first, First: true, Redis: "r", Servers: 1},
				Servers: []cluster.Server{ago("a", 0, "r", 0)}},
		},
		{
			"its acknowledgement makes the term active",
			cluster.State{Term: cluster.Term{Number: first, First: true, Sole: "a", Servers: 1},
				Servers: []cluster.Server{ago("a", ms, "", 0)}},
			cluster.Heartbeat{ServerID: "a", Acked: first},
			cluster.State{Term: cluster.Term{Number: first, First: true, Sole: "a", Servers: 1}, Active: true,
				Servers: []cluster.Server{ago("a", 0, "", first)}},
		},
		{
			"a server that joins with the same Redis changes nothing",
			cluster.State{Term: shared, Active: true,
				Servers: []cluster.Server{ago("b", ms, "r", n+7), ago("c", ms, "r", n+7)}},
			cluster.Heartbeat{ServerID: "a", Redis: "r"},
			cluster.State{Term: shared, Active: true,
				Servers: []cluster.Server{ago("a", 0, "r", 0), ago("b", ms, "r", n+7), ago("c", ms, "r", n+7)}},
		},
		{
			"one of three loses Redis: it stays the term's",
			cluster.State{Term: shared, Active: true,
				Servers: []cluster.Server{ago("a", ms, "r", n+7), ago("b", ms, "r", n+7), ago("c", ms, "r", n+7)}},
			cluster.Heartbeat{ServerID: "a", Redis: cluster.CutOff, Acked: n + 7},
			cluster.State{Term: shared, Active: true,
				Servers: []cluster.Server{ago("a", 0, cluster.CutOff, n+7), ago("b", ms, "r", n+7),
					ago("c", ms, "r", n+7)}},
		},
		{
			"one of three reaches another one: it stays the term's",
			cluster.State{Term: shared, Active: true,
				Servers: []cluster.Server{ago("a", ms, "r", n+7), ago("b", ms, "r", n+7), ago("c", ms, "r", n+7)}},
			cluster.Heartbeat{ServerID: "a", Redis: "other", Acked: n + 7},
			cluster.State{Term: shared, Active: true,
				Servers: []cluster.Server{ago("a", 0, "other", n+7), ago("b", ms, "r", n+7), ago("c", ms, "r", n+7)}},
		},
		{
			"one of three counts by another layout, as during an upgrade: Postgres decides",
			cluster.State{Term: cluster.Term{Number: n + 7, Redis: "layout 2, r", Servers: 3}, Active: true,
				Servers: []cluster.Server{ago("b", ms, "layout 2, r", n+7), ago("c", ms, "layout 2, r", n+7)}},
			cluster.Heartbeat{ServerID: "a", Redis: "layout 3, r"},
			cluster.State{Term: cluster.Term{Number: n + 8, Servers: 3},
				Servers: []cluster.Server{ago("a", 0, "layout 3, r", 0), ago("b", ms, "layout 2, r", n+7),
					ago("c", ms, "layout 2, r", n+7)}},
		},
		{
			"two of three lose Redis: Postgres decides",
			cluster.State{Term: shared, Active: true,
				Servers: []cluster.Server{ago("a", ms, "r", n+7), ago("b", ms, "", n+7), ago("c", ms, "r", n+7)}},
			cluster.Heartbeat{ServerID: "a", Acked: n + 7},
			cluster.State{Term: cluster.Term{Number: n + 8, Servers: 3},
				Servers: []cluster.Server{ago("a", 0, "", n+7), ago("b", ms, "", n+7), ago("c", ms, "r", n+7)}},
		},
		{
			"one of two loses Redis, and may come back",
			cluster.State{Term: shared, Active: true,
				Servers: []cluster.Server{ago("a", ms, "r", n+7), ago("b", ms, "r", n+7)}},
			cluster.Heartbeat{ServerID: "a", Acked: n + 7},
			cluster.State{Term: shared, Active: true,
				Servers: []cluster.Server{ago("a", 0, "", n+7), ago("b", ms, "r", n+7)}},
		},
		{
			"it is cut off: Postgres decides for both",
			cluster.State{Term: shared, Active: true,
				Servers: []cluster.Server{ago("a", ms, "", n+7), ago("b", ms, "r", n+7)}},
			cluster.Heartbeat{ServerID: "a", Redis: cluster.CutOff, Acked: n + 7},
			cluster.State{Term: cluster.Term{Number: n + 8, Servers: 2},
				Servers: []cluster.Server{ago("a", 0, cluster.CutOff, n+7), ago("b", ms, "r", n+7)}},
		},
		{
			"one of two reaches another Redis: Postgres decides",
			cluster.State{Term: shared, Active: true,
				Servers: []cluster.Server{ago("a", ms, "r", n+7), ago("b", ms, "r", n+7)}},
			cluster.Heartbeat{ServerID: "a", Redis: "other", Acked: n + 7},
			cluster.State{Term: cluster.Term{Number: n + 8, Servers: 2},
				Servers: []cluster.Server{ago("a", 0, "other", n+7), ago("b", ms, "r", n+7)}},
		},
		{
			"a server that counts no months joins: nobody enforces them",
			cluster.State{Term: shared, Active: true,
				Servers: []cluster.Server{ago("a", ms, "r", n+7), last("b", ms)}},
			cluster.Heartbeat{ServerID: "a", Redis: "r", Acked: n + 7},
			cluster.State{Term: noMonths, Active: true,
				Servers: []cluster.Server{ago("a", 0, "r", n+7), last("b", ms)}},
		},
		{
			"it is gone: a term with months begins",
			cluster.State{Term: noMonths, Active: true, Servers: []cluster.Server{ago("a", ms, "r", n+7)}},
			cluster.Heartbeat{ServerID: "a", Redis: "r", Acked: n + 7},
			cluster.State{Term: cluster.Term{Number: n + 8, Redis: "r", Servers: 1},
				Servers: []cluster.Server{ago("a", 0, "r", n+7)}},
		},
		{
			"a server that is fenced does not keep a Redis that the others have lost",
			cluster.State{Term: shared, Active: true,
				Servers: []cluster.Server{ago("a", ms, "", n+7), ago("b", cluster.FenceTimeout, "r", n+7)}},
			cluster.Heartbeat{ServerID: "a", Acked: n + 7},
			cluster.State{Term: cluster.Term{Number: n + 8, Servers: 2},
				Servers: []cluster.Server{ago("a", 0, "", n+7), ago("b", cluster.FenceTimeout, "r", n+7)}},
		},
		{
			"two of three reach Redis again, and the third may follow",
			cluster.State{Term: cluster.Term{Number: n + 7, Servers: 3}, Active: true,
				Servers: []cluster.Server{ago("a", ms, "", n+7), ago("b", ms, "r", n+7), ago("c", ms, "", n+7)}},
			cluster.Heartbeat{ServerID: "a", Redis: "r", Acked: n + 7},
			cluster.State{Term: cluster.Term{Number: n + 7, Servers: 3}, Active: true,
				Servers: []cluster.Server{ago("a", 0, "r", n+7), ago("b", ms, "r", n+7), ago("c", ms, "", n+7)}},
		},
		{
			"the third is cut off: Redis decides",
			cluster.State{Term: cluster.Term{Number: n + 7, Servers: 3}, Active: true,
				Servers: []cluster.Server{ago("a", ms, "", n+7), ago("b", ms, "r", n+7),
					ago("c", ms, cluster.CutOff, n+7)}},
			cluster.Heartbeat{ServerID: "a", Redis: "r", Acked: n + 7},
			cluster.State{Term: cluster.Term{Number: n + 8, Redis: "r", Servers: 3},
				Servers: []cluster.Server{ago("a", 0, "r", n+7), ago("b", ms, "r", n+7),
					ago("c", ms, cluster.CutOff, n+7)}},
		},
		{
			"two Redises, and Postgres decides: it stays",
			cluster.State{Term: cluster.Term{Number: n + 7, Servers: 3}, Active: true,
				Servers: []cluster.Server{ago("a", ms, "", n+7), ago("b", ms, "r", n+7), ago("c", ms, "other", n+7)}},
			cluster.Heartbeat{ServerID: "a", Redis: "r", Acked: n + 7},
			cluster.State{Term: cluster.Term{Number: n + 7, Servers: 3}, Active: true,
				Servers: []cluster.Server{ago("a", 0, "r", n+7), ago("b", ms, "r", n+7), ago("c", ms, "other", n+7)}},
		},
		{
			"Redis has lost counts of the term: the next one begins in it",
			cluster.State{Term: shared, Active: true,
				Servers: []cluster.Server{ago("a", ms, "r", n+7), ago("b", ms, "r", n+7)}},
			cluster.Heartbeat{ServerID: "a", Redis: "r", Acked: n + 7, Forgot: n + 7},
			cluster.State{Term: cluster.Term{Number: n + 8, Redis: "r", Servers: 2},
				Servers: []cluster.Server{ago("a", 0, "r", n+7), ago("b", ms, "r", n+7)}},
		},
		{
			"it had lost counts of an earlier term",
			cluster.State{Term: shared, Active: true,
				Servers: []cluster.Server{ago("a", ms, "r", n+7), ago("b", ms, "r", n+7)}},
			cluster.Heartbeat{ServerID: "a", Redis: "r", Acked: n + 7, Forgot: n + 6},
			cluster.State{Term: shared, Active: true,
				Servers: []cluster.Server{ago("a", 0, "r", n+7), ago("b", ms, "r", n+7)}},
		},
		{
			"the store was set back: what it has of others is old, and nobody acts for SetBackWait",
			cluster.State{Term: shared, Active: true, Origin: "db", Database: "db+",
				Servers: []cluster.Server{ago("a", ms, "r", n+7), ago("b", ms, "r", n+7)}},
			cluster.Heartbeat{ServerID: "a", Redis: "r", Acked: n + 7, Highest: n + 9, Database: "db"},
			cluster.State{
				Term:      cluster.Term{Number: n + 70, Redis: "r", Servers: 1, SetBack: n + 70},
				NotBefore: noon.Add(cluster.SetBackWait),
				Origin:    "db+", Database: "db+", Servers: []cluster.Server{ago("a", 0, "r", n+7)},
			},
		},
		{
			"the store's clock was set back after that: nobody waits for longer",
			cluster.State{Term: shared, NotBefore: noon.Add(time.Hour), Origin: "db", Database: "db",
				Servers: []cluster.Server{ago("a", ms, "r", n+7), ago("b", ms, "r", n+7)}},
			cluster.Heartbeat{ServerID: "a", Redis: "r", Acked: n + 7, Database: "db"},
			cluster.State{Term: shared, NotBefore: noon.Add(cluster.SetBackWait), Origin: "db", Database: "db",
				Servers: []cluster.Server{ago("a", 0, "r", n+7), ago("b", ms, "r", n+7)}},
		},
		{
			"a server that has not acknowledged blocks the term until it is fenced",
			cluster.State{Term: cluster.Term{Number: n + 8, Servers: 2},
				Servers: []cluster.Server{ago("a", ms, "", n+7), ago("b", cluster.FenceTimeout-ms, "r", n+7)}},
			cluster.Heartbeat{ServerID: "a", Acked: n + 8},
			cluster.State{Term: cluster.Term{Number: n + 8, Servers: 2},
				Servers: []cluster.Server{ago("a", 0, "", n+8), ago("b", cluster.FenceTimeout-ms, "r", n+7)}},
		},
		{
			"a fenced server does not block the term, and is silent",
			cluster.State{Term: cluster.Term{Number: n + 8, Servers: 2},
				Servers: []cluster.Server{ago("a", ms, "", n+7), ago("b", cluster.FenceTimeout, "r", n+7)}},
			cluster.Heartbeat{ServerID: "a", Acked: n + 8},
			cluster.State{Term: cluster.Term{Number: n + 8, SilentUntil: noon, Servers: 2}, Active: true,
				Servers: []cluster.Server{ago("a", 0, "", n+8), ago("b", cluster.FenceTimeout, "r", n+7)}},
		},
		{
			"a fenced server that had acknowledged is not silent",
			cluster.State{Term: cluster.Term{Number: n + 8, Servers: 2},
				Servers: []cluster.Server{ago("a", ms, "", n+7), ago("b", cluster.FenceTimeout, "", n+8)}},
			cluster.Heartbeat{ServerID: "a", Acked: n + 8},
			cluster.State{Term: cluster.Term{Number: n + 8, Servers: 2}, Active: true,
				Servers: []cluster.Server{ago("a", 0, "", n+8), ago("b", cluster.FenceTimeout, "", n+8)}},
		},
		{
			"a fenced server is live until MemberTTL: the other is not the sole one",
			cluster.State{Term: cluster.Term{Number: n + 8, Servers: 2}, Active: true,
				Servers: []cluster.Server{ago("a", ms, "", n+8), ago("b", cluster.MemberTTL-ms, "", n+8)}},
			cluster.Heartbeat{ServerID: "a", Acked: n + 8},
			cluster.State{Term: cluster.Term{Number: n + 8, Servers: 2}, Active: true,
				Servers: []cluster.Server{ago("a", 0, "", n+8), ago("b", cluster.MemberTTL-ms, "", n+8)}},
		},
		{
			"after MemberTTL the other is the sole one",
			cluster.State{Term: cluster.Term{Number: n + 8, Servers: 2}, Active: true,
				Servers: []cluster.Server{ago("a", ms, "", n+8), ago("b", cluster.MemberTTL, "", n+8)}},
			cluster.Heartbeat{ServerID: "a", Acked: n + 8},
			cluster.State{Term: cluster.Term{Number: n + 9, Sole: "a", Servers: 1},
				Servers: []cluster.Server{ago("a", 0, "", n+8), ago("b", cluster.MemberTTL, "", n+8)}},
		},
		{
			"an expired server does not keep the others from Redis",
			cluster.State{Term: cluster.Term{Number: n + 8, Servers: 2}, Active: true,
				Servers: []cluster.Server{ago("a", ms, "", n+8), ago("b", cluster.MemberTTL, "", n+8)}},
			cluster.Heartbeat{ServerID: "a", Redis: "r", Acked: n + 8},
			cluster.State{Term: cluster.Term{Number: n + 9, Redis: "r", Servers: 1},
				Servers: []cluster.Server{ago("a", 0, "r", n+8), ago("b", cluster.MemberTTL, "", n+8)}},
		},
		{
			"a server that was silent for long is not listed any more",
			cluster.State{Term: cluster.Term{Number: n + 8, Sole: "b", Servers: 1}, Active: true,
				Servers: []cluster.Server{ago("a", cluster.ListedFor, "", n+7), ago("b", ms, "", n+8)}},
			cluster.Heartbeat{ServerID: "b", Acked: n + 8},
			cluster.State{Term: cluster.Term{Number: n + 8, Sole: "b", Servers: 1}, Active: true,
				Servers: []cluster.Server{ago("b", 0, "", n+8)}},
		},
		{
			"the store's clock was set back",
			cluster.State{Term: shared, Active: true,
				Servers: []cluster.Server{ago("a", -time.Hour, "r", n+7), ago("b", -time.Hour, "r", n+7)}},
			cluster.Heartbeat{ServerID: "a", Redis: "r", Acked: n + 7},
			cluster.State{Term: shared, Active: true,
				Servers: []cluster.Server{ago("a", 0, "r", n+7), ago("b", 0, "r", n+7)}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.want.Now = noon
			assert.DeepEqual(t, cluster.Next(c.from, c.heartbeat, noon), c.want)
		})
	}
}
