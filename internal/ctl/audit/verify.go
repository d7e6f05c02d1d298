package audit

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
)

func newCmdVerify(f *cmdutil.Factory) *cobra.Command {
	verifier := &audit.Verifier{}
	cmd := cmdutil.OutputCommand(f, &cobra.Command{
		Use:   "verify",
		Short: "Check that no entry was changed, removed or inserted",
		Long: `Check that no entry of the audit trail was changed, removed or inserted: each
holds the SHA-256 of the one before it. The hashes are computed here, not in the
database. The exit code is 1 if the trail is broken; the first fault is named.

Old entries may have been removed by their age; an entry says which.

The owner of the database can write the whole trail anew, with new hashes. To
notice that, note the printed checkpoint elsewhere and give it later: the trail
must still contain that entry, and so all entries before it.`,
		Example: `  petstorectl audit verify
  petstorectl audit verify -o json | jq -r .checkpoint >> /mnt/elsewhere/checkpoints
  petstorectl audit verify --checkpoint "$(tail -n 1 /mnt/elsewhere/checkpoints)"`,
		RunE: f.Read(func(ctx context.Context, db *store.DB) error { return runVerify(ctx, f, db, verifier) }),
	})
	cmdutil.ParsedFlag(
		cmd,
		&verifier.Noted,
		"checkpoint",
		"",
		"an entry that was noted before, as `NUMBER:HASH`",
		func(text string) (*audit.Checkpoint, error) {
			c, err := audit.ParseCheckpoint(text)
			return &c, err
		},
	)
	return cmdutil.SetColumns(cmd, VerifyView.Names())
}

// verification is the result: the last intact entry, and the first fault.
type verification struct {
	last   audit.Checkpoint
	at     time.Time
	intact int64
	fault  *audit.Fault
}

// VerifyView shows the result of audit verify.
var VerifyView = output.View[verification]{
	{Name: "state", Value: func(v verification) any {
		if v.fault != nil {
			return "broken"
		}
		return "intact"
	}},
	{Name: "intact_entries", Value: func(v verification) any { return v.intact }},
	{Name: "last_at", Value: func(v verification) any { return v.at }},
	{Name: "checkpoint", Value: func(v verification) any {
		if v.last.Number == 0 {
			return ""
		}
		return v.last.String()
	}},
	{Name: "fault_number", Value: func(v verification) any { return output.NumberOrNil(v.found().Number) }},
	{Name: "fault", Value: func(v verification) any { return v.found().What }},
}

// found is the fault, the zero Fault for none.
func (v verification) found() audit.Fault {
	if v.fault == nil {
		return audit.Fault{}
	}
	return *v.fault
}

func runVerify(ctx context.Context, f *cmdutil.Factory, db *store.DB, verifier *audit.Verifier) error {
	fault, err := db.Audit.Verify(ctx, verifier)
	if err != nil {
		return err
	}
	v := verification{fault: fault}
	v.last, v.at = verifier.Last()
	v.intact = max(0, v.last.Number-verifier.Begin.Number)
	if err := output.Item(f.Printer(), VerifyView, v); err != nil {
		return err
	}
	return v.failure()
}

// failure is the error for a broken trail: what is wrong, and since when.
func (v verification) failure() error {
	if v.fault == nil {
		return nil
	}
	e := &cmdutil.Error{
		Code:    cmdutil.ExitFailed,
		Message: "the audit trail is broken: " + v.fault.What,
		Hint:    "no entry is intact",
	}
	if v.last.Number > 0 {
		e.Hint = "entries up to " + output.Text(v.last.Number) + ", of " + output.Text(v.at) + ", are intact"
	}
	return e
}
