package store_test

import (
	"encoding/json"
	"errors"
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
	api := storetest.Open(t, db.APIURL, store.Options{AsAPI: true})
	return office{storetest.Open(t, db.SupportURL, store.Options{}), db, api}
}

// newAcme is an office with the tenant acme on pro.
func newAcme(t *testing.T) office {
	t.Helper()
	o := newOffice(t)
	o.tenant(t, "acme", plans.Pro)
	return o
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
	r := remembered{
		ClaimedActor: e.ClaimedActor,
		Action:       e.Action,
		Tenant:       e.TenantName,
		Subject:      e.Subject,
		Reason:       e.Reason,
	}
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

// staffChanges is an office with a tenant and its keys, and all that staff can change there.
type staffChanges struct {
	office
	key, banned keys.Key
	token       keys.Token
	changes     map[string]func(audit.By) error
}

func newStaffChanges(t *testing.T) staffChanges {
	t.Helper()
	o := newOffice(t)
	o.tenant(t, "acme", plans.Free)
	s := staffChanges{office: o}
	s.key, s.token = o.issue(t, "acme")
	s.banned, _ = o.issue(t, "acme")
	o.ban(t, s.banned.ID, time.Hour, noon)
	s.changes = map[string]func(audit.By) error{
		"tenant.create": func(by audit.By) error {
			return errorOf(o.Tenants.Create(t.Context(), by, people.NewTenant{Name: "globex", Plan: plans.Free}, noon))
		},
		"tenant.invite": func(by audit.By) error {
			return errorOf(o.SignIns.Invite(t.Context(), by, "acme", keys.Live, keys.Digest{1}))
		},
		"tenant.suspend": func(by audit.By) error { return errorOf(o.Tenants.Suspend(t.Context(), by, "acme", noon)) },
		"plan.assign": func(by audit.By) error {
			_, after, err := assignPlan(t.Context(), o.DB, by, "acme", plans.Pro, nil, noon.Add(time.Hour))
			if err == nil && after.Plan != plans.Pro {
				t.Errorf("assigned plan %s", after.Plan)
			}
			return err
		},
		"key.issue": func(by audit.By) error {
			_, _, err := o.service().Issue(t.Context(), by, issueRequest("acme"))
			return err
		},
		"key.revoke": func(by audit.By) error { return errorOf(o.Keys.Revoke(t.Context(), by, s.key.ID, noon)) },
		"ban.place": func(by audit.By) error {
			return errorOf(
				o.Bans.Place(t.Context(), by, people.NewBan{KeyID: s.key.ID, Length: time.Hour, Reason: "x"}, noon),
			)
		},
		"ban.lift": func(by audit.By) error { return errorOf(o.Bans.Lift(t.Context(), by, s.banned.ID, noon)) },
	}
	return s
}

// check makes all changes, compares each one's error, and expects that the database is as before.
func (s staffChanges) check(t *testing.T, by audit.By, ok func(error) bool) {
	t.Helper()
	before := s.everything(t)
	for name, change := range s.changes {
		err := change(by)
		assert.True(t, ok(err), name, err)
	}
	assert.DeepEqual(t, s.everything(t), before, "the database changed")
}

func TestDryRunsLeaveNothing(t *testing.T) {
	t.Parallel()
	newStaffChanges(t).check(t, dry, func(err error) bool { return err == nil })
}

// A change whose audit entry can't be written is not made: both are one transaction.
func TestNoChangeWithoutItsAuditEntry(t *testing.T) {
	t.Parallel()
	s := newStaffChanges(t)
	s.exec(t, `alter table audit_entries add constraint full_up check (false) not valid`)
	s.check(t, jo, func(err error) bool { return err != nil })
}

// TestTextsWithKeysAreRefused: the store refuses a key in a text that it stores. Texts that were
// stored before block nothing.
func TestTextsWithKeysAreRefused(t *testing.T) {
	t.Parallel()
	s := newStaffChanges(t)
	secret := "see " + s.token.Reveal()
	s.changes["key.issue, name"] = func(audit.By) error {
		k := keys.Key{
			ID:          "key_0000000000000001",
			TenantName:  "acme",
			Name:        secret,
			Environment: keys.Live,
			Last4:       "0001",
			CreatedAt:   noon,
		}
		return errorOf(s.Keys.Create(t.Context(), jo, k, keys.Digest{1}))
	}
	s.changes["key.revoke, actor"] = func(audit.By) error {
		return errorOf(s.Keys.Revoke(t.Context(), audit.By{Actor: secret}, s.key.ID, noon))
	}
	s.changes["ban.place"] = func(audit.By) error {
		return errorOf(
			s.Bans.Place(t.Context(), jo, people.NewBan{KeyID: s.key.ID, Length: time.Hour, Reason: secret}, noon),
		)
	}
	s.check(
		t,
		audit.By{Actor: "jo", Reason: secret},
		func(err error) bool { return errors.Is(err, keys.ErrTextContainsKey) },
	)

	s.exec(t, `update api_keys set name = $1`, secret)
	s.exec(t, `update bans set reason = $1`, secret)
	_, err := s.Bans.Lift(t.Context(), jo, s.banned.ID, noon)
	assert.Equal(t, err, nil, "lift a ban whose reason has a key")
	_, err = s.Keys.Revoke(t.Context(), jo, s.key.ID, noon)
	assert.Equal(t, err, nil, "revoke a key whose name has a key")
}
