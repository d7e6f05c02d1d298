package catalog

import (
	"context"
	"fmt"
	"strings"

	"github.com/lib/pq"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store/pgconn"
)

// FilterPetsQuery returns the query of a list by other filters than status alone, and its arguments
// written as in SQL.
func FilterPetsQuery(tenantID int64, p catalog.Page) (query string, args []string) {
	query, values := filterPetsQuery(tenantID, p)
	for _, v := range values {
		switch v := v.(type) {
		case string:
			args = append(args, pq.QuoteLiteral(v))
		default:
			args = append(args, fmt.Sprint(v))
		}
	}
	return query, args
}

// KeyedQueries are the statements that find rows by keys.
func KeyedQueries() map[string]string {
	return map[string]string{
		"list": listPetsQuery, "list by status": listPetsByStatusQuery, "get": getPetQuery,
		"swap": swapPetQuery, "describe": describePetQuery,
		"list orders": listOrdersQuery, "list orders by status": listOrdersByStatusQuery, "get order": getOrderQuery,
		"swap order": swapOrderQuery, "place order": placeOrderQuery,
	}
}

// GenericPlan returns the plan that a connection of the API makes of a statement with parameters,
// and keeps.
func (d Pets) GenericPlan(ctx context.Context, query string) (plan []string, err error) {
	err = d.db.Tx(ctx, func(ctx context.Context, tx pgconn.Tx) error {
		if _, err := tx.Exec(ctx, "prepare planned as "+query+";"); err != nil {
			return err
		}
		var parameters int
		if err := tx.Get(
			ctx,
			&parameters,
			`select cardinality(parameter_types) from pg_prepared_statements where name = 'planned'`,
		); err != nil {
			return err
		}
		nulls := strings.TrimSuffix(strings.Repeat("null, ", parameters), ", ")
		if err := tx.Select(ctx, &plan, "explain (costs off) execute planned ("+nulls+");"); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "deallocate planned;")
		return err
	})
	return plan, err
}
