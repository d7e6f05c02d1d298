package catalogue

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/lib/pq"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store/pgconn"
)

// CreatePets creates several animals with one statement, which is sent at most once. If Postgres refuses it, none of the animals was created, and
// each is tried alone. After any other error the outcome is the same for all, and may be unknown.
func (d Pets) CreatePets(ctx context.Context, tenantID int64, pets []catalog.NewPet) []catalog.Outcome[catalog.Pet] {
	outcomes := make([]catalog.Outcome[catalog.Pet], len(pets))
	if len(pets) > 1 {
		created, err := d.createPets(ctx, tenantID, pets)
		if err == nil {
			for i, pet := range created {
				outcomes[i].Result = pet
			}
			return outcomes
		}
		if !isRefused(err) {
			return allFailed(outcomes, err)
		}
	}
	return tryEach(outcomes, func(i int) (catalog.Pet, error) { return d.CreatePet(ctx, tenantID, pets[i]) })
}

// tryEach sets each outcome to what try returns, up to the first that says that Postgres is unavailable: further ones would wait as long.
func tryEach[T any](outcomes []catalog.Outcome[T], try func(i int) (T, error)) []catalog.Outcome[T] {
	for i := range outcomes {
		outcomes[i].Result, outcomes[i].Err = try(i)
		if errors.Is(outcomes[i].Err, pgconn.ErrUnavailable) {
			allFailed(outcomes[i:], outcomes[i].Err)
			break
		}
	}
	return outcomes
}

// isRefused reports whether Postgres refused a statement because of what it says, so that it has certainly had no effect.
func isRefused(err error) bool {
	return pgconn.IsServerError(err) && !errors.Is(err, pgconn.ErrUnavailable)
}

func allFailed[T any](outcomes []catalog.Outcome[T], err error) []catalog.Outcome[T] {
	for i := range outcomes {
		outcomes[i] = catalog.Outcome[T]{Err: err}
	}
	return outcomes
}

// createPets creates all of the animals or, with an error, perhaps none. They are in the order in which they were asked for.
func (d Pets) createPets(ctx context.Context, tenantID int64, asked []catalog.NewPet) (_ []catalog.Pet, err error) {
	defer pgconn.Wrap(&err, "create pets")
	columns, err := arraysOf(asked)
	if err != nil {
		return nil, err
	}
	b := newPetBatch(asked)
	args := append([]driver.Value{tenantID}, columns...)
	if err := pgconn.Write(ctx, d.db, func(row []driver.Value) error { return b.add(petOf(row)) }, createPetsQuery, args...); err != nil {
		return nil, err
	}
	return b.created()
}

// createPetsIn is createPets within a transaction.
func createPetsIn(ctx context.Context, tx pgconn.Tx, tenantID int64, asked []catalog.NewPet) (_ []catalog.Pet, err error) {
	defer pgconn.Wrap(&err, "create pets")
	columns, err := arraysOf(asked)
	if err != nil {
		return nil, err
	}
	args := append([]driver.Value{tenantID}, columns...)
	var returned []catalog.Pet
	if err := tx.Select(ctx, &returned, createPetsQuery, anys(append(args, tx.Deadline()))...); err != nil {
		return nil, err
	}
	b := newPetBatch(asked)
	for _, pet := range returned {
		if err := b.add(pet); err != nil {
			return nil, err
		}
	}
	return b.created()
}

// petBatch gives each create the animal that it asked for.
type petBatch struct {
	asked []catalog.NewPet
	// pets are those that were returned, at their places in asked. Others have the ID 0.
	pets     []catalog.Pet
	returned int
}

func newPetBatch(asked []catalog.NewPet) *petBatch {
	return &petBatch{asked: asked, pets: make([]catalog.Pet, len(asked))}
}

// add takes an animal that the statement returned. Any place where the same was asked for is right. It looks from the last one on, where the animal
// is if the rows come in order.
func (b *petBatch) add(pet catalog.Pet) error {
	for n := range b.asked {
		if i := (b.returned + n) % len(b.asked); b.asked[i] == pet.NewPet && b.pets[i].ID == 0 {
			b.pets[i] = pet
			b.returned++
			return nil
		}
	}
	return errors.New("an animal was created that nobody asked for")
}

// created returns the animals when all were returned.
func (b *petBatch) created() ([]catalog.Pet, error) {
	if b.returned == 0 {
		return nil, pgconn.ErrNoRow
	}
	if b.returned != len(b.asked) {
		return nil, fmt.Errorf("%d animals were created of %d", b.returned, len(b.asked))
	}
	return b.pets, nil
}

// arraysOf returns the columns of the animals.
func arraysOf(pets []catalog.NewPet) (arrays []driver.Value, err error) {
	for _, c := range petColumns {
		var column driver.Valuer
		if c.kind == "text" {
			column = pq.StringArray(valuesOf[string](c, pets))
		} else {
			column = pq.Int64Array(valuesOf[int64](c, pets))
		}
		array, err := column.Value()
		if err != nil {
			return nil, err
		}
		arrays = append(arrays, array)
	}
	return arrays, nil
}

func valuesOf[T any](c petColumn, pets []catalog.NewPet) []T {
	all := make([]T, len(pets))
	for i := range pets {
		all[i] = c.value(&pets[i]).(T)
	}
	return all
}
