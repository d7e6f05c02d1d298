// Package doctor holds the command that checks the health of the database and the servers.
package doctor

import (
	"context"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
)

// NewCmd returns the command doctor.
func NewCmd(f *cmdutil.Factory) *cobra.Command {
	return cmdutil.SetColumns(f.ReadCommand(&cobra.Command{
		Use:   "doctor",
		Short: "Check the health of the database and the servers",
		Long: `Check that the database answers and is migrated, what your role is, that the
clocks agree, and that servers connect with no more rights than they need. Also
show which servers are alive, where rate limits are counted (in Redis, or in
Postgres while Redis is down), what servers report of themselves, whether they
record usage, which requests ended in 5xx, how many connections Postgres has,
whether it archives its log, whether the servers have the key that webhooks
need, and whether old rows are removed.

Each line is ok, warn, fail or skip. A check is skipped if your role may not
run it or the schema is too old for it. Lines that warn or fail have advice.
The exit code is 1 if a check fails.`,
		Example: `  petstorectl doctor
  petstorectl doctor -o json | jq -r '.[] | select(.status != "ok") | .advice'`,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), f) },
	}), View.Names())
}

func run(ctx context.Context, f *cmdutil.Factory) error {
	findings, err := check(ctx, f)
	if err != nil {
		return err
	}
	if p := f.Printer(); p.Format == "table" && !p.Whole() {
		err = printFindings(f, findings)
	} else {
		err = cmdutil.PrintList(f, View, findings)
	}
	if err != nil {
		return err
	}
	for _, f := range findings {
		if f.status == statusFail {
			return &cmdutil.Error{Code: cmdutil.ExitFailed, Message: "check failed: " + f.check}
		}
	}
	return nil
}

// The results of a check.
const (
	statusOK   = "ok"
	statusWarn = "warn"
	statusFail = "fail"
	// statusSkip: the role may not run the check, or the schema lacks what it needs.
	statusSkip = "skip"
)

// Finding is the result of one check.
type Finding struct {
	check, status, detail string
	// advice says what to do; it is empty if the check is ok.
	advice string
}

// View shows a finding.
var View = output.View[Finding]{
	{Name: "check", Value: func(f Finding) any { return f.check }, InList: true},
	{Name: "status", Value: func(f Finding) any { return f.status }, InList: true},
	{Name: "detail", Value: func(f Finding) any { return f.detail }, InList: true},
	{Name: "advice", Value: func(f Finding) any { return f.advice }, InList: true},
}

// printFindings prints each finding in as many lines as it needs, and the advice below it.
func printFindings(f *cmdutil.Factory, findings []Finding) error {
	const indent = 16
	for _, finding := range findings {
		body := text.WrapSoft(output.Clean(finding.detail), f.Width-indent)
		if finding.advice != "" {
			body += "\n" + text.WrapSoft("→ "+output.Clean(finding.advice), f.Width-indent)
		}
		head := f.Colors.Status(finding.status) + strings.Repeat(
			" ",
			6-len(finding.status),
		) + text.Pad(
			finding.check,
			10,
			' ',
		)
		for line := range strings.SplitSeq(body, "\n") {
			if _, err := io.WriteString(f.Out, strings.TrimRight(head+line, " ")+"\n"); err != nil {
				return err
			}
			head = strings.Repeat(" ", indent)
		}
	}
	return nil
}
