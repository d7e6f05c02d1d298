package audit

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/test/assert"
	_ "petstore.example/internal/test/sandbox" // the environment of the tests
)

func TestTableFits(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 10, 30, 0, 0, time.UTC)
	entries := []audit.Entry{
		{
			Number:  10_000_000,
			At:      now.Add(-16 * time.Minute),
			Login:   "support_somebody_with_a_long_name",
			Action:  "plan.unschedule",
			Subject: "key_9Xb2LmQ0tR7sVw1Z",
			Before:  json.RawMessage(`{"per_minute":60000,"per_day":1000000,"expires_at":"2026-12-04T10:30:00Z"}`),
			After: json.RawMessage(
				`{"per_minute":90000,"per_day":3000000,"expires_at":"2027-12-04T10:30:00Z"}`,
			),
			Reason: strings.Repeat("because ", 30),
		},
		{
			Number:     1,
			At:         now.Add(-48 * time.Hour),
			Action:     "tenant.create",
			TenantID:   1,
			Subject:    "tenant:1",
			TenantName: strings.Repeat("acme-", 12) + "x",
		},
	}
	for _, zone := range []*time.Location{nil, time.UTC, time.FixedZone("", 3600)} {
		for _, layout := range []string{"", time.RFC3339} {
			for _, width := range []int{80, 100, 120} {
				var out bytes.Buffer
				p := output.Printer{Out: &out, Format: "table", TTY: true, Width: width, Now: now, Zone: zone}
				v := TableView(p)
				if layout != "" {
					v = v.FormatTimes(layout)
				}
				assert.NoError(t, output.Table(p, v, entries))
				for line := range strings.Lines(out.String()) {
					n := text.StringWidthWithoutEscSequences(strings.TrimSuffix(line, "\n"))
					assert.True(t, n <= width, n, "columns in a terminal of", width, line)
				}
				assert.Contains(t, out.String(), "key_9Xb2LmQ0tR7sVw1Z", "the ID is cut")
				assert.Contains(t, out.String(), "per_minute 6", "what changed is cut to nothing")
			}
		}
	}
}
