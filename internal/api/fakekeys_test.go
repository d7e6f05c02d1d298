package api

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
)

// The IDs of keys in tests besides those of the callers: one of acme's, and one of zoo's.
const (
	ciKey    = "key_0000000000000001"
	theirKey = "key_0000000000000002"
)

// fakeKeys keeps the keys of tenants in memory, and fails as the catalogue does.
type fakeKeys struct {
	pets     *fakePets
	requests *fakeRequests
	keys     map[int64][]keys.CustomerKey
	// refused is the error of the changes of an action.
	refused map[string]error
	// alsoEnded is what revocations end.
	alsoEnded []string
	// asked is the last change.
	asked keys.CustomerChange
}

func newFakeKeys(pets *fakePets, requests *fakeRequests) *fakeKeys {
	f := &fakeKeys{pets: pets, requests: requests, keys: map[int64][]keys.CustomerKey{}, refused: map[string]error{}}
	for id, tenant := range map[string]int64{"key_acme": 1, ciKey: 1, "key_zoo": 2, theirKey: 2} {
		k := keys.Key{
			ID:          id,
			TenantID:    tenant,
			Environment: keys.Live,
			Last4:       "9fQ2",
			Scope:       keys.ScopeWrite,
			CreatedAt:   at,
		}
		f.keys[tenant] = append(f.keys[tenant], keys.CustomerKey{Key: k, Version: "v1", IssuedBy: "support"})
	}
	for _, own := range f.keys {
		slices.SortFunc(own, func(a, b keys.CustomerKey) int { return strings.Compare(a.ID, b.ID) })
	}
	return f
}

func (f *fakeKeys) find(tenantID int64, id string) *keys.CustomerKey {
	i := slices.IndexFunc(f.keys[tenantID], func(k keys.CustomerKey) bool { return k.ID == id })
	if i < 0 {
		return nil
	}
	return &f.keys[tenantID][i]
}

func (f *fakeKeys) ListKeys(
	_ context.Context,
	tenantID int64,
	_ keys.Digest,
	q keys.CustomerQuery,
) ([]keys.CustomerKey, error) {
	return call(f.pets, func() ([]keys.CustomerKey, error) {
		page, _ := pageOf(f.keys[tenantID], q.Limit, func(k keys.CustomerKey) bool {
			follows := q.After == "" || k.CreatedAt.Before(q.AfterAt) || k.CreatedAt.Equal(q.AfterAt) && k.ID > q.After
			return follows && (q.ID == "" || k.ID == q.ID) && (q.Status == "" || k.Status(q.At) == q.Status)
		})
		return page, nil
	})
}

func (f *fakeKeys) ChangeKey(
	ctx context.Context,
	tenantID int64,
	_ keys.Digest,
	c keys.CustomerChange,
	once *catalog.Idempotency,
) (keys.CustomerKey, error) {
	if once == nil {
		return f.change(ctx, tenantID, c)
	}
	var made keys.CustomerKey
	answered, err := answerOnce(
		f.requests,
		tenantID,
		catalog.Once[keys.CustomerChange, keys.CustomerKey]{
			Request: *once,
			Answer: func(k *keys.CustomerKey) (catalog.Answer, error) {
				return catalog.Answer{Body: []byte(k.ID)}, nil
			},
		},
		func() (_ keys.CustomerKey, err error) {
			made, err = f.change(ctx, tenantID, c)
			return made, err
		},
	)
	if err == nil && answered.Replayed {
		err = fmt.Errorf("once: %w", &keys.AlreadyIssuedError{ID: string(answered.Body)})
	}
	return made, err
}

func (f *fakeKeys) change(_ context.Context, tenantID int64, c keys.CustomerChange) (keys.CustomerKey, error) {
	return call(f.pets, func() (keys.CustomerKey, error) {
		if f.asked = c; f.refused[c.Action] != nil {
			return keys.CustomerKey{}, fmt.Errorf("change: %w", f.refused[c.Action])
		}
		k := keys.CustomerKey{
			Key:      keys.Key{ID: c.NewID, Environment: keys.Live, CreatedAt: at},
			IssuedBy: "key_acme",
			Version:  "v1",
		}
		own := &k
		if c.Action != "key.issue" {
			if own = f.find(tenantID, c.ID); own == nil {
				return keys.CustomerKey{}, keys.ErrKeyNotFound
			}
			if c.Version != "" && c.Version != own.Version {
				return keys.CustomerKey{}, keys.ErrKeyChanged
			}
			if c.Action != "key.revoke" && !own.RevokedAt.IsZero() {
				return keys.CustomerKey{}, keys.ErrKeyInactive
			}
		}
		switch c.Action {
		case "key.revoke":
			own.RevokedAt, own.AlsoEnded = at, f.alsoEnded
		case "key.rotate":
			k.Name, k.Scope, k.Replaces = own.Name, own.Scope, own.ID
			own = &k
		}
		apply(own, c.Edit)
		if own == &k {
			k.Last4 = c.Token.Last4()
			f.keys[tenantID] = append(f.keys[tenantID], k)
		}
		return *own, nil
	})
}

// apply changes the members of a key that a change has.
func apply(k *keys.CustomerKey, e keys.Edit) {
	if e.Name != nil {
		k.Name = *e.Name
	}
	if e.Scope != nil {
		k.Scope = *e.Scope
	}
	if e.Allowed != nil {
		k.Allowed = *e.Allowed
	}
	if e.PerMinute != nil {
		k.PerMinute = *e.PerMinute
	}
	if e.ExpiresAt != nil {
		k.ExpiresAt = *e.ExpiresAt
	}
	if e != (keys.Edit{}) {
		k.Version += "'"
	}
}
