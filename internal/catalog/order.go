package catalog

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// Errors of an OrderStore. Stores wrap them, so compare with errors.Is.
var (
	// ErrOrderNotFound: the tenant has no such order. Orders of other tenants are not found.
	ErrOrderNotFound = errors.New("no such order")
	// ErrPetNotAvailable: the animal is pending or sold.
	ErrPetNotAvailable = errors.New("the animal is not available")
)

// OrderStatus is the state of an order.
type OrderStatus string

// The statuses of an order. It goes placed → approved → delivered, or from placed or approved to
// cancelled.
const (
	Placed    OrderStatus = "placed"
	Approved  OrderStatus = "approved"
	Delivered OrderStatus = "delivered"
	Cancelled OrderStatus = "cancelled"
)

// ParseOrderStatus returns the status with exactly that name, and whether it exists.
func ParseOrderStatus(s string) (OrderStatus, bool) {
	switch st := OrderStatus(s); st {
	case Placed, Approved, Delivered, Cancelled:
		return st, true
	}
	return "", false
}

// Order is an order for one animal, in the form of the API.
type Order struct {
	ID        int64       `json:"id"        db:"id"`
	PetID     int64       `json:"petId"     db:"pet_id"`
	Quantity  int32       `json:"quantity"  db:"quantity"`
	Status    OrderStatus `json:"status"    db:"status"`
	CreatedAt time.Time   `json:"createdAt" db:"created_at"` // in UTC, to the microsecond
}

// NewOrder is an order to be placed.
type NewOrder struct {
	PetID int64 `json:"petId"`
	// Quantity is from 1 to MaxQuantity.
	Quantity int32 `json:"quantity"`
}

// OrderPatch is a change to an order.
type OrderPatch struct {
	// Precondition, if not nil, returns ErrPreconditionFailed if the present order must not be
	// changed.
	Precondition func(Order) error
	Status       OrderStatus
}

// Apply returns the changed order, the error of the precondition, or a *TransitionError if the new
// status is forbidden.
func (c OrderPatch) Apply(o Order) (Order, error) {
	if c.Precondition != nil {
		if err := c.Precondition(o); err != nil {
			return Order{}, err
		}
	}
	if err := o.Status.CheckStep(c.Status); err != nil {
		return Order{}, err
	}
	o.Status = c.Status
	return o, nil
}

// The default and the maximum quantity of an order.
const (
	DefaultQuantity = 1
	MaxQuantity     = math.MaxInt32
)

// CheckQuantity returns an error if n is not a valid quantity of an order.
func CheckQuantity(n int64) error {
	if n < 1 || n > MaxQuantity {
		return fmt.Errorf("quantity must be from 1 to %d", MaxQuantity)
	}
	return nil
}

// OrderPage selects a page of a list of orders in ascending order of ID.
type OrderPage struct {
	// After is the ID after which the page begins.
	After int64
	// Limit is the maximum number of orders, at least 1.
	Limit int
	// Status filters the list; empty for all.
	Status OrderStatus
}

// OrderStore stores the orders of all tenants. Every method accesses one tenant's only. An order
// and its animal's status change atomically: from placed until delivered or cancelled the order
// holds its animal, which is pending, and no other order can be placed for it.
type OrderStore interface {
	// ListOrders returns the page in ascending order of ID, and whether there are more.
	ListOrders(ctx context.Context, tenantID int64, p OrderPage) (orders []Order, more bool, err error)
	// GetOrder returns ErrOrderNotFound if the tenant has no such order.
	GetOrder(ctx context.Context, tenantID, id int64) (Order, error)
	// PlaceOrder makes the animal pending. It returns ErrPetNotFound, or ErrPetNotAvailable if the
	// animal is not available. Of concurrent orders for an animal, one is placed.
	PlaceOrder(ctx context.Context, tenantID int64, o NewOrder) (Order, error)
	// ChangeOrder changes the status of the order, and its animal's status accordingly. Keeping the
	// present status is no change. It returns ErrOrderNotFound, the error of the precondition, or a
	// *TransitionError for a forbidden transition. Nothing changes between the precondition and the
	// change.
	ChangeOrder(ctx context.Context, tenantID, id int64, c OrderPatch) (Order, error)
}
