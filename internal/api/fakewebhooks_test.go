package api

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"petstore.example/internal/catalog"
	"petstore.example/internal/webhooks"
)

// fakeWebhooks keeps the endpoints of tenants in memory, and fails as the catalogue does. Each
// tenant has one endpoint with two deliveries.
type fakeWebhooks struct {
	pets     *fakePets
	requests *fakeRequests
	tenants  map[int64][]webhooks.Endpoint
	sent     []webhooks.SentDelivery
	// refused is the error of any change.
	refused error
	// sealed is the last secret, asked what the last request was for.
	sealed webhooks.Sealed
	asked  any
}

func newFakeWebhooks(pets *fakePets, requests *fakeRequests) *fakeWebhooks {
	f := &fakeWebhooks{pets: pets, requests: requests, tenants: map[int64][]webhooks.Endpoint{}}
	for id := range int64(2) {
		f.tenants[id+1] = []webhooks.Endpoint{{
			ID: id + 1, TenantID: id + 1, Environment: "live", URL: "https://example.com/hook", Version: 1,
			Events: []string{"key.banned"}, Status: webhooks.Enabled, CreatedAt: at,
		}}
	}
	event := uuid.MustParse("8e03978e-40d5-43e8-bc93-6894a57f9324")
	f.sent = []webhooks.SentDelivery{
		{ID: 12, EventID: event, Type: "key.banned", CreatedAt: at, Status: "waiting",
			DueAt: at.Add(5 * time.Second), Attempts: []webhooks.Attempt{
				{At: at, Took: 87 * time.Millisecond, Status: 500, Answer: []byte("\x00\xff<b>")},
				{At: at, Took: 10 * time.Second, Said: "no answer within 10 seconds"},
			}},
		{ID: 11, EventID: event, Type: "ping", CreatedAt: at, Status: "delivered"},
	}
	return f
}

func (f *fakeWebhooks) find(by webhooks.Requester, id int64) (*webhooks.Endpoint, error) {
	own := f.tenants[by.TenantID]
	i := slices.IndexFunc(own, func(e webhooks.Endpoint) bool { return e.ID == id })
	if i < 0 {
		return nil, fmt.Errorf("find: %w", webhooks.ErrNotFound)
	}
	return &own[i], nil
}

// change calls do with an endpoint.
func change[T any](
	f *fakeWebhooks, by webhooks.Requester, id int64, asked any, do func(*webhooks.Endpoint) (T, error),
) (T, error) {
	return call(f.pets, func() (none T, err error) {
		f.asked = asked
		if f.refused != nil {
			return none, fmt.Errorf("change: %w", f.refused)
		}
		e, err := f.find(by, id)
		if err != nil {
			return none, err
		}
		return do(e)
	})
}

func (f *fakeWebhooks) List(_ context.Context, by webhooks.Requester) ([]webhooks.Endpoint, error) {
	return call(f.pets, func() ([]webhooks.Endpoint, error) { return f.tenants[by.TenantID], nil })
}

func (f *fakeWebhooks) Get(_ context.Context, by webhooks.Requester, id int64) (webhooks.Endpoint, error) {
	return call(f.pets, func() (webhooks.Endpoint, error) {
		e, err := f.find(by, id)
		if err != nil {
			return webhooks.Endpoint{}, err
		}
		return *e, nil
	})
}

