package store

import (
	"context"
	"strconv"
	"strings"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/plans"
)

// AssignPlan assigns a plan for good, at any instant, and returns the tenant before and after it.
func (d Tenants) AssignPlan(
	ctx context.Context, by audit.By, tenant, plan string, own *plans.Quota, at time.Time,
) (before, after plans.Tenant, err error) {
	done, err := Timelines(d).Assign(ctx, by, NewAssignment{Tenant: tenant, Kind: plans.Assigned, Plan: plan, Own: own, From: at})
	if err != nil {
		return before, after, err
	}
	after = done.Tenant
	if before = after; !done.Unchanged {
		before.Plan, before.Quota, before.Assignment = done.Was.Plan, done.Was.Quota, done.Was.Assignment
	}
	return before, after, nil
}

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
