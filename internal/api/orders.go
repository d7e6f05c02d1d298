package api

import (
	"context"

	"petstore.example/internal/catalog"
)

// listOrders is GET /v1/store/orders, beta.
func (a *api) listOrders(x *exchange) error {
	query, err := parseListQuery(x.Request.URL.RawQuery)
	if err != nil {
		return err
	}
	at, status, err := page(&query, catalog.ParseOrderStatus, orderStatuses)
	if err != nil {
		return err
	}
	asked := catalog.OrderPage{After: at.after, Limit: at.limit, Status: status}
	orders, more, err := a.Orders.ListOrders(x.Request.Context(), x.caller.Tenant.ID, asked)
	if err != nil {
		return err
	}
	next := ""
	if more && len(orders) > 0 {
		next = formatCursor(orders[len(orders)-1].ID)
	}
	p, err := finish(&query, a.ordersURL, orders, next)
	if err != nil {
		return err
	}
	x.answerPage(p)
	return nil
}

// placeOrder is POST /v1/store/orders, experimental.
func (a *api) placeOrder(x *exchange) error {
	return create(a, x, decodeNewOrder, func(ctx context.Context, c catalog.Creator, n catalog.NewOrder) (any, string, error) {
		order, err := c.PlaceOrder(ctx, x.caller.Tenant.ID, n)
		return &order, item(a.ordersURL, order.ID), err
	})
}

// changeOrder is PATCH /v1/store/orders/{orderId}, experimental.
func (a *api) changeOrder(x *exchange) error {
	data, strict, err := readBody(x)
	if err != nil {
		return err
	}
	to, err := decodeOrderStatus(data, strict)
	if err != nil {
		return err
	}
	id, ok := parseID(x.Param("orderId"))
	if !ok {
		return codeOrderNotFound.withMessage("orderId must be a whole number of 64 bits, written in decimal digits: no order has any other id.")
	}
	order, err := a.Orders.ChangeOrder(x.Request.Context(), x.caller.Tenant.ID, id, to)
	if err != nil {
		return err
	}
	return x.json(&order)
}
