package migrate

import (
	"testing"

	"petstore.example/internal/ctl/ctltest"
)

func TestDownFlags(t *testing.T) {
	t.Parallel()
	o, err := ctltest.Parse(t, newCmdDown, "--yes", "--dry-run", "-o", "json")
	ctltest.Check(t, err, []any{o.steps, o.Yes, o.DryRun, o.Output}, 1, true, true, "json")
}
