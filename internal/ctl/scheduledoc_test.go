package ctl

import (
	"testing"
	"time"
)

// TestScheduleExamples runs the examples of "Changes known beforehand" in docs/billing.md, on a database with two tenants.
func TestScheduleExamples(t *testing.T) {
	t.Parallel()
	d := newDocRun(t)
	d.now = time.Date(2026, 10, 5, 9, 0, 0, 0, time.UTC)
	for _, command := range []string{"petstorectl tenant create acme --plan pro", "petstorectl tenant create zoo --plan pro"} {
		d.run(t, command)
	}
	d.now = time.Time{}
	d.file(t, "../../docs/billing.md", "## Changes known beforehand")
}
