package usage

import (
	"context"
	"errors"

	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
	"petstore.example/internal/store/billing"
	"petstore.example/internal/usage/closing"
)

// tenantTotal is the sum of a tenant's lines.
type tenantTotal struct {
	closing.Line

	// numbers are those of the tenant's own lines of the month, void the assignments that are void.
	numbers []closing.Line
	void    map[int64]bool
	ref     string
}

// add adds a line of the tenant.
func (t *tenantTotal) add(l *closing.Line) {
	t.Admitted += l.Admitted
	t.Overage += l.Overage
	switch {
	case l.Corrects == "" && l.From.Before(l.To):
		t.numbers = append(t.numbers, *l)
	case l.Void && l.Corrects == l.Month:
		t.void[l.Assignment] = true
	}
}

// included is the number that was in force last, nil for none.
func (t *tenantTotal) included() (last *int64) {
	for _, l := range t.numbers {
		if !t.void[l.Assignment] {
			last = l.PerMonth
		}
	}
	return last
}

// TenantView shows a line of the export by tenant.
var TenantView = output.View[*tenantTotal]{
	{Name: "month", Value: func(t *tenantTotal) any { return t.Month }},
	{Name: "tenant_id", Value: func(t *tenantTotal) any { return t.TenantID }},
	{Name: "tenant", Value: func(t *tenantTotal) any { return t.Tenant }, InList: true, MinWidth: output.TextWidth},
	{Name: "included", Value: func(t *tenantTotal) any { return t.included() }, InList: true},
	{Name: "admitted", Value: func(t *tenantTotal) any { return t.Admitted }, InList: true},
	{Name: "overage", Value: func(t *tenantTotal) any { return t.Overage }, InList: true},
	{Name: refColumn.Name, Value: func(t *tenantTotal) any { return t.ref }},
}

// printTenants prints a line for each tenant. The lines of a tenant follow each other.
func (o *exportOptions) printTenants(
	ctx context.Context, db *store.DB, month billing.Month,
) (closing.Sums, error) {
	refs, err := o.refs(ctx, db)
	if err != nil {
		return closing.Sums{}, err
	}
	p, v := o.Printer(), TenantView
	if o.Output == "" && p.Filter == nil {
		p.Format = "csv"
	}
	if refs == nil {
		v = v[:len(v)-1]
	}
	out, err := output.NewStream(p, v)
	if err != nil {
		return closing.Sums{}, err
	}
	total, last := closing.NewTotal(), (*tenantTotal)(nil)
	err = db.Months.Lines(ctx, o.query, month.Sealed(), func(l *closing.Line, sum closing.Hash) (err error) {
		if last != nil && last.TenantID != l.TenantID {
			err, last = out.Add(last), nil
		}
		if last == nil {
			head := closing.Line{Month: l.Month, TenantID: l.TenantID, Tenant: l.Tenant}
			last = &tenantTotal{Line: head, void: map[int64]bool{}, ref: refs[l.TenantID]}
		}
		last.add(l)
		total.Add(l, sum)
		return err
	})
	if err == nil && last != nil {
		err = out.Add(last)
	}
	return total.Sums(), errors.Join(err, out.Close())
}
