package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/lib/pq"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store/pgconn"
)

// CreatePets creates several animals with one statement, which is sent at most once. If Postgres refuses it, none of the animals was
// created, and each is tried alone. After any other error the outcome is the same for all, and may be unknown.
func (d Pets) CreatePets(ctx context.Context, tenantID int64, pets []catalog.NewPet) []catalog.Created {
	created := make([]catalog.Created, len(pets))
	if len(pets) > 1 {
		err := d.createPets(ctx, tenantID, pets, created)
		if err == nil {
			return created
		}
		if !isRefused(err) {
			return allFailed(created, err)
		}
	}
	for i, p := range pets {
		created[i].Pet, created[i].Err = d.CreatePet(ctx, tenantID, p)
		if errors.Is(created[i].Err, ErrUnavailable) {
			allFailed(created[i:], created[i].Err) // The others were not tried, and would wait as long.
			break
		}
	}
	return created
}

// isRefused reports whether Postgres refused a statement because of what it says, so that it has certainly had no effect.
func isRefused(err error) bool { return pgconn.IsServerError(err) && !errors.Is(err, ErrUnavailable) }

func allFailed(created []catalog.Created, err error) []catalog.Created {
	for i := range created {
		created[i] = catalog.Created{Err: err}
	}
	return created
}

// createPets creates all of the animals or, with an error, perhaps none.
func (d Pets) createPets(ctx context.Context, tenantID int64, pets []catalog.NewPet, created []catalog.Created) error {
	args, err := arraysOf(pets)
	if err != nil {
		return fmt.Errorf("create pets: %w", err)
	}
	returned := 0
	err = d.db.Direct(ctx, func(row []driver.Value) error {
		pet := petOf(row)
		i := placeOf(pet, pets, created, returned)
		if i < 0 {
			return errors.New("an animal was created that nobody asked for")
		}
		created[i].Pet = pet
		returned++
		return nil
	}, createPetsQuery, append([]driver.Value{tenantID}, args...)...)
	if err == nil && returned != len(pets) {
		err = fmt.Errorf("%d animals were created of %d", returned, len(pets))
	}
	if err != nil {
		return fmt.Errorf("create pets: %w", err)
	}
	return nil
}

// placeOf returns the place of an animal among those that were asked for and have no ID yet, -1 for none. Any place where the same was asked
// for is right. It looks from start on, where the animal is if the rows come in order.
func placeOf(pet catalog.Pet, pets []catalog.NewPet, created []catalog.Created, start int) int {
	asked := catalog.NewPet{Name: pet.Name, CategoryID: pet.CategoryID, Status: pet.Status}
	for n := range pets {
		if i := (start + n) % len(pets); pets[i] == asked && created[i].Pet.ID == 0 {
			return i
		}
	}
	return -1
}

// arraysOf returns the columns of the animals.
func arraysOf(pets []catalog.NewPet) (arrays []driver.Value, err error) {
	names, categories, statuses := make(pq.StringArray, len(pets)), make(pq.Int64Array, len(pets)), make(pq.StringArray, len(pets))
	for i, p := range pets {
		names[i], categories[i], statuses[i] = p.Name, p.CategoryID, string(p.Status)
	}
	for _, column := range []driver.Valuer{names, categories, statuses} {
		array, err := column.Value()
		if err != nil {
			return nil, err
		}
		arrays = append(arrays, array)
	}
	return arrays, nil
}
