package admin

import (
	"strings"

	"petstore.example/internal/store/catalog"
	"petstore.example/internal/store/pgconn"
)

// TenantData is all data of a tenant, in whatever table.
type TenantData struct{ db *pgconn.DB }

// tenantTable is a table with rows of tenants: what an export holds of it, and what happens to its
// rows when a tenant is erased.
type tenantTable struct {
	name string
	// columns are the exported columns, in SQL. Order is the order of the rows.
	columns []string
	order   string
	// omitted are columns that are not exported: digests, data about staff or other customers, and
	// values computed from others.
	omitted []string
	erasing erasing
}

// erasing is what happens to the rows of an erased tenant.
type erasing int

const (
	// stays: the rows hold nothing about the tenant but its number and its billing reference.
	stays erasing = iota + 1
	// goes: they are removed. goesSlowly: they may be many, and are removed in batches.
	goes
	goesSlowly
	// redacted: names are removed from them.
	redacted
)

// tenantTables are all tables with rows of tenants, in the order of export and removal: rows that
// refer to others go first. A test compares them with the database, so that no table and no column
// is forgotten.
var tenantTables = []tenantTable{
	{
		name:    "tenants",
		columns: []string{"id", "name", "created_at", "suspended_at", "billing_ref", "email", "contact", "notes"},
		omitted: []string{"erased_at"},
		erasing: redacted,
	},
	{
		name:    "undo_values",
		columns: []string{"number", "before", "after", "at"},
		omitted: []string{"tenant_id", "first_number"},
		order:   "number",
		erasing: goes,
	},
	{name: "failed_requests", columns: []string{
		"at",
		"key_id",
		"request_id",
		"method",
		"route",
		"status",
		"code",
		"reason",
		"plan",
		"limited_by",
		"allowed",
		"resets_at",
		"partial",
		"took_micros",
		"suppressed",
	}, omitted: []string{"tenant_id", "server_id", "number"}, order: "at, server_id, number", erasing: goes},
	{
		name:    "bans",
		columns: []string{"id", "key_id", "source", "reason", "starts_at", "ends_at", "lifted_at"},
		omitted: []string{"tenant_id"},
		order:   "id",
		erasing: goes,
	},
	{
		name:    "limit_states",
		columns: []string{"scope", "minute", "minute_used", "day", "day_used", "month", "month_used"},
		omitted: []string{"tenant_id", "term"},
		order:   "scope",
		erasing: goes,
	},
	{
		name:    "sign_ins",
		columns: []string{"id", "key_id", "environment", "created_at", "used_at", "expires_at"},
		omitted: []string{"tenant_id", "digest", "invited_by"},
		order:   "created_at, id",
		erasing: goes,
	},
	{
		name:    "invites",
		columns: []string{"environment", "created_at", "expires_at"},
		omitted: []string{"tenant_id", "digest", "invited_by"},
		order:   "created_at",
		erasing: goes,
	},
	{name: "api_keys", columns: []string{
		"id",
		"name",
		"environment",
		"last4",
		"created_at",
		"expires_at",
		"revoked_at",
		"revocation_final_at",
		"last_used_at",
		"per_minute",
		"scope",
		"allowed",
	}, omitted: []string{"tenant_id", "digest", "revoked_by", "presented"}, order: "created_at, id", erasing: goes},
	{
		name:    "attempts",
		columns: []string{"endpoint_id", "delivery_id", "attempt", "at", "ms", "status", "answer", "said"},
		omitted: []string{"tenant_id"},
		order:   "endpoint_id, delivery_id, attempt",
		erasing: goes,
	},
	{
		name:    "deliveries",
		columns: []string{"endpoint_id", "id", "event_id", "created_at", "attempts", "due_at", "done_at", "result"},
		omitted: []string{"tenant_id", "rank"},
		order:   "endpoint_id, id",
		erasing: goes,
	},
	{
		name:    "mails",
		columns: []string{"id", "kind", "event_id", "environment", "created_at", "due_at", "done_at", "result", "said"},
		omitted: []string{"tenant_id", "invited_by", "link", "attempts"},
		order:   "created_at, id",
		erasing: goes,
	},
	{
		name:    "mailboxes",
		columns: []string{"state", "set_at", "confirmed_at"},
		omitted: []string{"tenant_id", "leased_until"},
		order:   "set_at",
		erasing: goes,
	},
	{
		name:    "events",
		columns: []string{"id", "environment", "type", "created_at", "body"},
		omitted: []string{"tenant_id"},
		order:   "created_at, id",
		erasing: goes,
	},
	{
		name:    "once",
		columns: []string{"kind", "subject", "instant", "told_at"},
		omitted: []string{"tenant_id"},
		order:   "told_at, kind, subject, instant",
		erasing: goes,
	},
	{name: "endpoints", columns: []string{
		"id",
		"environment",
		"url",
		"events",
		"description",
		"created_at",
		"version",
		"verified_at",
		"disabled_reason",
		"status",
		"failing_since",
		"noticed_at",
	}, omitted: []string{"tenant_id"}, order: "id", erasing: goes},
	{name: "idempotency_keys", columns: []string{
		"method", "path", "key", "status", "location", "convert_from(body, 'UTF8') as body", "created_at", "expires_at",
	}, omitted: []string{"tenant_id", "fingerprint"}, order: "created_at, key", erasing: goesSlowly},
	{
		name:    "orders",
		columns: []string{"id", "pet_id", "quantity", "status", "created_at"},
		omitted: []string{"tenant_id"},
		order:   "id",
		erasing: goesSlowly,
	},
	{
		name:    "pets",
		columns: strings.Split("id, "+catalog.PetNames+", created_at", ", "),
		omitted: []string{"tenant_id"},
		order:   "id",
		erasing: goesSlowly,
	},

	{name: "tenant_plans", columns: []string{
		"id",
		"valid_from",
		"until",
		"plan",
		"then_plan",
		"kind",
		"ends",
		"per_minute",
		"per_day",
		"month",
		"per_month",
		"overage",
		"overage_value",
		"named_per_minute",
		"named_per_day",
		"named_month",
		"named_per_month",
		"named_overage",
		"named_overage_value",
		"generation",
		"created_at",
		"voided_at",
		"void_reason",
	}, omitted: []string{"tenant_id", "created_by"}, order: "valid_from, id", erasing: stays},
	{
		name:    "tenant_suspensions",
		columns: []string{"valid_from", "valid_to"},
		omitted: []string{"tenant_id"},
		order:   "valid_from",
		erasing: stays,
	},
	{
		name:    "tenant_activity",
		columns: []string{"last_day"},
		omitted: []string{"tenant_id"},
		order:   "last_day",
		erasing: stays,
	},
	{
		name:    "tenant_months",
		columns: []string{"month", "admitted"},
		omitted: []string{"tenant_id"},
		order:   "month",
		erasing: stays,
	},
	{
		name:    "tenant_days",
		columns: []string{"day", "admitted"},
		omitted: []string{"tenant_id", "begun"},
		order:   "day",
		erasing: goes,
	},
	{
		name:    "usage_hourly",
		columns: []string{"hour", "key_id", "assignment", "version", "admitted", "refused"},
		omitted: []string{
			"tenant_id", "minute", "in_minute", "in_previous",
		},
		order:   "hour, key_id, assignment, version",
		erasing: stays,
	},
	{
		name:    "usage_daily",
		columns: []string{"day", "key_id", "assignment", "version", "admitted", "refused"},
		omitted: []string{"tenant_id"},
		order:   "day, key_id, assignment, version",
		erasing: stays,
	},
	{
		name: "usage_late",
		columns: []string{
			"id",
			"month",
			"hour",
			"key_id",
			"assignment",
			"version",
			"admitted",
			"refused",
			"arrived_at",
		},
		omitted: []string{
			"tenant_id", "server_id",
		},
		order:   "id",
		erasing: stays,
	},
	{name: "usage_lines", columns: []string{"month", "number", "form::json as line"}, omitted: []string{
		"tenant_id", "sha256", "assignment", "version", "corrects", "void",
	}, order: "month, number", erasing: redacted},
	{name: "sent_events", columns: []string{
		"receiver",
		"format",
		"hour",
		"counted_at",
		"assignment",
		"version",
		"correction",
		"event_id",
		"billing_ref",
		"admitted",
		"refused",
		"overage",
		"sent_at",
		"state",
		"reply",
	}, omitted: []string{
		"tenant_id", "sent_by", "number", "body", "attempts", "tried_at",
	}, order: "receiver, hour, assignment, correction", erasing: stays},
	{
		name:    "usage_waivers",
		columns: []string{"receiver", "until"},
		omitted: []string{"tenant_id"},
		order:   "receiver",
		erasing: stays,
	},
	{
		name:    "audit_entries",
		columns: []string{"number", "at", "action", "subject", "before", "after", "reason"},
		omitted: []string{
			"tenant_id", "login", "address", "claimed_actor", "prev", "hash",
		},
		order:   "number",
		erasing: stays,
	},
}

// tenantColumn is the column with the number of the tenant.
func (t tenantTable) tenantColumn() string {
	if t.name == "tenants" {
		return "id"
	}
	return "tenant_id"
}
