package key

import (
	"errors"
	"testing"
	"time"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/ctltest"
	"petstore.example/internal/keys"
)

func TestFlags(t *testing.T) {
	t.Parallel()
	issue, err := ctltest.Parse(t, newCmdIssue, "acme", "--name", "ci", "--environment=test", "--expires", "2w")
	ctltest.Check(t, err, []any{issue.tenant, issue.name, issue.environment, issue.expires},
		"acme", "ci", keys.Test, ctltest.Now.AddDate(0, 0, 14))

	edit, err := ctltest.Parse(t, newCmdEdit, "key_x", "--per-minute", "50", "--name=")
	fifty, none := int64(50), ""
	ctltest.Check(t, err, []any{edit.id, edit.edit}, "key_x", keys.Edit{Name: &none, PerMinute: &fifty})

	rotate, err := ctltest.Parse(t, newCmdRotate, "key_x", "--grace-period", "0", "--expires", "never")
	ctltest.Check(t, err, []any{rotate.id, rotate.rotation}, "key_x", keys.Rotation{ExpiresAt: &time.Time{}})

	rotate, err = ctltest.Parse(t, newCmdRotate, "key_x")
	ctltest.Check(t, err, []any{rotate.rotation}, keys.Rotation{GracePeriod: 24 * time.Hour})

	_, err = ctltest.Parse(t, newCmdRevoke, "--yess", "key_x")
	if e := (*cmdutil.Error)(nil); !errors.As(err, &e) || e.Code != cmdutil.ExitUsage || e.Message != "unknown flag: --yess; did you mean --yes?" {
		t.Errorf("mistyped flag: %v", err)
	}
}
