package client

import (
	"context"
	"iter"
	"net/http"
	"strconv"
	"time"
)

// OrderStatus is how far an order has come.
type OrderStatus string

// The statuses of an order. It goes from placed to approved to delivered; placed and approved ones can be cancelled.
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

// NewOrder is an order before it has an id.
type NewOrder struct {
	PetID int64 `json:"petId"`
	// Quantity is 1 when it is 0.
	Quantity int `json:"quantity,omitempty"`
}

// OrderPatch is what shall change of an order. Nil fields stay as they are.
type OrderPatch struct {
	Status *OrderStatus `json:"status,omitempty"`
}

// ListOrdersParams says which orders to list.
type ListOrdersParams struct {
	// Limit is the most orders of a page, 1 to 100; 0 is 20 for [Client.ListOrders] and 100 for [Client.Orders].
	Limit int
	// Status restricts the list to that status; empty is all.
	Status OrderStatus
	// Cursor is a page's NextCursor; empty is the beginning. It never expires.
	Cursor string
}

// OrderPage is a part of the list.
type OrderPage struct {
	// Orders are in ascending order of id.
	Orders []Order
	// NextCursor is where the next page begins; empty on the last.
	NextCursor string
	Rate       Rate
}

// ListOrders returns one page of your orders.
//
// The operation is in beta: it may change with 30 days' notice.
func (c *Client) ListOrders(ctx context.Context, params ListOrdersParams, opts ...CallOption) (*OrderPage, error) {
	cl := &call{
		method: http.MethodGet,
		path:   "store/orders",
		query:  listQuery(params.Limit, string(params.Status), params.Cursor),
	}
	var orders []Order
	a, err := c.do(ctx, cl, nil, &orders, opts)
	if err != nil {
		return nil, err
	}
	return &OrderPage{Orders: orders, NextCursor: nextCursor(a.header), Rate: rateOf(a.header)}, nil
}

// Orders walks over your orders from params.Cursor to the end, page by page, as [Client.Pets] does over animals.
//
// The operation is in beta: it may change with 30 days' notice.
func (c *Client) Orders(ctx context.Context, params ListOrdersParams, opts ...CallOption) iter.Seq2[Order, error] {
	if params.Limit == 0 {
		params.Limit = largestPage
	}
	return each(params.Cursor, func(cursor string) ([]Order, string, error) {
		params.Cursor = cursor
		page, err := c.ListOrders(ctx, params, opts...)
		if err != nil {
			return nil, "", err
		}
		return page.Orders, page.NextCursor, nil
	})
}

// PlaceOrder orders an available animal, which becomes pending: else [CodePetNotAvailable] or [CodePetNotFound]. However often
// it has to be sent, one order is placed; see [IdempotencyKey] for more.
//
// The operation is experimental: it may change at any time.
func (c *Client) PlaceOrder(ctx context.Context, order NewOrder, opts ...CallOption) (*Order, error) {
	return c.order(ctx, &call{method: http.MethodPost, path: "store/orders"}, order, opts)
}

// UpdateOrder changes an order's status, and with it the animal's: delivered makes it sold, cancelled available again. It returns
// the order as it is then, or [CodeOrderNotFound], or [CodeInvalidTransition]. When the error is no [*Error], the change
// may have been made.
//
// The operation is experimental: it may change at any time.
func (c *Client) UpdateOrder(ctx context.Context, orderID int64, patch OrderPatch, opts ...CallOption) (*Order, error) {
	path := "store/orders/" + strconv.FormatInt(orderID, 10)
	return c.order(ctx, &call{method: http.MethodPatch, path: path}, patch, opts)
}

func (c *Client) order(ctx context.Context, cl *call, in any, opts []CallOption) (*Order, error) {
	var order Order
	if _, err := c.do(ctx, cl, in, &order, opts); err != nil {
		return nil, err
	}
	return &order, nil
}
