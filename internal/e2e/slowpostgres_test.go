package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/storetest"
)

// TestSlowPostgres gives Postgres a share of the time, and the servers eight times the requests
// that one patient client gets done then. They do what Postgres can do. They open no connection
// that they give up, and no server is without a term.
func TestSlowPostgres(t *testing.T) {
	t.Parallel()
	shares, during := []time.Duration{8}, 3*time.Second
	if long() {
		shares, during = []time.Duration{1, 4, 8, 15}, 20*time.Second
	}
	postgres := storetest.NewTLSServer(t)
	d := newDeploymentAs(
		t,
		postgres.URL,
		fmt.Sprintf("postgres://%s:unused@localhost:%s/postgres?sslmode=require", storetest.APILogin, postgres.Port),
		postgres.SupportURL,
		"",
	)
	s := &slowPostgres{deployment: d, servers: d.serveAll(2), tenant: d.tenant(plans.Enterprise, hugeQuota, 1)}
	s.load(100, time.Second) // Connections are open, and plans made.
	for _, share := range shares {
		end := postgres.Slow(share * time.Millisecond)
		patient, got := 0, 0.0
		for began := time.Now(); time.Since(began) < during/3; patient++ {
			if isDone(s.send(patient)) {
				got++
			}
		}
		perSecond := got / (during / 3).Seconds()
		before := strings.Count(postgres.Log(), "could not accept SSL")
		took, refused := s.load(int(8*perSecond), during)
		end()
		given := strings.Count(postgres.Log(), "could not accept SSL") - before
		done := float64(len(took)) / during.Seconds()
		t.Logf(
			"| %d %% | %.0f/s | %.0f/s | %.0f/s = %.2f | %d | p99 %v | %d |",
			share,
			perSecond,
			8*perSecond,
			done,
			done/perSecond,
			refused,
			percentile(took, 99).Round(time.Millisecond),
			given,
		)
		patiently, least, mostGiven := 0.5, 0.05*perSecond, 20 // on a machine that is busy with other tests
		if long() {
			patiently, least, mostGiven = 1, 0.8*perSecond, 0
		}
		if got < patiently*float64(patient) || done < least || given > mostGiven {
			t.Errorf(
				"%d %%: a patient client got %.0f of %d; %.1f/s were done, want %.1f; %d handshakes were given up, "+
					"want %d",
				share,
				got,
				patient,
				done,
				least,
				given,
				mostGiven,
			)
		}
	}
	for _, server := range s.servers {
		if long() && strings.Contains(server.Stderr(), "no term is in force") {
			t.Errorf("a server had no term: %s", server.Stderr())
		}
	}
}

type slowPostgres struct {
	*deployment
	servers []*server
	tenant  *tenant
}

// send sends a request that needs Postgres: every second creates an animal.
func (s *slowPostgres) send(n int) response {
	to, token := s.servers[n/2%len(s.servers)], s.tenant.keys[0].token
	if n%2 == 0 {
		return s.client.post(to, token, "Rex")
	}
	return s.client.get(to, token, "/pets/7")
}

// load sends so many requests a second, and returns how long those took that were done, in order,
// and how many were not.
func (s *slowPostgres) load(perSecond int, during time.Duration) (took []time.Duration, refused int) {
	var (
		mu    sync.Mutex
		sent  sync.WaitGroup
		began = time.Now()
	)
	for n := range perSecond * int(during/time.Millisecond) / 1000 {
		time.Sleep(time.Until(began.Add(time.Duration(n) * time.Second / time.Duration(perSecond)))) // the rate
		sent.Go(func() {
			a := s.send(n)
			mu.Lock()
			defer mu.Unlock()
			if isDone(a) {
				took = append(took, a.got.Sub(a.sent))
			} else {
				refused++
			}
		})
	}
	sent.Wait()
	slices.Sort(took)
	return took, refused
}

// isDone reports whether Postgres has answered: perhaps that there is no such animal yet.
func isDone(a response) bool { return a.status != 0 && a.status < http.StatusInternalServerError }
