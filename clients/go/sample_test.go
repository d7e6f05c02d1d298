package client_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"

	"petstore.example/client"
)

// sample is a little store in memory, for examples.
type sample struct {
	mu   sync.Mutex
	pets []client.Pet
	made map[string]client.Pet // by Idempotency-Key
}

func newSampleAPI() *httptest.Server {
	s := &sample{made: map[string]client.Pet{}, pets: []client.Pet{
		{ID: 1, Name: "Luna", CategoryID: 1, Status: client.PetAvailable},
		{ID: 2, Name: "Oscar", CategoryID: 2, Status: client.PetSold},
		{ID: 3, Name: "Milo", CategoryID: 1, Status: client.PetAvailable},
	}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/pets", s.list)
	mux.HandleFunc("POST /v1/pets", s.create)
	mux.HandleFunc(
		"PATCH /v1/pets/2",
		failureSaying(409, client.CodeInvalidTransition, "The animal is sold, which is final."),
	)
	return httptest.NewServer(mux)
}

func newSampleClient(api *httptest.Server) *client.Client {
	c, err := client.New(api.URL+"/v1", key)
	if err != nil {
		log.Fatal(err)
	}
	return c
}

func failureSaying(status int, code client.Code, message string) http.HandlerFunc {
	return answer(status, fmt.Sprintf(`{"code":%q,"message":%q,"status":%d}`, code, message, status))
}

func (s *sample) list(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := r.URL.Query()
	limit, _ := strconv.Atoi(q.Get("limit"))
	if limit == 0 {
		limit = 20
	}
	after, _ := strconv.ParseInt(q.Get("cursor"), 16, 64)
	page := []client.Pet{}
	for _, p := range s.pets {
		if p.ID <= after || q.Has("status") && p.Status != client.PetStatus(q.Get("status")) {
			continue
		}
		if len(page) == limit {
			w.Header().Set("X-Next-Cursor", fmt.Sprintf("%016x", page[limit-1].ID))
			break
		}
		page = append(page, p)
	}
	body, _ := json.Marshal(page)
	etag := fmt.Sprintf(`"%x"`, sha256.Sum256(body))
	w.Header().Set("ETag", etag)
	w.Header().Set("X-RateLimit-Limit", "300")
	w.Header().Set("X-RateLimit-Remaining", "299")
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(body)
}

// create makes one animal for each key.
func (s *sample) create(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := r.Header.Get("Idempotency-Key")
	pet, again := s.made[name]
	if again {
		w.Header().Set("Idempotent-Replayed", "true")
	} else {
		if err := json.NewDecoder(r.Body).Decode(&pet); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		pet.ID, pet.Status = int64(len(s.pets))+1, client.PetAvailable
		s.pets = append(s.pets, pet)
		s.made[name] = pet
	}
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(pet)
}
