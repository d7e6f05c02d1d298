package tenant

import (
	"context"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

type showOptions struct {
	*cmdutil.Factory

	name string
}

func newCmdShow(f *cmdutil.Factory) *cobra.Command {
	o := &showOptions{Factory: f}
	return f.ReadCommand(&cobra.Command{
		Use:     "show TENANT",
		Aliases: []string{"get", "view"},
		Short:   "Show a tenant and its number of active keys",
		Example: `  petstorectl tenant show acme
  petstorectl tenant show 2 # its number`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runShow(cmd.Context(), o) },
	}, cmdutil.TenantArg(f, &o.name))
}

// Details is a tenant with its number of active keys.
type Details struct {
	plans.Tenant
	// activeKeys is nil if the login may not read keys.
	activeKeys any
}

// DetailsView shows a single tenant.
var DetailsView = append(
	output.Map(View, func(d Details) plans.Tenant { return d.Tenant }),
	output.Column[Details]{Name: "active_keys", Value: func(d Details) any { return d.activeKeys }},
)

func runShow(ctx context.Context, o *showOptions) error {
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	t, err := db.Tenants.Get(ctx, o.name)
	if err != nil {
		return o.Explain(ctx, err, cmdutil.Subject{Tenant: o.name})
	}
	d := Details{Tenant: t}
	active, err := db.Keys.CountActive(ctx, t.ID, o.Now())
	if err == nil {
		d.activeKeys = int64(active)
	} else if !store.IsForbidden(err) {
		return err
	}
	return output.Item(o.Printer(), DetailsView, d)
}
