package cluster_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/cluster"
)

// TestReadmeHasTheConstants: the table and the worked fault in README.md use the real values.
func TestReadmeHasTheConstants(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]time.Duration{
		"RenewEvery": cluster.RenewEvery, "MaxRenewEvery": cluster.MaxRenewEvery, "Lease": cluster.Lease, "MaxLease": cluster.MaxLease,
		"CrashLoss": cluster.CrashLoss, "FenceTimeout": cluster.FenceTimeout, "MaxFenceTimeout": cluster.MaxFenceTimeout,
		"FenceSlack": cluster.FenceSlack, "MemberTTL": cluster.MemberTTL, "FoldAfter": cluster.FoldAfter,
		"SetBackWait": cluster.SetBackWait,
	} {
		if want := fmt.Sprintf("| `%s` | %v |", name, value); !strings.Contains(string(text), want) {
			t.Errorf("README.md has no row %q", want)
		}
	}
	last := -100 * time.Millisecond
	for _, at := range []time.Duration{last + cluster.Lease, last + cluster.FenceTimeout, last + cluster.MemberTTL} {
		if want := fmt.Sprintf("\n| %.2f |", at.Seconds()); !strings.Contains(string(text), want) {
			t.Errorf("the worked fault has no instant %q", want)
		}
	}
	if want := fmt.Sprintf("= %.2f |", (last + cluster.FenceTimeout + cluster.FenceSlack).Seconds()); !strings.Contains(string(text), want) {
		t.Errorf("the worked fault has no UncleanUntil %q", want)
	}
}
