package store_test

import (
	"encoding/json"
	"testing"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/people"
	"petstore.example/internal/store/trail"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
)

var (
	// noon is when the tests of staff's changes happen, unless they say otherwise.
	noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	jo   = audit.By{Actor: "jo@support-3", Reason: "because"}
	dry  = audit.By{Actor: "jo@support-3", DryRun: true}
)

// office is a database as support works on it.
type office struct {
	*store.DB
	database
	api *store.DB
}

func newOffice(t *testing.T) office {
	t.Helper()
	db := newDatabase(t)
	api := storetest.Open(t, db.APIURL, store.Options{AsAPI: true, Timeout: longTimeout})
	return office{storetest.Open(t, db.SupportURL, store.Options{}), db, api}
}

func (o office) tenant(t *testing.T, name, plan string) plans.Tenant {
	t.Helper()
	tenant, err := o.Tenants.Create(t.Context(), jo, people.NewTenant{Name: name, Plan: plan}, noon)
	assert.NoError(t, err)
	return tenant
}

func (o office) issue(t *testing.T, tenant string) (keys.Key, keys.Token) {
	t.Helper()
	key, token, err := o.service().Issue(t.Context(), jo, issueRequest(tenant))
	assert.NoError(t, err)
	return key, token
}

// remembered is the last audit entry, its records decoded.
type remembered struct {
	ClaimedActor, Action, Tenant, Subject, Reason string
	Before, After                                 map[string]any
}

func (o office) last(t *testing.T) remembered {
	t.Helper()
	entries, err := store.Collect(o.Audit.List(t.Context(), trail.Filter{Limit: 1}))
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d audit entries, error %v", len(entries), err)
	}
	e := entries[0]
	r := remembered{ClaimedActor: e.ClaimedActor, Action: e.Action, Tenant: e.TenantName, Subject: e.Subject, Reason: e.Reason}
	for text, record := range map[*json.RawMessage]*map[string]any{&e.Before: &r.Before, &e.After: &r.After} {
		if len(*text) == 0 {
			continue
		}
		assert.NoError(t, json.Unmarshal(*text, record))
	}
	return r
}

// everything is the whole content of the database, to compare.
func (o office) everything(t *testing.T) string {
	t.Helper()
	return o.text(t, `select database_to_xml(true, true, '')::text`)
}
