package catalogue

import (
	"context"
	"database/sql/driver"
	"fmt"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store/pgconn"
)

// afterPet is the number of the argument after $1, $2 and an animal's columns.
var afterPet = 3 + len(petColumns)

var (
	// swapPetQuery changes an animal that is still what it was when it was read, unless an open
	// order holds it and its status would change. xmin is the transaction that made the row:
	// whoever waited for another change, an order for example, sees another one and changes
	// nothing. So the orders of the snapshot decide about the animal of the snapshot.
	swapPetQuery = forTenant + `,
before as (
  select xmin as version, status, (` + PetNames + `) = (` + petList("${n}::{t}", 3) + `) as same, ` +
		petList("${n}::{t} as to_{c}", afterPet) + `
  from pets where ` + forTenantSet + ` and tenant_id = $1 and id = $2
),
held as (
  select from before
  where status <> to_status and exists (select from orders where tenant_id = $1 and pet_id = $2 and orders.status in
      ('placed', 'approved'))
),
swapped as (
  update pets set ` + petList("{c} = to_{c}", 0) + ` from before
  where ` + forTenantSet + ` and pets.tenant_id = $1 and pets.id = $2 and pets.xmin = version and same and not exists
      (select from held)
    and (select set_config('petstore.deadline', ` + deadlineOf(afterPet) + `, true)) is not null
  returning id
)
select exists (select from swapped), exists (select from before where same) and exists (select from held)`

	// describePetQuery changes what any animal may change, whatever it is now. Null stands for what
	// stays.
	describePetQuery = forTenant + `
update pets set ` + petList("{c} = coalesce(${n}, {c})", 3) + `
where ` + forTenantSet + ` and tenant_id = $1 and id = $2 and (select set_config('petstore.deadline', ` +
		deadlineOf(3) + `, true)) is not null
returning id, ` + PetNames

	// describePetsQuery is describePetQuery for several animals, and returns them as they were
	// before. All such statements lock animals in the order of their IDs, so none waits for one
	// that waits for it.
	describePetsQuery = forTenant + `,
locked as (
  select tenant_id, pets.id, ` + petList("pets.{c}, asked.{c} as to_{c}", 0) + `
  from (select * from unnest($2::bigint[], ` + petList("${n}::{t}[]", 3) + `) as asked (id, ` + PetNames + `) order
    by id) asked,
  lateral (select tenant_id, id, ` + PetNames + ` from pets where ` + forTenantSet + ` and tenant_id = $1 and id =
      asked.id for no key update) pets
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

// ChangePets makes changes that depend on nothing, with one statement that is sent at most once, as
// if one after the other. It returns what became of each.
func (d Pets) ChangePets(
	ctx context.Context,
	tenantID int64,
	changes []catalog.PetChange,
) []catalog.Outcome[catalog.Pet] {
	return together(len(changes), func(outcomes []catalog.Outcome[catalog.Pet]) error {
		return d.describePets(ctx, tenantID, changes, outcomes)
	}, func(i int) (catalog.Pet, error) {
		return d.ChangePet(ctx, tenantID, changes[i].ID, changes[i].PetPatch)
	})
}

// describePets sends what all changes to an animal come to, and finds out what each returns from
// what the animal was before.
func (d Pets) describePets(
	ctx context.Context,
	tenantID int64,
	changes []catalog.PetChange,
	outcomes []catalog.Outcome[catalog.Pet],
) (err error) {
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

// changePet makes a change that depends on what the animal is. It holds no lock between its two
// statements: it begins again, 20 times at most, if another change came between them.
func (d Pets) changePet(ctx context.Context, tenantID, id int64, c catalog.PetPatch) (catalog.Pet, error) {
	for range 20 {
		before, err := d.GetPet(ctx, tenantID, id)
		if err != nil {
			return catalog.Pet{}, notMade(err)
		}
		pet, err := c.Apply(before)
		if err != nil || pet == before {
			return pet, err
		}
		args, swapped, held := []driver.Value{tenantID, id}, false, false
		for _, p := range []*catalog.NewPet{&before.NewPet, &pet.NewPet} {
			args = petArgs(func(c petColumn) driver.Value { return c.value(p) }, args...)
		}
		err = pgconn.Write(ctx, d.db, func(row []driver.Value) error {
			swapped, held = row[0].(bool), row[1].(bool)
			return nil
		}, swapPetQuery, args...)
		switch {
		case err != nil || swapped:
			return pet, err
		case held:
			return catalog.Pet{}, &catalog.TransitionError{
				Item: "animal",
				From: string(before.Status),
				To:   string(pet.Status),
				Held: true,
			}
		}
	}
	return catalog.Pet{}, notMade(fmt.Errorf("others change the animal all the time: %w", pgconn.ErrUnavailable))
}

// notMade says of a failed change that it certainly was not made.
func notMade(err error) error { return fmt.Errorf("%w: %w", catalog.ErrNotMade, err) }
