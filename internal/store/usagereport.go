package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/store/pgconn"
)

// UsageBy says what each row of a usage report stands for.
type UsageBy string

// The groupings of a usage report.
const (
	ByTenantAndPlan UsageBy = ""
	ByTenant        UsageBy = "tenant"
	ByPlan          UsageBy = "plan"
	ByKey           UsageBy = "key"
	ByDay           UsageBy = "day"
	ByHour          UsageBy = "hour"
)

// UsageQuery selects recorded usage from From up to, but not including, To. Both are whole hours.
type UsageQuery struct {
	// Tenant is a tenant's name, empty for all.
	Tenant   string
	From, To time.Time
	By       UsageBy
	Limit    int
}

// UsageRow is one line of a usage report. Only the sums and the columns of the grouping are set.
type UsageRow struct {
	Tenant string `db:"tenant"`
	// Plan is the one in force at the time of the requests, not the tenant's current one.
	Plan  string `db:"plan"`
	KeyID string `db:"key_id"`
	// KeyName is empty if the login may not read keys.
	KeyName string
	// At is the beginning of the UTC day or hour.
	At       time.Time `db:"at"`
	Admitted int64     `db:"admitted"`
	Refused  int64     `db:"refused"`
}

// usageColumns are the columns of each grouping and its order.
var usageColumns = map[UsageBy]struct{ columns, groupBy, orderBy string }{
	ByTenantAndPlan: {`t.name as tenant, p.name as plan`, `t.name, p.name, p.position`, `t.name, p.position`},
	ByTenant:        {`t.name as tenant`, `t.name`, `t.name`},
	ByPlan:          {`p.name as plan`, `p.name, p.position`, `p.position`},
	ByKey:           {`t.name as tenant, u.key_id`, `t.name, u.key_id`, `t.name, admitted desc, u.key_id`},
	ByDay:           {`date_trunc('day', u.hour, 'UTC') as at`, `date_trunc('day', u.hour, 'UTC')`, `at`},
	ByHour:          {`u.hour as at`, `u.hour`, `at`},
}

// Report sums recorded usage, or returns plans.ErrTenantNotFound. Servers record what they admitted and refused
// within about a second.
func (d Usage) Report(ctx context.Context, q UsageQuery) ([]UsageRow, error) {
	group, ok := usageColumns[q.By]
	if !ok {
		return nil, errors.New("report usage: no such grouping")
	}
	if err := checkTenant(ctx, d.db, q.Tenant); err != nil {
		return nil, fmt.Errorf("report usage: %w", err)
	}
	var rows []UsageRow
	err := d.db.Select(ctx, &rows, `
		select `+group.columns+`, sum(u.admitted)::bigint as admitted, sum(u.refused)::bigint as refused
		from usage_hourly u
		join tenants t on t.id = u.tenant_id
		join tenant_plans a on a.tenant_id = u.tenant_id and a.id = u.assignment
		join price_list p on p.name = a.plan
		where u.hour >= $1 and u.hour < $2 and ($3 = '' or t.name = $3)
		group by `+group.groupBy+` order by `+group.orderBy+` limit $4`, q.From, q.To, q.Tenant, q.Limit)
	if err != nil {
		return nil, fmt.Errorf("report usage: %w", err)
	}
	for i := range rows {
		if !rows[i].At.IsZero() {
			rows[i].At = rows[i].At.UTC()
		}
	}
	if q.By == ByKey {
		err = d.nameKeys(ctx, rows)
	}
	return rows, err
}

// nameKeys sets the names of the keys, unless the login may not read them, as in billing.
func (d Usage) nameKeys(ctx context.Context, rows []UsageRow) error {
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.KeyID
	}
	var keys []struct{ ID, Name string }
	err := d.db.Select(ctx, &keys, `select id, name from api_keys where id = any($1)`, pq.Array(ids))
	if pgconn.IsForbidden(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("name keys: %w", err)
	}
	names := make(map[string]string, len(keys))
	for _, k := range keys {
		names[k.ID] = k.Name
	}
	for i := range rows {
		rows[i].KeyName = names[rows[i].KeyID]
	}
	return nil
}
