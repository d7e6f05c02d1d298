package plan

import (
	"testing"
	"time"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/ctltest"
)

func TestSimulateFlags(t *testing.T) {
	t.Parallel()
	o, err := ctltest.Parse(t, newCmdSimulate, "acme", "pro", "--from", "2026-10-15")
	ctltest.Check(t, err, []any{o.tenant, o.plan, o.period}, "acme", "pro",
		cmdutil.Period{From: time.Date(2026, 10, 15, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)})
}
