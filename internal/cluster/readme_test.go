package cluster_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/cluster"
	"petstore.example/internal/test/assert"
)

// TestReadmeHasTheConstants: the table in the README of limits has the real values.
func TestReadmeHasTheConstants(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../limits/README.md")
	assert.NoError(t, err)
	for name, value := range map[string]time.Duration{
		"RenewEvery": cluster.RenewEvery, "MaxRenewEvery": cluster.MaxRenewEvery, "Lease": cluster.Lease,
		"MaxLease":  cluster.MaxLease,
		"CrashLoss": cluster.CrashLoss, "FenceTimeout": cluster.FenceTimeout,
		"MaxFenceTimeout": cluster.MaxFenceTimeout,
		"CutOffAfter":     cluster.CutOffAfter, "MemberTTL": cluster.MemberTTL, "ListedFor": cluster.ListedFor,
		"SetBackWait": cluster.SetBackWait,
	} {
		want := fmt.Sprintf("| `%s` | %v |", name, value)
		assert.True(t, strings.Contains(string(text), want), "README.md has no row", want)
	}
}
