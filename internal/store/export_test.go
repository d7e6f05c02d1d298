package store

import (
	"context"
	"strconv"
	"strings"
)

// PetQueries returns the list's queries with their arguments written in, for EXPLAIN.
func PetQueries(tenantID, after int64) map[string]string {
	fill := listArgs(tenantID, after, "available")
	return map[string]string{"list": fill.Replace(listPetsQuery), "list by status": fill.Replace(listPetsByStatusQuery)}
}

// OrderQueries are the same for the list of orders.
func OrderQueries(tenantID, after int64) map[string]string {
	fill := listArgs(tenantID, after, "delivered")
	return map[string]string{"list": fill.Replace(listOrdersQuery), "list by status": fill.Replace(listOrdersByStatusQuery)}
}

func listArgs(tenantID, after int64, status string) *strings.Replacer {
	return strings.NewReplacer("$1", strconv.FormatInt(tenantID, 10), "$2", strconv.FormatInt(after, 10), "$3", "21", "$4", "'"+status+"'")
}

// Exec runs a statement that no method of DB runs.
func Exec(ctx context.Context, d *DB, query string) error {
	_, err := d.pg.Exec(ctx, query)
	return err
}