func (f *fakeWebhooks) Create(
	_ context.Context, by webhooks.Requester, n webhooks.NewEndpoint, seal webhooks.Seal, once *catalog.Idempotency,
) (made webhooks.Endpoint, err error) {
	create := func() (webhooks.Endpoint, error) {
		return call(f.pets, func() (webhooks.Endpoint, error) {
			if f.asked = n; f.refused != nil {
				return webhooks.Endpoint{}, fmt.Errorf("create: %w", f.refused)
			}
			made = webhooks.Endpoint{
				ID:          7,
				TenantID:    by.TenantID,
				Environment: "live",
				URL:         n.URL,
				Events:      n.Events,
				Description: n.Description,
				Status:      webhooks.Pending,
				CreatedAt:   at,
				Version:     1,
			}
			f.sealed = seal(made.ID)
			f.tenants[by.TenantID] = append(f.tenants[by.TenantID], made)
			return made, nil
		})
	}
	if once == nil {
		return create()
	}
	answered, err := answerOnce(f.requests, by.TenantID, catalog.Once[webhooks.NewEndpoint, webhooks.Endpoint]{
		Request: *once,
		Answer:  func(*webhooks.Endpoint) (catalog.Answer, error) { return catalog.Answer{Body: []byte("7")}, nil },
	}, create)
	if err == nil && answered.Replayed {
		err = fmt.Errorf("once: %w", &webhooks.AlreadyAddedError{ID: 7})
	}
	return made, err
}

func (f *fakeWebhooks) Update(
	_ context.Context, by webhooks.Requester, id, version int64, p webhooks.EndpointPatch,
) (webhooks.Endpoint, error) {
	return change(f, by, id, p, func(e *webhooks.Endpoint) (webhooks.Endpoint, error) {
		if version != 0 && version != e.Version {
			return *e, webhooks.ErrChanged
		}
		if p.Enabled != nil && !*p.Enabled {
			e.Status, e.DisabledReason = webhooks.Disabled, "customer"
		}
		e.Version++
		return *e, nil
	})
}

func (f *fakeWebhooks) Delete(_ context.Context, by webhooks.Requester, id int64) error {
	_, err := change(f, by, id, nil, func(*webhooks.Endpoint) (int, error) {
		f.tenants[by.TenantID] = nil
		return 0, nil
	})
	return err
}

func (f *fakeWebhooks) Rotate(
	_ context.Context, by webhooks.Requester, id int64, grace time.Duration, seal webhooks.Seal,
) (webhooks.Endpoint, error) {
	return change(f, by, id, grace, func(e *webhooks.Endpoint) (webhooks.Endpoint, error) {
		f.sealed = seal(id)
		return *e, nil
	})
}

func (f *fakeWebhooks) Test(_ context.Context, by webhooks.Requester, id int64) (webhooks.SentDelivery, error) {
	return change(f, by, id, nil, func(*webhooks.Endpoint) (webhooks.SentDelivery, error) {
		return webhooks.SentDelivery{ID: 13, EventID: uuid.New(), Type: webhooks.Ping, CreatedAt: at, DueAt: at,
			Status: "waiting"}, nil
	})
}

func (f *fakeWebhooks) Deliveries(
	_ context.Context, by webhooks.Requester, id, before int64, limit int,
) ([]webhooks.SentDelivery, error) {
	return call(f.pets, func() ([]webhooks.SentDelivery, error) {
		if _, err := f.find(by, id); err != nil {
			return nil, err
		}
		page, _ := pageOf(f.sent, limit, func(d webhooks.SentDelivery) bool { return before == 0 || d.ID < before })
		return page, nil
	})
}

func (f *fakeWebhooks) Retry(
	_ context.Context, by webhooks.Requester, id, of int64,
) (webhooks.SentDelivery, error) {
	return change(f, by, id, of, func(*webhooks.Endpoint) (webhooks.SentDelivery, error) {
		i := slices.IndexFunc(f.sent, func(d webhooks.SentDelivery) bool { return d.ID == of })
		if i < 0 {
			return webhooks.SentDelivery{}, webhooks.ErrDeliveryNotFound
		}
		return f.sent[i], nil
	})
}

func (f *fakeWebhooks) Replay(
	_ context.Context, by webhooks.Requester, id int64, r webhooks.Replay,
) (int64, error) {
	return change(f, by, id, r, func(*webhooks.Endpoint) (int64, error) { return 2, nil })
}
