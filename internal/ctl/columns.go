package ctl

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/doctor"
	"petstore.example/internal/ctl/login"
	"petstore.example/internal/ctl/staff"
	"petstore.example/internal/ctl/tail"
	"petstore.example/internal/ctl/tenant"
	"petstore.example/internal/ctl/undo"
	"petstore.example/internal/ctl/usage"
)

// columns are the names of what commands print that do not say so themselves: the members in JSON. Those of plan simulate and usage show
// depend on their flags, and those of why on its argument.
func columns() map[string][]string {
	var now time.Time // statuses depend on it, names do not
	identity := login.WhoamiView.Names()
	return map[string][]string{
		"tenant erase": tenant.ErasureView.Names(),
		"usage export": usage.LineView.Names(), "usage close": usage.MonthView.Names(), "usage verify": usage.VerifyView.Names(),
		"tail": tail.View.Names(), "doctor": doctor.View.Names(), "version": buildView.Names(),
		"undo":       undo.View.Names(),
		"staff list": staff.View(now).Names(), "staff add": staff.IssuedView.Names(), "staff rotate": staff.IssuedView.Names(), "staff remove": staff.View(now).Names(),
		"login": identity, "whoami": identity,
	}
}

// setColumns lets --columns of each command know what the command prints.
func setColumns(root *cobra.Command) {
	for path, names := range columns() {
		cmd, _, err := root.Find(strings.Fields(path))
		if err == nil {
			cmdutil.SetColumns(cmd, names)
		}
	}
}
