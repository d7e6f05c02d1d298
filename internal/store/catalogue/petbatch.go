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
	return together(len(pets), func(outcomes []catalog.Outcome[catalog.Pet]) error {
		return d.createPets(ctx, tenantID, pets, outcomes)
	}, func(i int) (catalog.Pet, error) { return d.CreatePet(ctx, tenantID, pets[i]) })
}

// together does what n requests of a tenant ask for. all does it with one statement and sets the outcomes, unless there is only one. If Postgres
// refuses it, each is tried alone. After any other error the outcome is the same for all, and may be unknown.
func together[T any](n int, all func([]catalog.Outcome[T]) error, try func(i int) (T, error)) []catalog.Outcome[T] {
	outcomes := make([]catalog.Outcome[T], n)
	if n > 1 {
		switch err := all(outcomes); {
		case err == nil:
			return outcomes
		case !isRefused(err):
			return allFailed(outcomes, err)
		}
	}
	return tryEach(outcomes, try)
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

// createPets creates all of the animals or, with an error, perhaps none.
func (d Pets) createPets(ctx context.Context, tenantID int64, asked []catalog.NewPet, outcomes []catalog.Outcome[catalog.Pet]) (err error) {
	defer pgconn.Wrap(&err, "create pets")
	b := newPetBatch(asked)
	args := petArgs(func(c petColumn) driver.Value { return arrayOf(asked, c.value) }, tenantID)
	if err := pgconn.Write(ctx, d.db, func(row []driver.Value) error { return b.add(petOf(row)) }, createPetsQuery, args...); err != nil {
		return err
	}
	return b.created(outcomes)
}

// createPetsIn is createPets within a transaction.
func createPetsIn(ctx context.Context, tx pgconn.Tx, tenantID int64, asked []catalog.NewPet, outcomes []catalog.Outcome[catalog.Pet]) (err error) {
	defer pgconn.Wrap(&err, "create pets")
	args := petArgs(func(c petColumn) driver.Value { return arrayOf(asked, c.value) }, tenantID)
	var returned []catalog.Pet
	if err := tx.Select(ctx, &returned, createPetsQuery, anys(append(args, tx.Deadline()))...); err != nil {
		return err
	}
	b := newPetBatch(asked)
	for _, pet := range returned {
		if err := b.add(pet); err != nil {
			return err
		}
	}
	return b.created(outcomes)
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

// created sets the outcomes when all animals were returned.
func (b *petBatch) created(outcomes []catalog.Outcome[catalog.Pet]) error {
	if b.returned == 0 {
		return pgconn.ErrNoRow
	}
	if b.returned != len(b.asked) {
		return fmt.Errorf("%d animals were created of %d", b.returned, len(b.asked))
	}
	for i, pet := range b.pets {
		outcomes[i].Result = pet
	}
	return nil
}

// arrayOf returns what value returns of each, strings, int64s and nils, as an array.
func arrayOf[T any](all []T, value func(*T) driver.Value) driver.Value {
	values := make([]driver.Value, len(all))
	for i := range all {
		values[i] = value(&all[i])
	}
	array, _ := pq.GenericArray{A: values}.Value() // No such value fails.
	return array
}
