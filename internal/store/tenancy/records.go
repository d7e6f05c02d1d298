package tenancy

import (
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store/tenants"
	"petstore.example/internal/store/trail"
)

// The records are the parts of an audit entry about a subject. An entry is never changed, so it
// holds nothing that may have to be erased: no name and no text of a customer, no digest and no
// secret. Redacted names members whose values are only in the subject's row: those that the change
// set or changed.
type (
	tenantRecord struct {
		Plan      string `json:"plan"`
		PerMinute int64  `json:"per_minute"`
		PerDay    int64  `json:"per_day"`
		tenants.MonthRecord
		SuspendedAt *time.Time `json:"suspended_at,omitempty"`
		Until       *time.Time `json:"until,omitempty"`
		Then        string     `json:"then,omitempty"`
		BillingRef  string     `json:"billing_ref,omitempty"`
		Redacted    []string   `json:"redacted,omitempty"`
	}
	keyRecord struct {
		ID          string           `json:"id"`
		Environment keys.Environment `json:"environment"`
		Last4       string           `json:"last4"`
		PerMinute   int64            `json:"per_minute,omitempty"`
		// Scope is left out for ScopeWrite, and Allowed for any address.
		Scope     keys.Scope  `json:"scope,omitempty"`
		Allowed   keys.Ranges `json:"allowed_addresses,omitempty"`
		CreatedAt time.Time   `json:"created_at"`
		ExpiresAt *time.Time  `json:"expires_at,omitempty"`
		RevokedAt *time.Time  `json:"revoked_at,omitempty"`
		Redacted  []string    `json:"redacted,omitempty"`
		// ReplacedBy is the new key in the entry of a rotation.
		ReplacedBy string `json:"replaced_by,omitempty"`
	}
	banRecord struct {
		Key      string         `json:"key_id"`
		Source   keys.BanSource `json:"source"`
		StartsAt time.Time      `json:"starts_at"`
		EndsAt   time.Time      `json:"ends_at"`
		LiftedAt *time.Time     `json:"lifted_at,omitempty"`
		Redacted []string       `json:"redacted,omitempty"`
	}
)

// The record functions return the record of a subject after a change. before is the subject before
// the change, zero for a new one. For the record before the change, pass the same subject twice.

// RecordTenant returns the record of a tenant.
func RecordTenant(before, after plans.Tenant) tenantRecord {
	return tenantRecord{
		Plan:        after.Plan,
		PerMinute:   after.Quota.PerMinute,
		PerDay:      after.Quota.PerDay,
		MonthRecord: tenants.RecordMonth(after.Quota.Month),
		SuspendedAt: trail.TimeOrNil(after.SuspendedAt),
		BillingRef:  after.BillingRef,
		Redacted:    trail.Names(hiddenOfTenant(before, after)),
	}
}

func recordKey(before, after keys.Key) keyRecord {
	scope := after.Scope
	if scope == keys.ScopeWrite {
		scope = ""
	}
	return keyRecord{
		after.ID,
		after.Environment,
		after.Last4,
		after.PerMinute,
		scope,
		after.Allowed,
		after.CreatedAt.UTC(),
		trail.TimeOrNil(after.ExpiresAt),
		trail.TimeOrNil(after.RevokedAt),
		trail.Names(hiddenOfKey(before, after)),
		"",
	}
}

func recordBan(before, after keys.Ban) banRecord {
	return banRecord{
		after.KeyID, after.Source, after.StartsAt.UTC(), after.EndsAt.UTC(), trail.TimeOrNil(after.LiftedAt),
		trail.Names(trail.ChangedOf(trail.Member{Name: "reason", Before: before.Reason, After: after.Reason})),
	}
}

func hiddenOfTenant(before, after plans.Tenant) []trail.Member {
	return trail.ChangedOf(
		trail.Member{
			Name:   "name",
			Before: before.Name,
			After:  after.Name,
		},
		trail.Member{Name: "email", Before: before.Email, After: after.Email},
		trail.Member{
			Name:   "contact",
			Before: before.Contact,
			After:  after.Contact,
		},
		trail.Member{Name: "notes", Before: before.Notes, After: after.Notes},
	)
}

func hiddenOfKey(before, after keys.Key) []trail.Member {
	return trail.ChangedOf(trail.Member{Name: "name", Before: before.Name, After: after.Name})
}
