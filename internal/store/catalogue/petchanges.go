package catalogue

import (
	"context"
	"database/sql/driver"
	"fmt"

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

	// describePetsQuery is describePetQuery for several animals, and returns them as they were before. All such statements lock animals in the order
	// of their IDs, so none waits for one that waits for it.
	describePetsQuery = forTenant + `,
locked as (
  select tenant_id, pets.id, ` + petList("pets.{c}, asked.{c} as to_{c}", 0) + `
  from (select * from unnest($2::bigint[], ` + petList("${n}::{t}[]", 3) + `) as asked (id, ` + PetNames + `) order by id) asked,
  lateral (select tenant_id, id, ` + PetNames + ` from pets where ` + forTenantSet + ` and tenant_id = $1 and id = asked.id for no key update) pets
)
update pets set ` + petList("{c} = coalesce(to_{c}, pets.{c})", 0) + ` from locked
where ` + forTenantSet + ` and pets.tenant_id = $1 and locked.tenant_id = $1 and pets.id = locked.id
  and (select set_config('petstore.deadline', ` + deadlineOf(3) + `, true)) is not null
returning pets.id, ` + petList("locked.{c}", 0)
)

// ChangePet implements catalog.Store.
func (d Pets) ChangePet(ctx context.Context, tenantID, id int64, c catalog.PetPatch) (pet catalog.Pet, err error) {
	defer pgconn.Wrap(&err, "change pet")
	if c.DependsOnNothing() {
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

// ChangePets makes changes that depend on nothing, with one statement that is sent at most once, as if one after the other. It returns what became of each.
func (d Pets) ChangePets(ctx context.Context, tenantID int64, changes []catalog.PetChange) []catalog.Outcome[catalog.Pet] {
	return together(len(changes), func(outcomes []catalog.Outcome[catalog.Pet]) error {
		return d.describePets(ctx, tenantID, changes, outcomes)
	}, func(i int) (catalog.Pet, error) {
		return d.ChangePet(ctx, tenantID, changes[i].ID, changes[i].PetPatch)
	})
}

// describePets sends what all changes to an animal come to, and finds out what each returns from what the animal was before.
func (d Pets) describePets(ctx context.Context, tenantID int64, changes []catalog.PetChange, outcomes []catalog.Outcome[catalog.Pet]) (err error) {
	defer pgconn.Wrap(&err, "change pets")
	var merged []catalog.PetChange
	places, pets := make(map[int64]int, len(changes)), make(map[int64]catalog.Pet, len(changes))
	for _, c := range changes {
		if i, again := places[c.ID]; again {
			merged[i].PetPatch = merged[i].Then(c.PetPatch)
		} else {
			places[c.ID] = len(merged)
			merged = append(merged, c)
		}
	}
	err = pgconn.Write(ctx, d.db, func(row []driver.Value) error {
		pet := petOf(row)
		pets[pet.ID] = pet
		return nil
	}, describePetsQuery, petArgs(func(column petColumn) driver.Value {
		return arrayOf(merged, func(c *catalog.PetChange) driver.Value { return column.changed(&c.PetPatch) })
	}, tenantID, arrayOf(merged, func(c *catalog.PetChange) driver.Value { return c.ID }))...)
	if err != nil {
		return err
	}
	for i, c := range changes {
		pet, found := pets[c.ID]
		if !found {
			outcomes[i].Err = fmt.Errorf("change pet: %w", catalog.ErrPetNotFound)
			continue
		}
		c.Set(&pet.NewPet)
		pets[c.ID], outcomes[i].Result = pet, pet
	}
	return nil
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
