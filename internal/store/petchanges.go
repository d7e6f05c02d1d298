package store

import (
	"context"
	"fmt"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store/pgconn"
)

const (
	lockPetQuery = forTenant + `
select id, name, category_id, status from pets
where ` + forTenantSet + ` and tenant_id = $1 and id = $2
for no key update`

	// petHeldQuery is a statement of its own, after the lock. A statement that began before the lock would not see an order
	// that was placed while it waited.
	petHeldQuery = `
select exists (select from orders where tenant_id = $1 and pet_id = $2 and status in ('placed', 'approved')) as held`

	updatePetQuery = `
update pets set name = $3, category_id = $4, status = $5 where tenant_id = $1 and id = $2`
)

// ChangePet implements catalog.Store. The lock on the animal's row blocks orders for it and other changes until the
// transaction ends.
func (d Pets) ChangePet(ctx context.Context, tenantID, id int64, c catalog.PetPatch) (pet catalog.Pet, err error) {
	err = d.db.Tx(ctx, func(ctx context.Context, tx pgconn.Tx) error {
		var found []catalog.Pet
		if err := tx.Select(ctx, &found, lockPetQuery, tenantID, id); err != nil {
			return err
		}
		if len(found) == 0 {
			return catalog.ErrPetNotFound
		}
		before := found[0]
		if pet, err = c.Apply(before); err != nil || pet == before {
			return err
		}
		if pet.Status != before.Status {
			if err := refuseHeld(ctx, tx, tenantID, before, pet.Status); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, updatePetQuery, tenantID, id, pet.Name, pet.CategoryID, pet.Status)
		return err
	})
	if err != nil {
		return catalog.Pet{}, fmt.Errorf("change pet: %w", err)
	}
	return pet, nil
}

// refuseHeld returns an error when an order holds the locked animal.
func refuseHeld(ctx context.Context, tx pgconn.Tx, tenantID int64, pet catalog.Pet, to catalog.Status) error {
	var held bool
	if err := tx.Get(ctx, &held, petHeldQuery, tenantID, pet.ID); err != nil {
		return err
	}
	if held {
		return &catalog.TransitionError{Item: "animal", From: string(pet.Status), To: string(to), Held: true}
	}
	return nil
}
