package client

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"strconv"
	"time"
)

// OrderStatus is the status of an order.
type OrderStatus string

// The statuses of an order. An order changes from placed to approved to delivered. Placed and
// approved orders can be cancelled.
const (
	OrderPlaced    OrderStatus = "placed"
	OrderApproved  OrderStatus = "approved"
	OrderDelivered OrderStatus = "delivered"
	OrderCancelled OrderStatus = "cancelled"
)

// Order is an order for an animal.
type Order struct {
	ID        int64       `json:"id"`
	PetID     int64       `json:"petId"`
	Quantity  int         `json:"quantity"`
	Status    OrderStatus `json:"status"`
	CreatedAt time.Time   `json:"createdAt"`
}

// NewOrder is an order to place.
type NewOrder struct {
	PetID int64 `json:"petId"`
	// Quantity is 1 by default.
	Quantity int `json:"quantity,omitempty"`
}

// OrderPatch is a change to an order. Nil fields leave it unchanged.
type OrderPatch struct {
	Status *OrderStatus `json:"status,omitempty"`
}

// ListOrdersParams selects the orders to list.
type ListOrdersParams struct {
	// Limit is the size of a page, 1 to 100. If it is 0, it is 20 for [Client.ListOrders] and 100
	// for [Client.Orders].
	Limit int
	// Status selects orders with that status, all if it is empty.
	Status OrderStatus
	// Cursor is the NextCursor of a page, empty for the first page. It never expires.
	Cursor string
}

// OrderPage is one page of a list.
type OrderPage struct {
	// Orders are in ascending order of ID.
	Orders []Order
	// NextCursor is the Cursor of the next page, empty on the last page.
	NextCursor string
	Rate       Rate
}

// ListOrders returns one page of your orders.
//
// This operation is in beta and may change with 30 days' notice.
func (c *Client) ListOrders(ctx context.Context, params ListOrdersParams, opts ...CallOption) (*OrderPage, error) {
	query := listQuery(map[string]any{"limit": params.Limit, "status": params.Status, "cursor": params.Cursor})
	var orders []Order
	a, err := c.do(ctx, &call{method: http.MethodGet, path: "store/orders", query: query}, nil, &orders, opts)
	if err != nil {
		return nil, err
	}
	return &OrderPage{Orders: orders, NextCursor: nextCursor(a.header), Rate: rateOf(a.header)}, nil
}

// Orders iterates over your orders from params.Cursor to the end, page by page, as [Client.Pets]
// does over animals.
//
// This operation is in beta and may change with 30 days' notice.
func (c *Client) Orders(ctx context.Context, params ListOrdersParams, opts ...CallOption) iter.Seq2[Order, error] {
	params.Limit = cmp.Or(params.Limit, maxPageSize)
	return paginate(params.Cursor, func(cursor string) ([]Order, string, error) {
		params.Cursor = cursor
		page, err := c.ListOrders(ctx, params, opts...)
		if err != nil {
			return nil, "", err
		}
		return page.Orders, page.NextCursor, nil
	})
}

// GetOrder returns one order. It fails with [CodeOrderNotFound].
//
// This operation is in beta and may change with 30 days' notice.
func (c *Client) GetOrder(ctx context.Context, orderID int64, opts ...CallOption) (*Order, error) {
	return fetch[Order](ctx, c, &call{method: http.MethodGet, path: orderPath(orderID)}, nil, opts)
}

// PlaceOrder orders an available animal, which becomes pending. It fails with [CodePetNotAvailable]
// or [CodePetNotFound]. Retries place one order only; see also [IdempotencyKey].
//
// This operation is experimental and may change at any time.
func (c *Client) PlaceOrder(ctx context.Context, order NewOrder, opts ...CallOption) (*Order, error) {
	cl := &call{method: http.MethodPost, path: "store/orders", repeatable: true}
	return fetch[Order](ctx, c, cl, order, opts)
}

// UpdateOrder changes the status of an order, and its animal's: delivered makes the animal sold,
// cancelled makes it available again. It returns the changed order. It fails with
// [CodeOrderNotFound] or [CodeInvalidTransition], and with [IfMatch] as [Client.UpdatePet] does.
// After [CodeOutcomeUnknown], or an error that is not an [*Error], the change may have been made.
//
// This operation is experimental and may change at any time.
func (c *Client) UpdateOrder(ctx context.Context, orderID int64, patch OrderPatch, opts ...CallOption) (*Order, error) {
	return fetch[Order](ctx, c, &call{method: http.MethodPatch, path: orderPath(orderID)}, patch, opts)
}

func orderPath(id int64) string { return "store/orders/" + strconv.FormatInt(id, 10) }
