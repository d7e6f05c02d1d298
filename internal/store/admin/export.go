package admin

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"strings"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/tenants"
)

// TenantExport is the content of an export of a tenant.
type TenantExport struct {
	Format   string       `json:"format"`
	TenantID int64        `json:"tenant_id"`
	Tenant   string       `json:"tenant"`
	At       time.Time    `json:"exported_at"`
	Files    []ExportFile `json:"files"`
}

// ExportFile has the rows of a table, each a line of JSON.
type ExportFile struct {
	Name string `json:"name"`
	Rows int64  `json:"rows"`
	Size int64  `json:"bytes"`
}

// tenantExportFormat is the name of the export's format.
const tenantExportFormat = "petstore-tenant/1"

// exportPage is the number of rows in memory at a time.
const exportPage = 1000

// Export passes all data of a tenant to begin and, file by file, to the writers that open returns.
// The data is of one instant, and has no secrets and no digests. Memory holds one page. It returns
// plans.ErrTenantNotFound or ErrTenantErased. Errors of begin, open and the writers are returned
// unchanged.
func (d TenantData) Export(
	ctx context.Context, tenant string, begin func(TenantExport) error, open func(ExportFile) (io.Writer, error),
) (e TenantExport, err error) {
	defer pgconn.Wrap(&err, "export tenant")
	err = d.db.LongTx(ctx, func(ctx context.Context, tx pgconn.Tx) error {
		if e, err = beginExport(ctx, tx, tenant); err != nil {
			return err
		}
		if err := begin(e); err != nil {
			return err
		}
		for i, t := range tenantTables {
			w, err := open(e.Files[i])
			if err != nil {
				return err
			}
			if err := t.write(ctx, tx, e.TenantID, w); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
		}
		return nil
	})
	return e, err
}

// beginExport measures the files: an archive has the size of a file before its content.
func beginExport(ctx context.Context, tx pgconn.Tx, tenant string) (TenantExport, error) {
	if _, err := tx.Exec(ctx, `set transaction isolation level repeatable read, read only`); err != nil {
		return TenantExport{}, err
	}
	t, err := tenants.Get(ctx, tx, tenant, sql.NullTime{})
	if err == nil && t.Erased() {
		err = plans.ErrTenantErased
	}
	if err != nil {
		return TenantExport{}, err
	}
	e := TenantExport{Format: tenantExportFormat, TenantID: t.ID, Tenant: t.Name}
	// Row-level security then shows this tenant's rows.
	if err := tx.Get(
		ctx,
		&e.At,
		`select now() from set_config('petstore.tenant_id', $1, true)`,
		fmt.Sprint(t.ID),
	); err != nil {
		return TenantExport{}, err
	}
	e.At = e.At.UTC()
	for _, table := range tenantTables {
		var size struct{ Rows, Size int64 }
		err := tx.Get(
			ctx,
			&size,
			`select count(*) as rows, coalesce(sum(octet_length(line::text) + 1), 0)::bigint as size from (`+
				table.lines(
					t.ID,
					"",
				)+`) l`,
		)
		if err != nil {
			return TenantExport{}, fmt.Errorf("%s: %w", table.name, err)
		}
		e.Files = append(e.Files, ExportFile{Name: table.name + ".jsonl", Rows: size.Rows, Size: size.Size})
	}
	return e, nil
}

// lines is the query of the lines. A cursor takes no parameters.
func (t tenantTable) lines(tenantID int64, order string) string {
	return fmt.Sprintf(`select row_to_json(r) as line from (select %s from %s t where t.%s = %d%s) r`,
		strings.Join(t.columns, ", "), t.name, t.tenantColumn(), tenantID, order)
}

func (t tenantTable) write(ctx context.Context, tx pgconn.Tx, tenantID int64, w io.Writer) error {
	order := ""
	if t.order != "" {
		order = " order by " + t.order
	}
	if _, err := tx.Exec(ctx, `declare export no scroll cursor for `+t.lines(tenantID, order)); err != nil {
		return err
	}
	for {
		var page []string
		if err := tx.Select(ctx, &page, fmt.Sprintf(`fetch %d from export`, exportPage)); err != nil {
			return err
		}
		for _, line := range page {
			if _, err := io.WriteString(w, line+"\n"); err != nil {
				return err
			}
		}
		if len(page) < exportPage {
			_, err := tx.Exec(ctx, `close export`)
			return err
		}
	}
}
