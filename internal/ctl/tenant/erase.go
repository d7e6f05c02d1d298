package tenant

import (
	"archive/tar"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/admin"
)

func newCmdErase(f *cmdutil.Factory) *cobra.Command {
	var name string
	cmd := f.ChangeCommand(&cobra.Command{
		Use:   "erase TENANT",
		Short: "Erase a suspended tenant for ever: all but what is billed",
		Long: `Erase a tenant that is suspended: its animals, orders, keys and bans, its name,
e-mail address, contact and notes, and the records of its requests. Nobody can
undo this. What is billed stays under its number, and the audit trail, which
holds no names. The tenant is named erased-NUMBER from then on.

The keys, the name and the contact go at once, the rest in batches. If that is
interrupted, run the command again with the new name.

The output is the receipt, as JSON unless -o says otherwise: what was removed
and what stays, by table, and the number and the hash of the audit entry.

The command asks for the name; scripts need --yes. Only the owner of the tables
may run it.`,
		Example: `  petstorectl tenant erase acme --dry-run
  petstorectl tenant erase acme --reason "ticket 88" > receipt-88.json
  petstorectl tenant erase erased-12 --yes # goes on, or prints the receipt`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runErase(cmd.Context(), f, name) },
	}, cmdutil.TenantArg(f, &name))
	f.YesFlag(cmd)
	return cmdutil.ForOwner(cmdutil.SetColumns(cmd, ErasureView.Names()))
}

// ErasureView shows a receipt.
var ErasureView = output.View[admin.Erasure]{
	{Name: "tenant_id", Value: func(e admin.Erasure) any { return e.TenantID }},
	{Name: "tenant", Value: func(e admin.Erasure) any { return e.Name }},
	{Name: "erased_at", Value: func(e admin.Erasure) any { return e.ErasedAt }},
	{Name: "removed", Value: func(e admin.Erasure) any { return counts(e.Removed) }},
	{Name: "stay", Value: func(e admin.Erasure) any { return counts(e.Stay) }},
	{Name: "redacted_lines", Value: func(e admin.Erasure) any { return e.Lines }},
	{Name: "audit_number", Value: func(e admin.Erasure) any { return output.NumberOrNil(e.Number) }},
	{Name: "audit_hash", Value: func(e admin.Erasure) any { return hex.EncodeToString(e.Hash) }},
}

// counts are numbers of rows by table, as JSON.
func counts(rows map[string]int64) json.RawMessage {
	text, err := json.Marshal(rows)
	if err != nil {
		return nil // Encoding a map of strings to numbers never fails.
	}
	return text
}

func runErase(ctx context.Context, f *cmdutil.Factory, name string) error {
	f.CallTimeout = cmdutil.NoTimeLimit
	by, db, err := f.BeginChange(ctx)
	if err != nil {
		return err
	}
	t, err := db.Tenants.Get(ctx, name)
	if err != nil {
		return explainErase(ctx, f, name, err)
	}
	by.DryRun = true
	e, err := db.TenantData.Erase(ctx, by, numbered(t), nil)
	if err != nil {
		return explainErase(ctx, f, name, err)
	}
	erasedBefore := e.Number > 0
	if !erasedBefore && t.BillingRef == "" {
		missing, err := db.Events.Missing(ctx, t.ID, f.Now().Truncate(time.Hour).Add(time.Hour))
		if err != nil {
			return explainErase(ctx, f, name, err)
		}
		for _, m := range missing {
			f.Messagef("not sent to %s: nobody can set a billing reference afterwards", cmdutil.MissingText(m))
		}
	}
	if !f.DryRun {
		if !erasedBefore {
			if err := cmdutil.Ask(ctx, f, question(t, e)); err != nil {
				return err
			}
		}
		by.DryRun = false
		if e, err = erase(ctx, f, db, by, t, e); err != nil {
			return err
		}
	}
	if erasedBefore {
		f.Messagef("tenant %d was erased at %s", e.TenantID, output.Text(e.ErasedAt))
	} else {
		f.Changedf("erased tenant %s: removed %s; it is %s from now on", t.Name, output.Count(e.Rows(), "row"), e.Name)
	}
	p := f.Printer()
	if f.Output == "" && p.Columns == nil {
		p.Format = "json"
	}
	return output.Item(p, ErasureView, e)
}

// numbered names the tenant by its number, in case another tenant gets the name meanwhile.
func numbered(t plans.Tenant) string { return fmt.Sprint("#", t.ID) }

