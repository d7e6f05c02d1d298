package e2e_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
)

// TestFloodOfSignIns sends sign-ins, and in turn as many requests of the API, from many addresses
// with well-formed keys that nobody has. A known caller is served by the one as by the other, and
// its p99 is no worse.
func TestFloodOfSignIns(t *testing.T) {
	t.Parallel()
	rate, rounds, lasts := 1000, 1, time.Second
	if long() {
		rate, rounds, lasts = 10_000, 6, 10*time.Second
	}
	d := newDeployment(t, false)
	s := d.serve("PETSTORE_TRUSTED_PROXIES=127.0.0.1")
	tn := d.tenant(plans.Enterprise, hugeQuota, 1)
	var sent atomic.Int64
	random := func() (token, headers string) {
		key, err := keys.NewToken(keys.Live)
		if err != nil {
			panic(err)
		}
		n := sent.Add(1) % 45_000 // Each may try ten times a minute, and the server counts 50,000 of them.
		return key.Reveal(), fmt.Sprintf("Host: %s\r\nX-Forwarded-For: 10.0.%d.%d\r\n", s.Addr, byte(n>>8), byte(n))
	}
	badKey := func() string {
		token, headers := random()
		return "GET /v1/pets?limit=1 HTTP/1.1\r\n" + headers + "Authorization: Bearer " + token + "\r\n\r\n"
	}
	signIn := func() string {
		token, headers := random()
		form := "key=" + token
		return fmt.Sprintf(
			"POST /account/sign-in HTTP/1.1\r\n%sContent-Type: application/x-www-form-urlencoded\r\nContent-Length: "+
				"%d\r\n\r\n%s",
			headers,
			len(form),
			form,
		)
	}
	p99 := func(request func() string, refused int) time.Duration {
		stop := startLoad(2, func(int, int) response {
			time.Sleep(2 * time.Millisecond) // the caller's own work
			return d.client.get(s, tn.keys[0].token, "/pets?limit=1")
		})
		strangers := flood(t, s.Addr, rate, lasts, request)
		known := stop()
		var took []time.Duration
		for _, a := range known {
			took = append(took, a.took())
		}
		t.Logf(
			"%.0f answers a second: %v; the known caller: %v, %s",
			float64(total(strangers))/lasts.Seconds(),
			strangers,
			countByCode(known),
			percentiles(took),
		)
		if n := total(strangers); strangers[refused] == 0 || n != strangers[refused]+strangers[503] {
			t.Errorf("the strangers: %v, want %d, and 503 of those that found no turn", strangers, refused)
		}
		checkServed(
			t,
			len(known)-countByCode(known)["200"],
			len(known),
			"the known caller: %v, want 200 only",
			countByCode(known),
		)
		return percentile(took, 99)
	}
	var usual, signIns []time.Duration
	for round := range rounds {
		if round%2 == 1 {
			signIns = append(signIns, p99(signIn, http.StatusForbidden))
		}
		usual = append(usual, p99(badKey, http.StatusUnauthorized))
		if round%2 == 0 {
			signIns = append(signIns, p99(signIn, http.StatusForbidden))
		}
	}
	ratio := float64(percentile(signIns, 50)) / float64(percentile(usual, 50))
	t.Logf("p99 of the known caller: %v with bad keys, %v with sign-ins, medians %.2f times", usual, signIns, ratio)
	if long() && ratio > 1.25 {
		t.Error("it is higher with sign-ins than with bad keys")
	}
}

// flood sends that many requests a second, without waiting for the responses to those before, and
// counts the responses by status.
func flood(t *testing.T, addr string, rate int, lasts time.Duration, request func() string) map[int]int {
	t.Helper()
	const connections = 50
	interval := time.Second * connections / time.Duration(rate)
	statuses := map[int]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range connections {
		conn, err := net.Dial("tcp", addr)
		assert.NoError(t, err)
		defer conn.Close()
		assert.NoError(t, conn.SetDeadline(time.Now().Add(lasts+timeout)))
		sent := make(chan struct{}, rate)
		wg.Go(func() {
			defer close(sent)
			for begin, due := time.Now(), time.Duration(0); due < lasts; due += interval {
				time.Sleep(time.Until(begin.Add(due))) // at that rate
				if _, err := io.WriteString(conn, request()); err != nil {
					t.Error("send:", err)
					return
				}
				sent <- struct{}{}
			}
		})
		wg.Go(func() {
			reader := bufio.NewReader(conn)
			for range sent {
				r, err := http.ReadResponse(reader, nil)
				if err == nil {
					_, err = io.Copy(io.Discard, r.Body)
				}
				if err != nil {
					t.Error("receive:", err)
					return
				}
				mu.Lock()
				statuses[r.StatusCode]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return statuses
}

func total(counts map[int]int) (n int) {
	for _, count := range counts {
		n += count
	}
	return n
}
