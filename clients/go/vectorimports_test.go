package client_test

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"petstore.example/client"
)

type importVector struct {
	Name              string
	Server            serverVector
	Rows, Concurrency int
	Source            string
	IdempotencyKeys   map[string]string
	Runs              []struct {
		Source            *string
		Answers           map[string]int
		StartedAt         any
		Created, Replayed int
		Failed            []int64
		Error             *map[string]any
		Refused, Draws    *int
		Rests             map[string]float64
		Seconds           []float64
	}
}

// serverVector says how an importServer answers.
type serverVector struct {
	Limit        int64
	Takes        float64
	RefusalTakes *float64
	Headers      *bool
	Answers      map[string]int
	RetryAfter   int
	Lost         []int
}

// importServer is the service of ../testdata/README.md.
type importServer struct {
	serverVector

	mu      sync.Mutex
	used    map[int64]int64 // by minute
	refused map[int64]int
	made    map[string]client.Pet // by Idempotency-Key
	lost    map[string]bool
}

func (s *importServer) RoundTrip(r *http.Request) (*http.Response, error) {
	var pet client.Pet
	if err := json.NewDecoder(r.Body).Decode(&pet); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	minute := now.Unix() / 60
	left := (minute+1)*60 - now.Unix()
	refused := s.used[minute] >= s.Limit
	takes := s.Takes
	if refused {
		if s.refused[minute]++; s.RefusalTakes != nil {
			takes = *s.RefusalTakes
		}
	} else {
		s.used[minute]++
	}
	headers := []string{
		"X-RateLimit-Limit", strconv.FormatInt(s.Limit, 10),
		"X-RateLimit-Remaining", strconv.FormatInt(s.Limit-s.used[minute], 10),
		"X-RateLimit-Reset", strconv.FormatInt((minute+1)*60, 10),
	}
	if s.Headers != nil && !*s.Headers {
		headers = nil
	}
	s.mu.Unlock()
	time.Sleep(seconds(takes)[0]) // the clock of the bubble
	s.mu.Lock()
	if refused {
		return response(429, limitedJSON, append(headers, "Retry-After", strconv.FormatInt(left, 10))...), nil
	}
	return s.add(pet, r.Header.Get("Idempotency-Key"), headers)
}

func (s *importServer) add(pet client.Pet, key string, headers []string) (*http.Response, error) {
	var row int
	if _, err := fmt.Sscanf(pet.Name, "Rex %d", &row); err != nil {
		return nil, err
	}
	if status := s.Answers[strconv.Itoa(row)]; status == http.StatusTooManyRequests {
		return response(
			429,
			`{"code":"key_banned","message":"Banned."}`,
			"Retry-After",
			strconv.Itoa(s.RetryAfter),
		), nil
	} else if status != 0 {
		return response(
			status,
			`{"code":"simulated","message":"So it is."}`,
			append(headers, "X-Request-Id", "r1")...), nil
	}
	made, again := s.made[key]
	if again {
		headers = append(headers, "Idempotent-Replayed", "true")
	} else {
		made = pet
		made.ID = int64(len(s.made) + 1)
		s.made[key] = made
	}
	if slices.Contains(s.Lost, row) && !s.lost[key] {
		s.lost[key] = true
		return nil, io.ErrUnexpectedEOF
	}
	text, err := json.Marshal(made)
	return response(201, string(text), headers...), err
}

func (v importVector) rows() iter.Seq[client.NewPet] {
	return func(yield func(client.NewPet) bool) {
		for i := 1; i <= v.Rows && yield(client.NewPet{Name: fmt.Sprintf("Rex %d", i), CategoryID: 7}); i++ {
		}
	}
}

func TestImports(t *testing.T) {
	t.Parallel()
	for _, v := range vectors[importVector](t, "imports.json") {
		for chance, draw := range draws {
			t.Run(v.Name+"/"+chance, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { v.run(t, draw) })
			})
		}
	}
}

func (v importVector) run(t *testing.T, draw float64) {
	s := importServer{
		serverVector: v.Server, used: map[int64]int64{}, refused: map[int64]int{},
		made: map[string]client.Pet{}, lost: map[string]bool{},
	}
	first := time.Now()
	defer func() {
		for row, key := range v.IdempotencyKeys {
			if s.made[key].Name != "Rex "+row {
				t.Errorf("row %s did not come with the key %s", row, key)
			}
		}
	}()
	for i, run := range v.Runs {
		if run.Source != nil {
			v.Source = *run.Source
		}
		if run.Answers != nil {
			s.Answers = run.Answers
		}
		var created, replayed int
		var draws atomic.Int64
		failed := []int64{}
		how := client.Import{Source: v.Source, Concurrency: v.Concurrency, Each: func(r client.ImportedRow) {
			if i == 0 {
				first = r.StartedAt
			}
			switch {
			case r.Err != nil:
				failed = append(failed, r.Row)
			case r.Replayed:
				replayed++
			default:
				created++
			}
			time.Sleep(seconds(run.Rests[strconv.FormatInt(r.Row, 10)])[0]) // the clock of the bubble
		}}
		switch at := run.StartedAt.(type) {
		case float64:
			how.StartedAt = time.Now().Add(seconds(at)[0])
		case string:
			how.StartedAt = first
		}
		began := time.Now()
		clear(s.refused)
		c, err := client.New("https://api.example.com/v1", key, client.WithHTTPClient(&http.Client{Transport: &s}),
			client.WithRandom(func() float64 { draws.Add(1); return draw }))
		if err != nil {
			t.Fatal(err)
		}
		err = c.ImportPets(t.Context(), v.rows(), how)
		if run.Error != nil {
			checkError(t, err, *run.Error)
		} else if err != nil {
			t.Error(err)
		}
		slices.Sort(failed) // Each is told in the order in which rows end.
		want := fmt.Sprint(run.Created, run.Replayed, run.Failed)
		if got := fmt.Sprint(created, replayed, failed); got != want {
			t.Errorf("run %d: created, replayed, failed are %s, want %s", i+1, got, want)
		}
		for minute, n := range s.refused {
			if run.Refused != nil && n > *run.Refused {
				t.Errorf("run %d: %d × 429 in minute %d, want at most %d", i+1, n, minute, *run.Refused)
			}
		}
		if run.Draws != nil && draws.Load() != int64(*run.Draws) {
			t.Errorf("run %d: chance was asked %d times, want %d", i+1, draws.Load(), *run.Draws)
		}
		took := time.Since(began).Seconds()
		if run.Seconds != nil && (took < run.Seconds[0] || took > run.Seconds[1]) {
			t.Errorf("run %d took %v s, want %v", i+1, took, run.Seconds)
		}
	}
}
