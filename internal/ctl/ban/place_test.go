package ban

import (
	"testing"
	"time"

	"petstore.example/internal/ctl/ctltest"
)

func TestPlaceFlags(t *testing.T) {
	t.Parallel()
	o, err := ctltest.Parse(t, newCmdPlace, "key_x", "--for", "1h30m", "--reason", "x")
	ctltest.Check(t, err, []any{o.id, o.duration, o.Reason}, "key_x", 90*time.Minute, "x")
}
