package usage

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
	"petstore.example/internal/usage/closing"
)

type proofOptions struct {
	*cmdutil.Factory

	tenant string
	month  cmdutil.Period
}

func newCmdProof(f *cmdutil.Factory) *cobra.Command {
	o := &proofOptions{Factory: f}
	return cmdutil.ClosedMonthFlag(f, cmdutil.OutputCommand(f, &cobra.Command{
		Use:   "proof TENANT --month MONTH",
		Short: "Print a tenant's proof of its lines in a closed month",
		Long: `Print what a tenant needs to check its own lines of a closed month against the
month's root: the lines, their hashes, and the path from them to the root. It
shows that these are all of its lines, and nothing of other tenants.
docs/billing.md has a program that checks it.`,
		Example: `  petstorectl usage proof acme --month 2026-10 -o json > acme-2026-10.json
  python3 check.py ROOT < acme-2026-10.json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runProof(cmd.Context(), o) },
	}, cmdutil.TenantArg(f, &o.tenant)), &o.month)
}

// ProofView shows a proof. lines are the canonical forms.
var ProofView = output.View[store.Proof]{
	{Name: "month", Value: func(p store.Proof) any { return p.Month.Month.Format("2006-01") }},
	{Name: "tenant_id", Value: func(p store.Proof) any { return p.TenantID }},
	{Name: "tenant", Value: func(p store.Proof) any { return p.Tenant }},
	{Name: "format", Value: func(p store.Proof) any { return p.Month.Format }},
	{Name: "root", Value: func(p store.Proof) any { return p.Month.Root.String() }},
	{Name: "tenants", Value: func(p store.Proof) any { return p.Month.Tenants }},
	{Name: "index", Value: func(p store.Proof) any { return p.Index }},
	{Name: "leaf", Value: func(p store.Proof) any { return p.Leaf.String() }},
	{Name: "path", Value: func(p store.Proof) any { return texts(p.Path, closing.Hash.String) }},
	{Name: "sha256", Value: func(p store.Proof) any {
		return texts(p.Forms, func(form string) string { return closing.Sum(form).String() })
	}},
	{Name: "lines", Value: func(p store.Proof) any { return json.RawMessage("[" + strings.Join(p.Forms, ",") + "]") }},
}

func texts[T any](list []T, text func(T) string) []string {
	all := make([]string, len(list))
	for i, item := range list {
		all[i] = text(item)
	}
	return all
}

func runProof(ctx context.Context, o *proofOptions) error {
	o.CallTimeout = cmdutil.NoTimeLimit
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	proof, err := db.Months.Prove(ctx, o.tenant, o.month.From)
	switch {
	case errors.Is(err, store.ErrMonthOpen):
		return openMonth(o.month)
	case errors.Is(err, store.ErrNoLines):
		return &cmdutil.Error{Code: cmdutil.ExitNotFound, Message: "tenant " + o.tenant + " has no lines in " + o.month.Month(), Hint: "it had no plan then"}
	case errors.Is(err, store.ErrAltered):
		return &cmdutil.Error{
			Code: cmdutil.ExitFailed, Message: "the sealed lines of " + o.month.Month() + " were altered: nothing can be proved",
			Hint: "see: petstorectl usage verify --month " + o.month.Month(),
		}
	case err != nil:
		return o.Explain(ctx, err, cmdutil.Subject{Tenant: o.tenant})
	}
	return output.Item(o.Printer(), ProofView, proof)
}
