package api

import "petstore.example/internal/catalog"

// orderStatuses names those that catalog.ParseOrderStatus knows.
const orderStatuses = "placed, approved, delivered, cancelled"

// decodeNewOrder reads {petId, quantity?}. All that is wrong with its fields is said at once.
func decodeNewOrder(data []byte, strict bool) (catalog.NewOrder, error) {
	f, err := readFields(data, strict, "petId", "quantity")
	if err != nil {
		return catalog.NewOrder{}, err
	}
	f.require("petId")
	pet := f.integer("petId")
	quantity := f.integer("quantity")
	if quantity != nil {
		if err := catalog.CheckQuantity(*quantity); err != nil {
			f.add(err.Error())
		}
	}
	if err := f.err(); err != nil {
		return catalog.NewOrder{}, err
	}
	order := catalog.NewOrder{PetID: *pet, Quantity: catalog.DefaultQuantity}
	if quantity != nil {
		order.Quantity = int32(*quantity)
	}
	return order, nil
}

// decodeOrderStatus reads {status}, the status that an order is to have.
func decodeOrderStatus(data []byte, strict bool) (catalog.OrderStatus, error) {
	f, err := readFields(data, strict, "status")
	if err != nil {
		return "", err
	}
	f.require("status")
	to := status(f, catalog.ParseOrderStatus, orderStatuses)
	if err := f.err(); err != nil {
		return "", err
	}
	return *to, nil
}
