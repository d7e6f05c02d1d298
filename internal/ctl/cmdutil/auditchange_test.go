package cmdutil

import (
	"encoding/json"
	"testing"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/test/assert"
)

func TestAuditChangeSaysWhatAnEntryChanged(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ action, before, after, want string }{
		{action: "tenant.create", after: `{"plan":"pro","per_minute":300,"per_day":10000}`, want: "pro"},
		{
			action: "tenant.create", after: `{"plan":"pro","per_minute":300,"per_day":10000,` +
				`"until":"2026-12-04T10:30:00Z","then":"free"}`,
			want: "pro until 2026-12-04",
		},
		{
			action: "plan.assign", before: `{"assignment":1,"plan":"free","per_minute":60,"per_day":1000,` +
				`"from":"2026-11-01T00:00:00Z"}`,
			after: `{"assignment":2,"plan":"pro","per_minute":300,"per_day":10000,"from":"2026-11-20T10:30:00Z"}`,
			want:  "free → pro",
		},
		{
			action: "plan.assign", before: `{"plan":"free","from":"2026-11-01T00:00:00Z"}`,
			after: `{"plan":"pro","from":"2026-12-01T00:00:00Z"}`,
			want:  "free → pro from 2026-12-01",
		},
		{
			action: "plan.boost", before: `{"plan":"pro","per_minute":300,"per_day":10000}`,
			after: `{"plan":"pro","per_minute":1000,"per_day":10000,"until":"2026-11-20T12:00:00Z"}`,
			want:  "per_minute 300 → 1,000 until 12:00Z",
		},
		{action: "plan.void", before: `{"assignment":9,"plan":"pro"}`, after: `{"assignment":9,"plan":"pro"}`,
			want: "assignment 9 is void"},
		{
			action: "plan.edit", before: `{"version":1,"per_minute":300,"per_day":10000,` +
				`"valid_from":"2026-01-01T00:00:00Z"}`,
			after: `{"version":2,"per_minute":500,"per_day":10000,"valid_from":"2027-01-01T00:00:00Z"}`,
			want:  "per_minute 300 → 500, version 1 → 2, from 2027-01-01",
		},
		{action: "tenant.suspend", before: `{"plan":"pro"}`,
			after: `{"plan":"pro","suspended_at":"2026-11-20T10:30:00Z"}`, want: "active → suspended"},
		{action: "tenant.edit", before: `{"plan":"pro"}`, after: `{"plan":"pro","redacted":["name","email"]}`,
			want: "name changed, email changed"},
		{action: "tenant.edit", before: `{"plan":"pro"}`, after: `{"plan":"pro","billing_ref":"cus_1"}`,
			want: "billing_ref - → cus_1"},
		{action: "key.issue", after: `{"id":"key_1","last4":"AbC1","redacted":["name"]}`, want: ""},
		{action: "key.issue", after: `{"id":"key_1","per_minute":5,"expires_at":"2026-12-04T10:30:00Z"}`,
			want: "per_minute 5, expires 2026-12-04"},
		{
			action: "key.edit", before: `{"id":"key_1","expires_at":"2026-12-04T10:30:00Z"}`,
			after: `{"id":"key_1","expires_at":"2027-01-01T00:00:00Z"}`,
			want:  "expires 2026-12-04 → 2027-01-01",
		},
		{action: "key.revoke", before: `{"id":"key_1"}`, after: `{"id":"key_1","revoked_at":"2026-11-20T10:30:00Z"}`,
			want: "active → revoked"},
		{action: "ban.place", after: `{"key_id":"key_1","ends_at":"2026-11-20T11:30:00Z"}`, want: "until 11:30Z"},
		{action: "ban.place", after: `{"key_id":"key_1","ends_at":"2026-11-27T11:30:00Z"}`, want: "until 2026-11-27"},
		{action: "limits.reset", before: `{"minute_used":300,"day_used":8030}`,
			after: `{"minute_used":0,"day_used":0}`, want: "minute 300 → 0, day 8,030 → 0"},
		{action: "staff.remove", before: `{"roles":["support"]}`, want: ""},
		{action: "tenant.erase", want: ""},
	} {
		e := audit.Entry{
			Number: 10,
			At:     time.Date(2026, 11, 20, 10, 30, 0, 0, time.UTC),
			Action: test.action,
			Before: json.RawMessage(test.before),
			After:  json.RawMessage(test.after),
		}
		assert.Equal(t, AuditChange(e), test.want, test.action, test.after)
	}
}
