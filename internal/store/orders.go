package store

import (
	"context"
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

	// lockOrderQuery locks the order before its animal. No statement locks them in the other order.
	lockOrderQuery = forTenant + `
select o.id, o.pet_id, o.quantity, o.status, o.created_at, p.status as pet_status
from orders o
join pets p on p.tenant_id = o.tenant_id and p.id = o.pet_id
where ` + forTenantSet + ` and o.tenant_id = $1 and o.id = $2
for no key update of o, p`

	updateOrderQuery = `
with moved as (update pets set status = $5 where tenant_id = $1 and id = $4 and status <> $5)
update orders set status = $3 where tenant_id = $1 and id = $2`
)

// ListOrders implements catalog.OrderStore.
func (d Orders) ListOrders(ctx context.Context, tenantID int64, p catalog.OrderPage) ([]catalog.Order, bool, error) {
	// One more than requested shows whether more follow.
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

// PlaceOrder implements catalog.OrderStore.
func (d Orders) PlaceOrder(ctx context.Context, tenantID int64, o catalog.NewOrder) (order catalog.Order, err error) {
	err = d.db.Tx(ctx, func(ctx context.Context, tx pgconn.Tx) error {
		order, err = creator{tx}.PlaceOrder(ctx, tenantID, o)
		return err
	})
	return order, err
}

// ChangeOrder implements catalog.OrderStore.
func (d Orders) ChangeOrder(ctx context.Context, tenantID, id int64, to catalog.OrderStatus) (order catalog.Order, err error) {
	err = d.db.Tx(ctx, func(ctx context.Context, tx pgconn.Tx) error {
		order, err = changeOrder(ctx, tx, tenantID, id, to)
		return err
	})
	if err != nil {
		return catalog.Order{}, fmt.Errorf("change order: %w", err)
	}
	return order, nil
}

func changeOrder(ctx context.Context, tx pgconn.Tx, tenantID, id int64, to catalog.OrderStatus) (catalog.Order, error) {
	var found []struct {
		catalog.Order
		PetStatus catalog.Status `db:"pet_status"`
	}
	if err := tx.Select(ctx, &found, lockOrderQuery, tenantID, id); err != nil {
		return catalog.Order{}, err
	}
	if len(found) == 0 {
		return catalog.Order{}, catalog.ErrOrderNotFound
	}
	order := found[0].Order
	order.CreatedAt = order.CreatedAt.UTC()
	if order.Status == to {
		return order, nil
	}
	if err := order.Status.CheckStep(to); err != nil {
		return catalog.Order{}, err
	}
	if err := found[0].PetStatus.CheckStep(to.PetStatus()); err != nil {
		return catalog.Order{}, err
	}
	order.Status = to
	_, err := tx.Exec(ctx, updateOrderQuery, tenantID, id, to, order.PetID, to.PetStatus())
	return order, err
}
