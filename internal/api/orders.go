package api

import (
	"context"

	"petstore.example/internal/catalog"
)

// listOrders is GET /v1/store/orders, beta.
func listOrders(a *api, x *exchange) error {
	r, err := parseListRequest(x.Request.URL.RawQuery, catalog.ParseOrderStatus, orderStatuses)
	if err != nil {
		return err
	}
	page := catalog.OrderPage{After: r.after, Limit: r.pageSize, Status: r.status}
	orders, more, err := a.Orders.ListOrders(x.Request.Context(), x.caller.Tenant.ID, page)
	if err != nil {
		return err
	}
	p, err := newListPage(&r.listQuery, a.ordersURL, orders, more, func(o *catalog.Order) int64 { return o.ID })
	if err != nil {
		return err
	}
	x.writePage(p)
	return nil
}

// placeOrder is POST /v1/store/orders, experimental.
func placeOrder(a *api, x *exchange) error {
	return create(a, x, decodeNewOrder, func(ctx context.Context, c catalog.Creator, n catalog.NewOrder) (any, string, error) {
		order, err := c.PlaceOrder(ctx, x.caller.Tenant.ID, n)
		return &order, itemURL(a.ordersURL, order.ID), err
	})
}

// changeOrder is PATCH /v1/store/orders/{orderId}, experimental.
func changeOrder(a *api, x *exchange) error {
	data, strict, err := readBody(a.bodies, x)
	if err != nil {
		return err
	}
	to, err := decodeOrderStatus(data, strict)
	if err != nil {
		return err
	}
	id, ok := parseID(x.Param("orderId"))
	if !ok {
		return codeOrderNotFound.withMessage("orderId must be a 64-bit integer.")
	}
	order, err := a.Orders.ChangeOrder(x.Request.Context(), x.caller.Tenant.ID, id, to)
	if err != nil {
		return err
	}
	return x.json(&order)
}
