package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/catalog"
	"petstore.example/internal/devfile"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/tenancy"
)

const (
	sampleTenant = "demo"
	sampleKey    = "sample"
	sampleSize   = 50
)

// Automatic bans last long enough to show the response, but are soon over.
const (
	firstDevBan, secondDevBan, furtherDevBan = 10 * time.Second, 30 * time.Second, time.Minute
)

// createSample makes automatic bans short, and creates the sample tenant, its animals and its keys
// where they are missing. It returns the tenant, and sets the keys in note: those of dev.json in
// dir that are still active, otherwise new ones.
func createSample(ctx context.Context, databaseURL, dir string, note *devfile.File) (tenant plans.Tenant, err error) {
	db, err := store.Open(ctx, databaseURL, store.Options{})
	if err != nil {
		return tenant, err
	}
	defer func() { _ = db.Close() }()
	if err := db.Bans.SetLengths(ctx, firstDevBan, secondDevBan, furtherDevBan); err != nil {
		return tenant, err
	}
	by := audit.By{Actor: "petstore dev", Reason: "sample data"}
	tenant, err = db.Tenants.Get(ctx, sampleTenant)
	if errors.Is(err, plans.ErrTenantNotFound) {
		tenant, err = db.Tenants.Create(ctx, by, tenancy.NewTenant{Name: sampleTenant, Plan: plans.Pro}, time.Time{})
	}
	if err != nil {
		return tenant, err
	}
	if err := createAnimals(ctx, db, tenant.ID); err != nil {
		return tenant, err
	}
	service := &keys.Service{Store: db.Keys}
	earlier, _ := devfile.Read(dir) // Without the file the keys are new.
	for _, k := range []struct {
		key *string
		was string
		of  keys.Environment
	}{{&note.APIKey, earlier.APIKey, keys.Live}, {&note.TestAPIKey, earlier.TestAPIKey, keys.Test}} {
		known, err := service.Identify(ctx, k.was)
		if *k.key = k.was; err == nil && known.TenantID == tenant.ID && known.Status(time.Now()) == "active" {
			if known.Scope == keys.ScopeWrite { // The key is from an earlier release.
				_, _, err = service.Edit(ctx, by, known.ID, keys.Edit{Scope: new(keys.ScopeManage)})
			}
			if err != nil {
				return tenant, err
			}
			continue
		}
		if *k.key, err = replaceKey(ctx, db, service, by, k.of); err != nil {
			return tenant, err
		}
	}
	return tenant, nil
}

// replaceKey issues a sample key and revokes the earlier ones, whose plaintext is lost.
func replaceKey(
	ctx context.Context,
	db *store.DB,
	service *keys.Service,
	by audit.By,
	e keys.Environment,
) (string, error) {
	issued, err := store.Collect(db.Keys.List(ctx, tenancy.KeyFilter{Tenant: sampleTenant}, time.Now()))
	if err != nil {
		return "", err
	}
	for _, k := range issued {
		if k.Name == sampleKey && k.Environment == e && k.Status(time.Now()) == "active" {
			if _, err := service.Revoke(ctx, by, k.ID); err != nil {
				return "", err
			}
		}
	}
	_, token, err := service.Issue(
		ctx,
		by,
		keys.Request{Tenant: sampleTenant, Name: sampleKey, Environment: e, Scope: keys.ScopeManage},
	)
	if err != nil {
		return "", err
	}
	return token.Reveal(), nil
}

func createAnimals(ctx context.Context, db *store.DB, tenantID int64) error {
	pets, _, err := db.Pets.ListPets(ctx, tenantID, catalog.Page{Limit: sampleSize})
	if err != nil {
		return err
	}
	kinds := []string{"Cat", "Dog", "Rabbit", "Parrot", "Tortoise", "Ferret", "Gecko"}
	names := []string{"Rex", "Luna", "Milo", "Bella", "Oscar", "Nala", "Simba", "Coco", "Felix", "Ruby", "Max"}
	statuses := []catalog.Status{catalog.Available, catalog.Available, catalog.Pending, catalog.Available, catalog.Sold}
	for i := len(pets); i < sampleSize; i++ {
		_, err := db.Pets.CreatePet(ctx, tenantID, catalog.NewPet{
			Name:       fmt.Sprintf("%s the %s", names[i%len(names)], kinds[i%len(kinds)]),
			CategoryID: int64(i%len(kinds)) + 1,
			Status:     statuses[i%len(statuses)],
		})
		if err != nil {
			return err
		}
	}
	return nil
}
