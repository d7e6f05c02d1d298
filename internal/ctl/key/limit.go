package key

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/keys"
)

// limitFlag adds --per-minute.
func limitFlag(cmd *cobra.Command, perMinute *int64) {
	cmdutil.ParsedFlag(cmd, perMinute, "per-minute", "", "the key's own limit: `N` requests per minute", func(text string) (int64, error) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err == nil && n < 1 {
			err = fmt.Errorf("must be at least 1, not %d", n)
		}
		return n, err
	})
}

// LimitText is a key's own limit in words.
func LimitText(k keys.Key) string {
	if k.PerMinute == 0 {
		return "no limit of its own"
	}
	count := output.Thousands(k.PerMinute) + " requests"
	if k.PerMinute == 1 {
		count = "1 request"
	}
	return count + " per minute"
}

// warnLimit says if a key's own limit has no effect.
func warnLimit(ctx context.Context, f *cmdutil.Factory, k keys.Key) {
	if text := limitWarning(ctx, f, k); text != "" {
		f.Messagef("%s", text)
	}
}

// limitWarning says that a key's own limit has no effect, "" if it has. It is only advice: if the tenant can't be read, it is "".
func limitWarning(ctx context.Context, f *cmdutil.Factory, k keys.Key) string {
	if k.PerMinute == 0 {
		return ""
	}
	db, err := f.DB(ctx)
	if err != nil {
		return ""
	}
	t, err := db.Tenants.Get(ctx, k.TenantName)
	if err != nil || k.PerMinute < t.Quota.PerMinute {
		return ""
	}
	return fmt.Sprintf("the key's own limit has no effect: tenant %s on plan %s is limited to %s requests per minute for all its keys",
		t.Name, t.Plan, output.Thousands(t.Quota.PerMinute))
}
