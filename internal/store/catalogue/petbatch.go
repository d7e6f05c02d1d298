package catalogue

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store/pgconn"
)

// CreatePets creates several animals with one statement, which is sent at most once. If Postgres
// refuses it, none of the animals was created, and each is tried alone. After any other error the
// outcome is the same for all, and may be unknown.
func (d Pets) CreatePets(ctx context.Context, tenantID int64, pets []catalog.NewPet) []catalog.Outcome[catalog.Pet] {
	return together(len(pets), func(outcomes []catalog.Outcome[catalog.Pet]) error {
		return d.createPets(ctx, tenantID, pets, outcomes)
	}, func(i int) (catalog.Pet, error) { return d.CreatePet(ctx, tenantID, pets[i]) })
}

// createPets creates all of the animals or, with an error, perhaps none.
func (d Pets) createPets(
	ctx context.Context,
	tenantID int64,
	asked []catalog.NewPet,
	outcomes []catalog.Outcome[catalog.Pet],
) (err error) {
	defer pgconn.Wrap(&err, "create pets")
	b := newPetBatch(asked)
	args := petArgs(func(c petColumn) driver.Value { return arrayOf(asked, c.value) }, tenantID)
	if err := pgconn.Write(
		ctx,
		d.db,
		func(row []driver.Value) error { return b.add(petOf(row)) },
		createPetsQuery,
		args...); err != nil {
		return err
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

// add takes an animal that the statement returned. Any place where the same was asked for is right.
// It looks from the last one on, where the animal is if the rows come in order.
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