// question shows what would be removed. It can't be undone, so the name must be typed, even if the
// tenant was given by its number.
func question(t plans.Tenant, e admin.Erasure) (q cmdutil.Question) {
	for _, table := range slices.Sorted(maps.Keys(e.Removed)) {
		q.Facts = append(q.Facts, fmt.Sprintf("%s: %s", table, output.Count(e.Removed[table], "row")))
	}
	q.Text = fmt.Sprintf("Erase tenant %s, number %d, for ever? Nobody can undo this.", t.Name, t.ID)
	q.Word = t.Name
	return q
}

func erase(
	ctx context.Context,
	f *cmdutil.Factory,
	db *store.DB,
	by audit.By,
	t plans.Tenant,
	planned admin.Erasure,
) (admin.Erasure, error) {
	add, end := f.Progress("removing rows", int(planned.Rows()))
	defer end()
	e, err := db.TenantData.Erase(ctx, by, numbered(t), func(rows int) {
		for range rows {
			add()
		}
	})
	if err != nil && e.TenantID != 0 {
		f.Messagef(
			"tenant %d is erased, but not all of its rows are removed: run petstorectl tenant erase %s",
			e.TenantID,
			e.Name,
		)
	}
	return e, explainErase(ctx, f, t.Name, err)
}

func explainErase(ctx context.Context, f *cmdutil.Factory, name string, err error) error {
	if errors.Is(err, plans.ErrTenantNotSuspended) {
		return cmdutil.RefusedErrorf(
			"tenant %s is not suspended: its keys are admitted",
			name,
		).WithHint("suspend it first: petstorectl tenant suspend " + name)
	}
	return f.Explain(ctx, err, cmdutil.Subject{Tenant: name})
}

func newCmdExport(f *cmdutil.Factory) *cobra.Command {
	var name, file string
	cmd := cmdutil.DatabaseCommand(f, &cobra.Command{
		Use:   "export TENANT",
		Short: "Export everything of a tenant, as a tar archive",
		Long: `Write everything that is stored about a tenant as a tar archive: a manifest with
the number of rows, then a file for each table, with a line of JSON for each
row. The archive shows one instant. Rows are written as they arrive, however
many there are.

There are no keys, no digests, and nothing about staff or other tenants. Read
reasons and notes before you hand them over.

Only the owner of the tables and petstore_backup may run it.`,
		Example: `  petstorectl tenant export acme --file acme.tar
  petstorectl tenant export acme | tar -xO acme/pets.jsonl | jq .name`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file == "" && f.OutTTY {
				return cmdutil.UsageErrorf("the export is an archive, and stdout is a terminal").WithHint(
					"give --file FILE, or send stdout to a file",
				)
			}
			return runExport(cmd.Context(), f, name, file)
		},
	}, cmdutil.TenantArg(f, &name))
	cmd.Flags().StringVar(&file, "file", "", "write to `FILE`, which must not exist, in place of stdout")
	return cmdutil.ForOwner(cmd)
}

func runExport(ctx context.Context, f *cmdutil.Factory, name, path string) (err error) {
	f.CallTimeout = cmdutil.NoTimeLimit
	db, err := f.DB(ctx)
	if err != nil {
		return err
	}
	out := f.Out
	if path != "" {
		//nolint:gosec // the person's own choice
		file, openErr := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if openErr != nil {
			return cmdutil.UsageErrorf("can't write the file: %v", openErr)
		}
		defer func() {
			if closeErr := file.Close(); err == nil {
				err = closeErr
			}
			if err != nil {
				_ = os.Remove(path) // The returned error says more.
			}
		}()
		out = file
	}
	archive := &archive{Writer: tar.NewWriter(out)}
	e, err := db.TenantData.Export(ctx, name, archive.begin, archive.open)
	if err == nil {
		err = archive.Close()
	}
	if err != nil {
		return f.Explain(ctx, err, cmdutil.Subject{Tenant: name})
	}
	rows := int64(0)
	for _, file := range e.Files {
		rows += file.Rows
	}
	f.Messagef("exported tenant %s: %s in %d files", e.Tenant, output.Count(rows, "row"), len(e.Files))
	return nil
}

// archive is a tar archive with the files of an export in one folder.
type archive struct {
	*tar.Writer

	export admin.TenantExport
}

// begin writes the manifest.
func (a *archive) begin(e admin.TenantExport) error {
	a.export = e
	text, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return err
	}
	w, err := a.open(admin.ExportFile{Name: "manifest.json", Size: int64(len(text)) + 1})
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	return err
}

func (a *archive) open(f admin.ExportFile) (io.Writer, error) {
	return a, a.WriteHeader(&tar.Header{
		Name:     a.export.Tenant + "/" + f.Name,
		Size:     f.Size,
		Mode:     0o600,
		ModTime:  a.export.At.Truncate(time.Second),
		Typeflag: tar.TypeReg,
	})
}
