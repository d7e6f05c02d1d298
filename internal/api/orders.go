package api

import (
	"petstore.example/internal/api/httpfield"
	"petstore.example/internal/api/problem"
	"petstore.example/internal/catalog"
)

// listOrders is GET /v1/store/orders, beta.
func listOrders(a *api, x *exchange) error {
	r, err := parseListRequest(x, listParams, httpfield.ParseCursor, catalog.ParseOrderStatus, orderStatuses)
	if err != nil {
		return err
	}
	page := catalog.OrderPage{After: r.after, Limit: r.pageSize, Status: r.status}
	orders, more, err := a.Orders.ListOrders(x.Request.Context(), x.Caller.Tenant.ID, page)
	if err != nil {
		return err
	}
	next := int64(0)
	if more {
		next = orders[len(orders)-1].ID
	}
	p, err := newListPage(&r.listQuery, a.ordersURL, orders, nextCursor(next))
	if err != nil {
		return err
	}
	x.writePage(p, x.pageForm(p))
	return nil
}

// getOrder is GET /v1/store/orders/{orderId}, beta.
func getOrder(a *api, x *exchange) error {
	return showItem(x, "orderId", problem.OrderNotFound, a.Orders.GetOrder)
}

// placeOrder is POST /v1/store/orders, experimental.
func placeOrder(a *api, x *exchange) error {
	return creation[catalog.NewOrder, catalog.Order]{
		decode: decodeNewOrder, create: a.Orders.PlaceOrder, once: a.Requests.PlaceOrderOnce,
		location: func(o *catalog.Order) string { return itemURL(a.ordersURL, o.ID) },
	}.respond(a, x)
}

// changeOrder is PATCH /v1/store/orders/{orderId}, experimental.
func changeOrder(a *api, x *exchange) error {
	return changeItem(
		a,
		x,
		"orderId",
		problem.OrderNotFound,
		func(data []byte, strict bool) (catalog.OrderPatch, error) {
			status, err := decodeOrderStatus(data, strict)
			return catalog.OrderPatch{Status: status, Precondition: ifMatch[catalog.Order](x)}, err
		},
		a.Orders.ChangeOrder,
	)
}
