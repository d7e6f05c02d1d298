package catalogue

import (
	"context"
	"database/sql/driver"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store/pgconn"
)

// petHeldQuery is a statement of its own, after the lock. A statement that began before the lock would not see an order that was placed while it
// waited.
const petHeldQuery = `
select exists (select from orders where tenant_id = $1 and pet_id = $2 and status in ('placed', 'approved')) as held`

var (
	lockPetQuery = forTenant + `
` + selectPet + `
where ` + forTenantSet + ` and tenant_id = $1 and id = $2
for no key update`

	updatePetQuery = `
update pets set ` + petList("{c} = ${n}", 3) + `
where tenant_id = $1 and id = $2 and (select set_config('petstore.deadline', ` + deadlineOf(3) + `, true)) is not null`

	// describePetQuery changes what any animal may change, whatever it is now. Null stands for what stays.
	describePetQuery = forTenant + `
update pets set ` + petList("{c} = coalesce(${n}, {c})", 3) + `
where ` + forTenantSet + ` and tenant_id = $1 and id = $2 and (select set_config('petstore.deadline', ` + deadlineOf(3) + `, true)) is not null
returning id, ` + PetNames
)

// ChangePet implements catalog.Store.
func (d Pets) ChangePet(ctx context.Context, tenantID, id int64, c catalog.PetPatch) (pet catalog.Pet, err error) {
	defer pgconn.Wrap(&err, "change pet")
	if c.Precondition == nil && c.Status == nil {
		pet, err = d.describePet(ctx, tenantID, id, c)
	} else {
		pet, err = d.changePet(ctx, tenantID, id, c)
	}
	return pet, err
}

// describePet makes a change that depends on nothing. Its statement is sent at most once.
func (d Pets) describePet(ctx context.Context, tenantID, id int64, c catalog.PetPatch) (catalog.Pet, error) {
	pet, found := catalog.Pet{}, false
	err := pgconn.Write(ctx, d.db, func(row []driver.Value) error {
		pet, found = petOf(row), true
		return nil
	}, describePetQuery, petArgs(func(column petColumn) driver.Value { return column.changed(&c) }, tenantID, id)...)
	if err == nil && !found {
		err = catalog.ErrPetNotFound
	}
	return pet, err
}

// changePet makes any change. The lock on the animal's row blocks orders for it and other changes until the transaction ends.
func (d Pets) changePet(ctx context.Context, tenantID, id int64, c catalog.PetPatch) (pet catalog.Pet, err error) {
	err = pgconn.WriteTx(ctx, d.db, func(ctx context.Context, tx pgconn.Tx) error {
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
		args := petArgs(func(c petColumn) driver.Value { return c.value(&pet.NewPet) }, tenantID, id)
		_, err = tx.Exec(ctx, updatePetQuery, anys(append(args, tx.Deadline()))...)
		return err
	})
	return pet, err
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
