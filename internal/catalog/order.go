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
	// ErrOrderNotFound: the tenant has no such order; another tenant's is not found either.
	ErrOrderNotFound = errors.New("no such order")
	// ErrPetNotAvailable: the animal is pending or sold, so nobody can order it now.
	ErrPetNotAvailable = errors.New("the animal is not available")
)

// OrderStatus is how far an order has come.
type OrderStatus string

// The statuses of an order. It goes placed → approved → delivered, or from placed or approved to cancelled.
const (
	Placed    OrderStatus = "placed"
	Approved  OrderStatus = "approved"
	Delivered OrderStatus = "delivered"
	Cancelled OrderStatus = "cancelled"
)

// ParseOrderStatus returns the status of that exact name, and whether there is one.
func ParseOrderStatus(s string) (OrderStatus, bool) {
	switch st := OrderStatus(s); st {
	case Placed, Approved, Delivered, Cancelled:
		return st, true
	}
	return "", false
}

// Order is an order for one animal, in the shape that the contract gives it.
type Order struct {
	ID        int64       `json:"id"        db:"id"`
	PetID     int64       `json:"petId"     db:"pet_id"`
	Quantity  int32       `json:"quantity"  db:"quantity"`
	Status    OrderStatus `json:"status"    db:"status"`
	CreatedAt time.Time   `json:"createdAt" db:"created_at"` // in UTC, to the microsecond
}

// NewOrder is an order before it is placed.
type NewOrder struct {
	PetID int64 `json:"petId"`
	// Quantity is from 1 to MaxQuantity.
	Quantity int32 `json:"quantity"`
}

// What an order's quantity is when it is not said, and the most it can be.
const (
	DefaultQuantity = 1
	MaxQuantity     = math.MaxInt32
)

// CheckQuantity says what is wrong with an order's quantity.
func CheckQuantity(n int64) error {
	if n < 1 || n > MaxQuantity {
		return fmt.Errorf("quantity must be from 1 to %d", MaxQuantity)
	}
	return nil
}

// OrderPage asks for a part of a list of orders in order of id.
type OrderPage struct {
	// After is the id behind which the page begins.
	After int64
	// Limit is the most orders to return, at least 1.
	Limit int
	// Status restricts the list; empty for all.
	Status OrderStatus
}

// OrderStore keeps the orders of all tenants. Every method is bound to one tenant's. An order and the status of its
// animal change together or not at all: from placed until delivered or cancelled the order holds its animal, which is
// pending, and no other order can be placed for it.
type OrderStore interface {
	// ListOrders returns the page in ascending order of id, and whether more follow it.
	ListOrders(ctx context.Context, tenantID int64, p OrderPage) (orders []Order, more bool, err error)
	// PlaceOrder makes the animal pending. It returns ErrPetNotFound, or ErrPetNotAvailable unless the animal is
	// available: of any number of orders at the same time one is placed.
	PlaceOrder(ctx context.Context, tenantID int64, o NewOrder) (Order, error)
	// ChangeOrder brings the order to another status and its animal to the one that goes with it. The status that the
	// order has already is no change. It returns ErrOrderNotFound, or a *TransitionError for a step that the rules forbid.
	ChangeOrder(ctx context.Context, tenantID, id int64, to OrderStatus) (Order, error)
}
