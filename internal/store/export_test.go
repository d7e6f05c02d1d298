package store

import (
	"strconv"
	"strings"
)

// ListQueries returns the lists' queries with their arguments written in, for EXPLAIN.
func ListQueries(tenantID, after int64) map[string]string {
	args := func(status string) *strings.Replacer {
		return strings.NewReplacer("$1", strconv.FormatInt(tenantID, 10), "$2", strconv.FormatInt(after, 10), "$3", "21", "$4", "'"+status+"'")
	}
	pets, orders := args("available"), args("delivered")
	return map[string]string{
		"pets": pets.Replace(listPetsQuery), "pets by status": pets.Replace(listPetsByStatusQuery),
		"orders": orders.Replace(listOrdersQuery), "orders by status": orders.Replace(listOrdersByStatusQuery),
	}
}
