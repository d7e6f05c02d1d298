package catalog

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
	// swapPetQuery changes an animal that has not changed since it was read, unless an open order
	// holds it and its status would change. xmin is the transaction that made the row. A statement
	// that waited for another change, such as an order, sees another xmin and changes nothing. So
	// the animal and the orders that decide are of the same snapshot.
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

	// describePetQuery makes a change that is possible in any state of the animal. Null leaves a
	// column unchanged.
	describePetQuery = forTenant + `
update pets set ` + petList("{c} = coalesce(${n}, {c})", 3) + `
where ` + forTenantSet + ` and tenant_id = $1 and id = $2 and (select set_config('petstore.deadline', ` +
		deadlineOf(3) + `, true)) is not null
returning id, ` + PetNames
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

// describePet makes a change that is possible in any state. Its statement is sent at most once.
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

// changePet makes a change that depends on the animal's state. It holds no lock between its two
// statements. If another change was made between them, it begins again, at most 20 times.
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

// notMade says that a failed change certainly was not made.
func notMade(err error) error { return fmt.Errorf("%w: %w", catalog.ErrNotMade, err) }
