package tenant

import (
	"archive/tar"
	"context"
	"encoding/json"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
)

type exportOptions struct {
	*cmdutil.Factory

	name, file string
}

func newCmdExport(f *cmdutil.Factory) *cobra.Command {
	o := &exportOptions{Factory: f}
	cmd := cmdutil.DatabaseCommand(f, &cobra.Command{
		Use:   "export TENANT",
		Short: "Export everything of a tenant, as a tar archive",
		Long: `Write everything that is stored of a tenant as a tar archive: a file for each
table, with a line of JSON for each row, and first a manifest with their numbers
of rows. All is as it was at one instant. Rows are written as they arrive,
however many there are.

There are no keys, no digests, and nothing about staff or other tenants. Read
reasons and notes before you hand them over.

Only the owner of the tables and petstore_backup may run it.`,
		Example: `  petstorectl tenant export acme --file acme.tar
  petstorectl tenant export acme | tar -xO acme/pets.jsonl | jq .name`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.file == "" && f.OutTTY {
				return cmdutil.UsageErrorf("the export is an archive, and stdout is a terminal").WithHint("give --file FILE, or send stdout to a file")
			}
			return runExport(cmd.Context(), o)
		},
	}, cmdutil.TenantArg(f, &o.name))
	cmd.Flags().StringVar(&o.file, "file", "", "write to `FILE`, which must not exist, in place of stdout")
	return cmdutil.ForOwner(cmd)
}

func runExport(ctx context.Context, o *exportOptions) (err error) {
	o.CallTimeout = cmdutil.NoTimeLimit
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	out := o.Out
	if o.file != "" {
		file, openErr := os.OpenFile(o.file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if openErr != nil {
			return cmdutil.UsageErrorf("can't write the file: %v", openErr)
		}
		defer func() {
			if closeErr := file.Close(); err == nil {
				err = closeErr
			}
			if err != nil {
				_ = os.Remove(o.file) // The error says more.
			}
		}()
		out = file
	}
	archive := &archive{Writer: tar.NewWriter(out)}
	e, err := db.TenantData.Export(ctx, o.name, archive.begin, archive.open)
	if err == nil {
		err = archive.Close()
	}
	if err != nil {
		return o.Explain(ctx, err, cmdutil.Subject{Tenant: o.name})
	}
	rows := int64(0)
	for _, f := range e.Files {
		rows += f.Rows
	}
	o.Messagef("exported tenant %s: %s in %d files", e.Tenant, output.Count(rows, "row"), len(e.Files))
	return nil
}

// archive is a tar archive with the files of an export in one folder.
type archive struct {
	*tar.Writer

	export store.TenantExport
}

// begin writes the manifest.
func (a *archive) begin(e store.TenantExport) error {
	a.export = e
	text, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return err
	}
	w, err := a.open(store.ExportFile{Name: "manifest.json", Size: int64(len(text)) + 1})
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	return err
}

func (a *archive) open(f store.ExportFile) (io.Writer, error) {
	return a, a.WriteHeader(&tar.Header{
		Name: a.export.Tenant + "/" + f.Name, Size: f.Size, Mode: 0o600, ModTime: a.export.At.Truncate(time.Second), Typeflag: tar.TypeReg,
	})
}
