package catalog

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store/pgconn"
)

// Orders stores the orders of tenants.
type Orders struct{ db *pgconn.DB }

var _ catalog.OrderStore = Orders{}

const (
	listOrdersQuery = forTenant + `
select id, pet_id, quantity, status, created_at from orders
where ` + forTenantSet + ` and tenant_id = $1 and id > $2
order by id limit $3`

	listOrdersByStatusQuery = forTenant + `
select id, pet_id, quantity, status, created_at from orders
where ` + forTenantSet + ` and tenant_id = $1 and id > $2 and status = $4
order by id limit $3`

	getOrderQuery = `
select id, pet_id, quantity, status, created_at from orders
where ` + tenantSet + ` and tenant_id = $1 and id = $2`

	// swapOrderQuery changes an order that still has the status that was read. It locks the order
	// before its animal, and no statement locks them in the other order.
	swapOrderQuery = forTenant + `,
swapped as (
  update orders set status = $4
  where ` + forTenantSet + ` and tenant_id = $1 and id = $2 and status = $3 and (select
      set_config('petstore.deadline', $6, true)) is not null
  returning pet_id
),
moved as (update pets set status = $5 from swapped where ` + forTenantSet + ` and tenant_id = $1 and id = pet_id and
	status <> $5)
select from swapped`
)

// ListOrders implements catalog.OrderStore.
func (d Orders) ListOrders(ctx context.Context, tenantID int64, p catalog.OrderPage) ([]catalog.Order, bool, error) {
	// One order more than requested shows whether more follow.
	orders := make([]catalog.Order, 0, p.Limit+1)
	query, args := listOrdersQuery, []any{tenantID, p.After, p.Limit + 1}
	if p.Status != "" {
		query, args = listOrdersByStatusQuery, append(args, p.Status)
	}
	if err := d.db.Select(ctx, &orders, query, args...); err != nil {
		return nil, false, fmt.Errorf("list orders: %w", err)
	}
	for i := range orders {
		orders[i].CreatedAt = orders[i].CreatedAt.UTC()
	}
	if len(orders) > p.Limit {
		return orders[:p.Limit], true, nil
	}
	return orders, false, nil
}

// GetOrder implements catalog.OrderStore.
func (d Orders) GetOrder(ctx context.Context, tenantID, id int64) (catalog.Order, error) {
	var orders []catalog.Order
	if err := d.db.Select(ctx, &orders, getOrderQuery, tenantID, id); err != nil {
		return catalog.Order{}, fmt.Errorf("get order: %w", err)
	}
	if len(orders) == 0 {
		return catalog.Order{}, fmt.Errorf("get order: %w", catalog.ErrOrderNotFound)
	}
	orders[0].CreatedAt = orders[0].CreatedAt.UTC()
	return orders[0], nil
}

// PlaceOrder implements catalog.OrderStore. Its statement is sent at most once.
func (d Orders) PlaceOrder(ctx context.Context, tenantID int64, o catalog.NewOrder) (catalog.Order, error) {
	var placed placedOrder
	err := pgconn.Write(ctx, d.db, func(row []driver.Value) error {
		placed.PetFound = row[2].(bool)
		return errors.Join(placed.ID.Scan(row[0]), placed.CreatedAt.Scan(row[1]))
	}, placeOrderQuery, tenantID, o.PetID, int64(o.Quantity))
	return placed.order(o, err)
}

// placeOrder is PlaceOrder within a transaction.
func placeOrder(ctx context.Context, tx pgconn.Tx, tenantID int64, o catalog.NewOrder) (catalog.Order, error) {
	var placed placedOrder
	err := tx.Get(ctx, &placed, placeOrderQuery, tenantID, o.PetID, o.Quantity, tx.Deadline())
	return placed.order(o, err)
}

// ChangeOrder implements catalog.OrderStore. It holds no lock between its two statements. If
// another change was made between them, it begins again. That happens at most twice, because an
// order never returns to an earlier status.
func (d Orders) ChangeOrder(
	ctx context.Context,
	tenantID, id int64,
	c catalog.OrderPatch,
) (_ catalog.Order, err error) {
	defer pgconn.Wrap(&err, "change order")
	for {
		order, err := d.GetOrder(ctx, tenantID, id)
		if err != nil {
			return order, notMade(err)
		}
		changed, err := c.Apply(order)
		if err != nil || changed == order {
			return changed, err
		}
		swapped := false
		err = pgconn.Write(ctx, d.db, func([]driver.Value) error {
			swapped = true
			return nil
		}, swapOrderQuery, tenantID, id, string(order.Status), string(changed.Status),
			string(changed.Status.PetStatus()))
		if err != nil || swapped {
			return changed, err
		}
	}
}

// placeOrderQuery is one statement, so that the animal's row is locked only until the commit. A
// second order waits for the lock, and then finds that the animal is not available.
const placeOrderQuery = forTenant + `,
held as (
  update pets set status = 'pending'
  where ` + forTenantSet + ` and tenant_id = $1 and id = $2 and status = 'available'
    and (select set_config('petstore.deadline', $4, true)) is not null
  returning id
),
placed as (
  insert into orders (tenant_id, pet_id, quantity, status, created_at)
  select $1, id, $3, 'placed', now() from held
  returning id, created_at
)
select placed.id, placed.created_at,
       exists (select from pets where ` + forTenantSet + ` and tenant_id = $1 and id = $2) as pet_found
from (select) one left join placed on true`

// holdingPet: an order holds the animal, although it is available.
const holdingPet = "orders_holding_pet"

// placedOrder is the result of an order. Without an ID it was not placed.
type placedOrder struct {
	ID        sql.NullInt64
	CreatedAt sql.NullTime `db:"created_at"`
	PetFound  bool         `db:"pet_found"`
}

// order returns the order, or the reason why it was not placed. err is the error of the statement.
func (p placedOrder) order(o catalog.NewOrder, err error) (catalog.Order, error) {
	switch {
	case pgconn.IsConstraint(err, holdingPet):
		err = catalog.ErrPetNotAvailable
	case err == nil && !p.PetFound:
		err = catalog.ErrPetNotFound
	case err == nil && !p.ID.Valid:
		err = catalog.ErrPetNotAvailable
	}
	if err != nil {
		return catalog.Order{}, fmt.Errorf("place order: %w", err)
	}
	return catalog.Order{
		ID: p.ID.Int64, PetID: o.PetID, Quantity: o.Quantity, Status: catalog.Placed, CreatedAt: p.CreatedAt.Time.UTC(),
	}, nil
}
