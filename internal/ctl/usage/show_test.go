package usage

import (
	"testing"
	"time"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/ctltest"
	"petstore.example/internal/store"
)

func TestShowFlags(t *testing.T) {
	t.Parallel()
	november := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	o, err := ctltest.Parse(t, newCmdShow, "acme", "--by", "day")
	ctltest.Check(t, err, []any{o.tenant, o.grouping, o.month, o.limit},
		"acme", store.ByDay, cmdutil.Period{From: november, To: november.AddDate(0, 1, 0)}, showLimit)
}
