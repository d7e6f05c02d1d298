package store

import (
	"context"
	"database/sql/driver"
	"fmt"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store/pgconn"
)

// Pets stores the animals of tenants.
type Pets struct{ db *pgconn.DB }

var _ catalog.Store = Pets{}

// forTenant sets the tenant ($1) for row-level security within the statement itself: it takes no round trip of its own, and
// does not stay on the connection. Each query reads it by forTenantSet, so that Postgres can't skip it.
const (
	forTenant    = `with t as materialized (select set_config('petstore.tenant_id', $1::bigint::text, true) as id)`
	forTenantSet = `(select id from t) is not null`
)

// tenantSet sets the tenant in a statement that only reads. Postgres evaluates it once, before it looks for the first row. It
// takes 5 µs less than forTenant.
const tenantSet = `(select set_config('petstore.tenant_id', $1::bigint::text, true)) is not null`

const (
	listPetsQuery = `
select id, name, category_id, status from pets
where ` + tenantSet + ` and tenant_id = $1 and id > $2
order by id limit $3`

	listPetsByStatusQuery = `
select id, name, category_id, status from pets
where ` + tenantSet + ` and tenant_id = $1 and id > $2 and status = $4
order by id limit $3`

	getPetQuery = `
select id, name, category_id, status from pets
where ` + tenantSet + ` and tenant_id = $1 and id = $2`

	// createPetQuery sets the tenant in the value of the column: row-level security checks the finished row. So it does with the deadline.
	createPetQuery = `
insert into pets (tenant_id, name, category_id, status, created_at)
values (set_config('petstore.tenant_id', $1::bigint::text, true)::bigint, $2, $3, $4,
        case when set_config('petstore.deadline', $5, true) is not null then now() end)
returning id`

	// createPetsQuery sets the tenant once, for the column of the first row, and the deadline with the last one: the commit is checked once.
	// The order of the rows that it returns is not defined.
	createPetsQuery = `
insert into pets (tenant_id, name, category_id, status, created_at)
select (select set_config('petstore.tenant_id', $1::bigint::text, true))::bigint, name, category_id, status,
       case when place < cardinality($2::text[]) or set_config('petstore.deadline', $5, true) is not null then now() end
from unnest($2::text[], $3::bigint[], $4::text[]) with ordinality as asked (name, category_id, status, place)
returning id, name, category_id, status`
)

// ListPets implements catalog.Store.
func (d Pets) ListPets(ctx context.Context, tenantID int64, p catalog.Page) ([]catalog.Pet, int64, error) {
	if p.IDs != nil || p.CategoryID != nil || p.NamePrefix != "" {
		return d.filterPets(ctx, tenantID, p)
	}
	// One more than requested shows whether more follow.
	pets := make([]catalog.Pet, 0, p.Limit+1)
	query, args := listPetsQuery, []driver.Value{tenantID, p.After, int64(p.Limit + 1)}
	if p.Status != "" {
		query, args = listPetsByStatusQuery, append(args, string(p.Status))
	}
	err := d.db.Direct(ctx, func(row []driver.Value) error {
		pets = append(pets, petOf(row))
		return nil
	}, query, args...)
	if err != nil {
		return nil, 0, fmt.Errorf("list pets: %w", err)
	}
	pets, next := cutPage(pets, p.Limit)
	return pets, next, nil
}

// petOf scans by hand: with reflection the whole call takes half as long again.
func petOf(row []driver.Value) catalog.Pet {
	return catalog.Pet{ID: row[0].(int64), Name: row[1].(string), CategoryID: row[2].(int64), Status: catalog.Status(row[3].(string))}
}

// cutPage returns at most limit animals, and the ID of the last one if there were more.
func cutPage(pets []catalog.Pet, limit int) (page []catalog.Pet, next int64) {
	if len(pets) <= limit {
		return pets, 0
	}
	return pets[:limit], pets[limit-1].ID
}

// GetPet implements catalog.Store.
func (d Pets) GetPet(ctx context.Context, tenantID, id int64) (catalog.Pet, error) {
	var pets []catalog.Pet
	if err := d.db.Select(ctx, &pets, getPetQuery, tenantID, id); err != nil {
		return catalog.Pet{}, fmt.Errorf("get pet: %w", err)
	}
	if len(pets) == 0 {
		return catalog.Pet{}, fmt.Errorf("get pet: %w", catalog.ErrPetNotFound)
	}
	return pets[0], nil
}

// CreatePet implements catalog.Store. Its statement is sent at most once.
func (d Pets) CreatePet(ctx context.Context, tenantID int64, p catalog.NewPet) (_ catalog.Pet, err error) {
	defer wrap(&err, "create pet")
	pet := catalog.Pet{Name: p.Name, CategoryID: p.CategoryID, Status: p.Status}
	err = pgconn.Write(ctx, d.db, func(row []driver.Value) error {
		pet.ID = row[0].(int64)
		return nil
	}, createPetQuery, tenantID, p.Name, p.CategoryID, string(p.Status))
	if err == nil && pet.ID == 0 {
		err = pgconn.ErrNoRow
	}
	return pet, err
}
