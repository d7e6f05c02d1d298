package main

import (
	"context"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"
)

type doctorOptions struct {
	*factory
}

func newCmdDoctor(f *factory, runF func(context.Context, *doctorOptions) error) *cobra.Command {
	if runF == nil {
		runF = runDoctor
	}
	o := &doctorOptions{factory: f}
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check the health of the database and the servers",
		Long: `Check that the database answers and is migrated, that the role has the rights it
needs and that the clocks agree. Also show which servers are alive and where
rate limits are counted: in Redis, or in Postgres while Redis is down.

Each line is ok, warn or fail; warn and fail come with advice. The exit code is
1 if a check fails.`,
		Example: `  petstorectl doctor
  petstorectl doctor -o json | jq -r '.[] | select(.status != "ok") | .advice'`,
		Args:              exactArgs(),
		RunE:              func(cmd *cobra.Command, _ []string) error { return runF(cmd.Context(), o) },
		ValidArgsFunction: completeArgs(),
	}
}

func runDoctor(ctx context.Context, o *doctorOptions) error {
	findings, err := o.examine(ctx)
	if err != nil {
		return err
	}
	if o.format() == "table" {
		err = printFindings(o.factory, findings)
	} else {
		err = printList(o.factory, findingView, findings)
	}
	if err != nil {
		return err
	}
	for _, f := range findings {
		if f.status == statusFail {
			return &problem{code: exitFailed, message: "check failed: " + f.check}
		}
	}
	return nil
}

// The results of a check.
const (
	statusOK   = "ok"
	statusWarn = "warn"
	statusFail = "fail"
)

// finding is the result of one check.
type finding struct {
	check, status, detail string
	// advice is what to do, empty where all is well.
	advice string
}

var findingView = view[finding]{
	{name: "check", value: func(f finding) any { return f.check }, short: true},
	{name: "status", value: func(f finding) any { return f.status }, short: true},
	{name: "detail", value: func(f finding) any { return f.detail }, short: true},
	{name: "advice", value: func(f finding) any { return f.advice }, short: true},
}

// printFindings prints a person each finding in as many lines as it takes, and what to do below it.
func printFindings(f *factory, findings []finding) error {
	const indent = 16
	for _, one := range findings {
		body := text.WrapSoft(f.redact(cleanCell(one.detail)), f.streams.width-indent)
		if one.advice != "" {
			body += "\n" + text.WrapSoft("→ "+cleanCell(one.advice), f.streams.width-indent)
		}
		head := text.Pad(one.status, 6, ' ') + text.Pad(one.check, 10, ' ')
		for line := range strings.SplitSeq(body, "\n") {
			if _, err := io.WriteString(f.streams.out, strings.TrimRight(head+line, " ")+"\n"); err != nil {
				return err
			}
			head = strings.Repeat(" ", indent)
		}
	}
	return nil
}
