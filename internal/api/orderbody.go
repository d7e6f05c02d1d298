package api

import (
	"petstore.example/internal/api/jsonbody"
	"petstore.example/internal/catalog"
)

// orderStatuses lists what catalog.ParseOrderStatus accepts.
const orderStatuses = "placed, approved, delivered, cancelled"

// decodeNewOrder reads {petId, quantity?}.
func decodeNewOrder(data []byte, strict bool) (catalog.NewOrder, error) {
	o, err := jsonbody.Read(data, strict, "petId", "quantity")
	if err != nil {
		return catalog.NewOrder{}, err
	}
	o.Require("petId")
	pet := o.Integer("petId")
	quantity := o.Integer("quantity")
	if quantity != nil {
		if err := catalog.CheckQuantity(*quantity); err != nil {
			o.Reject(err.Error())
		}
	}
	if err := o.Err(); err != nil {
		return catalog.NewOrder{}, err
	}
	order := catalog.NewOrder{PetID: *pet, Quantity: catalog.DefaultQuantity}
	if quantity != nil {
		order.Quantity = int32(*quantity)
	}
	return order, nil
}

// decodeOrderStatus reads {status}, the new status of an order.
func decodeOrderStatus(data []byte, strict bool) (catalog.OrderStatus, error) {
	o, err := jsonbody.Read(data, strict, "status")
	if err != nil {
		return "", err
	}
	o.Require("status")
	status := jsonbody.Enum(o, "status", catalog.ParseOrderStatus, orderStatuses)
	if err := o.Err(); err != nil {
		return "", err
	}
	return *status, nil
}
