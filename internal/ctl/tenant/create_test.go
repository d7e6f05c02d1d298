package tenant

import (
	"testing"

	"petstore.example/internal/ctl/ctltest"
	"petstore.example/internal/plans"
)

func TestCreateFlags(t *testing.T) {
	t.Parallel()
	o, err := ctltest.Parse(t, newCmdCreate, "acme", "--plan", "enterprise", "--per-minute", "7", "--per-day", "70")
	ctltest.Check(t, err, []any{o.name, o.plan, o.quota}, "acme", "enterprise", &plans.Quota{PerMinute: 7, PerDay: 70})
}
