// Package retention holds the commands about how long what is kept for a time is kept.
package retention

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
)

// NewCmd returns the command retention.
func NewCmd(f *cmdutil.Factory) *cobra.Command {
	return cmdutil.NewGroup("retention", "Manage how long old things are kept", newCmdList(f), newCmdSet(f), newCmdRun(f))
}

// View shows how long a kind is kept.
var View = output.View[store.RetentionRule]{
	{Name: "kind", InList: true, Value: func(r store.RetentionRule) any { return r.Kind }},
	{Name: "keep", InList: true, Value: func(r store.RetentionRule) any { return length(r.Keep) }},
	{Name: "least", InList: true, Value: func(r store.RetentionRule) any { return length(r.Least) }},
	{Name: "begins_at", InList: true, Value: func(r store.RetentionRule) any { return r.BeginsAt }},
	{Name: "last_run_at", InList: true, Value: func(r store.RetentionRule) any { return r.RunAt }},
	{Name: "removed", InList: true, Value: func(r store.RetentionRule) any { return r.Removed }},
	{Name: "waits_for", InList: true, Value: func(r store.RetentionRule) any { return waitsFor(r) }},
}

// RemovedView shows what was removed.
var RemovedView = output.View[store.Removed]{
	{Name: "kind", InList: true, Value: func(r store.Removed) any { return r.Kind }},
	{Name: "rows", InList: true, Value: func(r store.Removed) any { return r.Rows }},
}

// length is a length of time as the flags take it.
func length(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d%day == 0:
		return strconv.FormatInt(int64(d/day), 10) + "d"
	case d%time.Hour == 0:
		return strconv.FormatInt(int64(d/time.Hour), 10) + "h"
	}
	return d.String()
}

func waitsFor(r store.RetentionRule) string {
	if r.WaitsFor.IsZero() {
		return ""
	}
	return r.WaitsFor.Format("2006-01")
}

// kinds are those whose time can be set.
var kinds = []string{store.RetentionAudit, store.RetentionBans, store.RetentionKeys, store.RetentionFailed, store.RetentionUsage}

func explain(err error, kind string) error {
	switch {
	case errors.Is(err, store.ErrNoRetention):
		return &cmdutil.Error{Code: cmdutil.ExitNotFound, Message: "there is no kind " + kind, Hint: "the kinds are " + strings.Join(kinds, ", ")}
	case errors.Is(err, store.ErrRetentionTooShort):
		return &cmdutil.Error{Code: cmdutil.ExitUsage, Message: kind + " can't be kept that short", Hint: "see the column least of petstorectl retention list"}
	case errors.Is(err, store.ErrRetentionBusy):
		return &cmdutil.Error{Code: cmdutil.ExitRefused, Message: "a server removes what is old at this moment", Hint: "try again later"}
	case errors.Is(err, store.ErrRetentionLocked):
		return &cmdutil.Error{
			Code: cmdutil.ExitRefused, Message: "hours are summed, but stay: other sessions read usage, such as pg_dump",
			Hint: "try again when they have ended; servers try every minute",
		}
	}
	return err
}
