package store_test

import (
	"testing"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/plans"
	"petstore.example/internal/store/people"
	"petstore.example/internal/store/undo"
	"petstore.example/internal/test/assert"
)

// TestUndoValues: they are written with their entry, by nobody else and not again. They are removed after 30 days, and with their tenant.
func TestUndoValues(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.tenant(t, "acme", plans.Pro)
	email := "jo@example.com"
	_, _, err := o.Tenants.Edit(t.Context(), jo, "acme", people.TenantEdit{Email: &email})
	assert.NoError(t, err)
	const values = `select coalesce(string_agg(concat_ws(' ', number, first_number, tenant_id, before, after), '; ' order by number), '') from undo_values`
	if got, want := o.text(t, values), `1 1 1; 2 2 1 {"email": ""} {"email": "jo@example.com"}`; got != want {
		t.Errorf("values %s, want %s", got, want)
	}
	sam := connect(t, o.SupportURL)
	for _, statement := range []string{
		`insert into undo_values (number, first_number) values (3, 3)`,
		`insert into undo_values (number, first_number) values (2, 2) on conflict (number) do update set before = '{}'`,
		`update undo_values set before = '{}'`,
		`delete from undo_values`,
	} {
		if _, err := sam.ExecContext(t.Context(), statement); err == nil {
			t.Errorf("%s succeeded", statement)
		}
	}
	n, err := o.api.Audit.PruneUndoValues(t.Context(), time.Now().Add(time.Hour), 9)
	assert.Result(t, n, err, 0, "new values were removed")
	o.exec(t, `update undo_values set at = now() - interval '31 days' where number = 1`)
	n, err = o.api.Audit.PruneUndoValues(t.Context(), time.Now().Add(-undo.MaxAge), 9)
	assert.Result(t, n, err, 1, "old values were removed")
	o.exec(t, `begin; delete from tenant_plans; delete from tenants; commit`)
	if got := o.text(t, values); got != "" {
		t.Errorf("the tenant is erased, and %s is left", got)
	}
}

// TestUndoOfOldEntries: neither an entry of more than 30 days nor one whose values were removed is taken back.
func TestUndoOfOldEntries(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.tenant(t, "acme", plans.Pro)
	email := "jo@example.com"
	_, _, err := o.Tenants.Edit(t.Context(), jo, "acme", people.TenantEdit{Email: &email})
	assert.NoError(t, err)
	o.exec(t, `delete from undo_values`)
	if _, err := o.Undos.Do(t.Context(), audit.By{Actor: "jo"}, []int64{2}, noon); err == nil || err.Error() != "undo: entry 2 (tenant.edit) can't be undone: the former values are no longer kept" {
		t.Errorf("without values: %v", err)
	}
	o.exec(t, `alter table audit_entries disable trigger user; update audit_entries set at = at - interval '31 days'; alter table audit_entries enable trigger user`)
	if _, err := o.Undos.Do(t.Context(), audit.By{Actor: "jo"}, []int64{2}, noon); err == nil || err.Error() != "undo: entry 2 (tenant.edit) can't be undone: it is older than 30 days" {
		t.Errorf("an old entry: %v", err)
	}
}
