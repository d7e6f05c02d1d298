package api

import (
	"petstore.example/internal/catalog"
)

// listOrders is GET /v1/store/orders, beta.
func listOrders(a *api, x *exchange) error {
	r, err := parseListRequest(x, listParams, catalog.ParseOrderStatus, orderStatuses)
	if err != nil {
		return err
	}
	page := catalog.OrderPage{After: r.after, Limit: r.pageSize, Status: r.status}
	orders, more, err := a.Orders.ListOrders(x.Request.Context(), x.caller.Tenant.ID, page)
	if err != nil {
		return err
	}
	next := int64(0)
	if more {
		next = orders[len(orders)-1].ID
	}
	p, err := newListPage(&r.listQuery, a.ordersURL, orders, next)
	if err != nil {
		return err
	}
	x.writePage(p, x.form(p))
	return nil
}

// getOrder is GET /v1/store/orders/{orderId}, beta.
func getOrder(a *api, x *exchange) error {
	id, err := x.orderID()
	if err != nil {
		return err
	}
	order, err := a.Orders.GetOrder(x.Request.Context(), x.caller.Tenant.ID, id)
	if err != nil {
		return err
	}
	return x.writeItem(&order)
}

// placeOrder is POST /v1/store/orders, experimental.
func placeOrder(a *api, x *exchange) error {
	return creation[catalog.NewOrder, catalog.Order]{
		decode: decodeNewOrder, create: a.Orders.PlaceOrder, once: a.Requests.PlaceOrderOnce,
		location: func(o *catalog.Order) string { return itemURL(a.ordersURL, o.ID) },
	}.handle(a, x)
}

// changeOrder is PATCH /v1/store/orders/{orderId}, experimental.
func changeOrder(a *api, x *exchange) error {
	data, strict, err := readBody(a.bodies, x)
	if err != nil {
		return err
	}
	status, err := decodeOrderStatus(data, strict)
	if err != nil {
		return err
	}
	id, err := x.orderID()
	if err != nil {
		return err
	}
	change := catalog.OrderPatch{Status: status, Precondition: ifMatch[catalog.Order](x)}
	order, err := a.Orders.ChangeOrder(x.Request.Context(), x.caller.Tenant.ID, id, change)
	if err != nil {
		return err
	}
	return x.writeItem(&order)
}

func (x *exchange) orderID() (int64, error) {
	id, ok := parseID(x.Param("orderId"))
	if !ok {
		return 0, codeOrderNotFound.withMessage("orderId must be a 64-bit integer.")
	}
	return id, nil
}
