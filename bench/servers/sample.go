package servers

import (
	"context"
	"fmt"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

// Animals is how many a sample tenant has: more than a page.
const Animals = 50

// unlimited is a quota that no benchmark uses up.
var unlimited = plans.Quota{PerMinute: 1_000_000_000, PerDay: 1_000_000_000_000}

// CreateTenant makes a tenant on Enterprise with animals and a key, which it returns.
func CreateTenant(ctx context.Context, url, name string) (string, error) {
	key, err := createTenant(ctx, url, name)
	if err != nil {
		return "", fmt.Errorf("make tenant %s: %w", name, err)
	}
	return key, analyze(ctx, url)
}

func createTenant(ctx context.Context, url, name string) (string, error) {
	db, err := store.Open(ctx, url, store.Options{MaxConns: 1})
	if err != nil {
		return "", err
	}
	defer db.Close()
	by := audit.By{Actor: "bench", Reason: "benchmark"}
	tenant, err := db.CreateTenant(ctx, by, store.NewTenant{Name: name, Plan: plans.Enterprise, Own: &unlimited}, time.Now())
	if err != nil {
		return "", err
	}
	for i := range Animals {
		if _, err := db.CreatePet(ctx, tenant.ID, animal(i)); err != nil {
			return "", err
		}
	}
	service := &keys.Service{Store: db}
	_, token, err := service.Issue(ctx, by, keys.Request{Tenant: name, Name: "bench", Environment: keys.Live})
	return token.Reveal(), err
}

func animal(i int) catalog.NewPet {
	names := []string{"Rex", "Luna", "Milo", "Bella", "Oscar"}
	statuses := []catalog.Status{catalog.Available, catalog.Pending, catalog.Sold}
	return catalog.NewPet{
		Name:       fmt.Sprintf("%s %d", names[i%len(names)], i+1),
		CategoryID: int64(i%7) + 1,
		Status:     statuses[i%len(statuses)],
	}
}
