package catalogue

import (
	"context"
	"database/sql"
	"fmt"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store/pgconn"
)

// placeOrderQuery is one statement, so that the animal's row is locked only from there to the commit. A second order waits
// for the lock, and then finds that the animal is not available.
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

// placedOrder is the row that placeOrderQuery returns.
type placedOrder struct {
	ID        sql.NullInt64 `db:"id"`
	CreatedAt sql.NullTime  `db:"created_at"`
	PetFound  bool          `db:"pet_found"`
}

// placeOrderIn is Orders.PlaceOrder within a transaction.
func placeOrderIn(ctx context.Context, tx pgconn.Tx, tenantID int64, o catalog.NewOrder) (catalog.Order, error) {
	var placed placedOrder
	err := tx.Get(ctx, &placed, placeOrderQuery, tenantID, o.PetID, o.Quantity, tx.Deadline())
	return placed.order(o, err)
}

// order returns the order, or why it was not placed. err is the error of the statement.
func (p placedOrder) order(o catalog.NewOrder, err error) (catalog.Order, error) {
	switch {
	case pgconn.IsConstraint(err, "orders_holding_pet"):
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
