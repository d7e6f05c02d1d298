package ctl

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/audit"
	"petstore.example/internal/ctl/ban"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/doctor"
	"petstore.example/internal/ctl/key"
	"petstore.example/internal/ctl/limits"
	"petstore.example/internal/ctl/login"
	"petstore.example/internal/ctl/migrate"
	"petstore.example/internal/ctl/plan"
	"petstore.example/internal/ctl/retention"
	"petstore.example/internal/ctl/staff"
	"petstore.example/internal/ctl/tail"
	"petstore.example/internal/ctl/tenant"
	"petstore.example/internal/ctl/undo"
	"petstore.example/internal/ctl/usage"
)

// columns are the names of what each command prints: the members in JSON. Those of plan simulate and usage show depend on their flags, and
// those of why on its argument.
func columns() map[string][]string {
	var now time.Time // statuses depend on it, names do not
	tenants, oneKey, plans := tenant.View.Names(), key.View(now).Names(), plan.View.Names()
	schedule, bans := plan.ScheduleView.Names(), ban.View(now).Names()
	issued := append([]string{"key"}, oneKey...)
	schema, contexts := migrate.View.Names(), login.ContextView.Names()
	return map[string][]string{
		"tenant list": tenants, "tenant create": tenants, "tenant edit": tenants, "tenant suspend": tenants, "tenant resume": tenants,
		"tenant show": tenant.DetailsView.Names(), "tenant erase": tenant.ErasureView.Names(),
		"key list": oneKey, "key show": oneKey, "key identify": oneKey, "key edit": oneKey, "key revoke": oneKey,
		"key issue": issued, "key rotate": issued,
		"plan list": plans, "plan create": plans, "plan withdraw": plans, "plan retire": plans, "plan edit": plans,
		"plan show": plan.DetailsView.Names(), "plan move": tenants, "plan history": plan.HistoryView.Names(),
		"plan schedule": schedule, "plan assign": schedule, "plan boost": schedule, "plan unschedule": schedule, "plan void": plan.VoidView.Names(),
		"ban list": bans, "ban place": bans, "ban lift": bans,
		"limits reset":   limits.View.Names(),
		"retention list": retention.View.Names(), "retention set": retention.View.Names(), "retention run": retention.RemovedView.Names(),
		"usage export": usage.LineView.Names(), "usage close": usage.MonthView.Names(), "usage verify": usage.VerifyView.Names(), "usage proof": usage.ProofView.Names(),
		"audit list": audit.View.Names(), "audit show": audit.View.Names(), "audit export": audit.View.Names(), "audit verify": audit.VerifyView.Names(),
		"tail": tail.View.Names(), "doctor": doctor.View.Names(), "version": buildView.Names(),
		"undo":           undo.View.Names(),
		"migrate status": schema, "migrate up": schema, "migrate down": schema,
		"staff list": staff.View(now).Names(), "staff add": staff.IssuedView.Names(), "staff rotate": staff.IssuedView.Names(), "staff remove": staff.View(now).Names(),
		"login": contexts, "logout": contexts, "context list": contexts, "context use": contexts, "context remove": contexts, "whoami": login.WhoamiView.Names(),
		"plan simulate": nil, "usage show": nil, "why": nil,
	}
}

// setColumns lets --columns of each command know what the command prints.
func setColumns(root *cobra.Command) {
	for path, names := range columns() {
		cmd, _, err := root.Find(strings.Fields(path))
		if err == nil && names != nil {
			cmdutil.SetColumns(cmd, names)
		}
	}
}
