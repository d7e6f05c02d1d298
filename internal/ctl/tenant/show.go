package tenant

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/keys"
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

// Details is a tenant with its number of active keys, and the banned ones.
type Details struct {
	plans.Tenant
	// activeKeys is nil if the login may not read keys.
	activeKeys any
	banned     []keys.Key
}

// DetailsView shows a single tenant.
var DetailsView = append(
	output.Map(View, func(d Details) plans.Tenant { return d.Tenant }),
	output.Column[Details]{Name: "active_keys", Value: func(d Details) any { return d.activeKeys }},
	output.Column[Details]{Name: "banned_keys", Value: func(d Details) any {
		ids := make([]string, len(d.banned))
		for i, k := range d.banned {
			ids[i] = k.ID
		}
		return ids
	}},
	output.Column[Details]{Name: "banned_until", Value: func(d Details) any {
		var last time.Time
		for _, k := range d.banned {
			last = slices.MaxFunc([]time.Time{last, k.Ban.EndsAt}, time.Time.Compare)
		}
		return last
	}},
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
	valid, err := db.Keys.CountActive(ctx, t.ID, o.Now())
	if err == nil {
		d.banned, err = store.Collect(db.Keys.List(ctx, store.KeyFilter{Tenant: t.Name, Status: keys.Banned}, o.Now()))
		d.activeKeys = int64(valid - len(d.banned))
	}
	if err != nil && !store.IsForbidden(err) {
		return err
	}
	return output.Item(o.Printer(), DetailsView, d)
}
