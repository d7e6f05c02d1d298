package store_test

import (
	"errors"
	"testing"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
)

// staffChanges is an office with a tenant and its keys, and all that staff can change there.
type staffChanges struct {
	fixture.Office
	key, banned keys.Key
	token       keys.Token
	changes     map[string]func(audit.By) error
}

func newStaffChanges(t *testing.T) staffChanges {
	t.Helper()
	o := fixture.NewOffice(t)
	o.Tenant(t, "acme", plans.Free)
	s := staffChanges{Office: o}
	s.key, s.token = o.Issue(t, "acme")
	s.banned, _ = o.Issue(t, "acme")
	o.Ban(t, s.banned.ID, time.Hour, fixture.Noon)
	s.changes = map[string]func(audit.By) error{
		"tenant.create": func(by audit.By) error {
			return fixture.ErrorOf(
				o.Tenants.Create(t.Context(), by, tenancy.NewTenant{Name: "globex", Plan: plans.Free}, fixture.Noon),
			)
		},
		"tenant.invite": func(by audit.By) error {
			return fixture.ErrorOf(o.SignIns.Invite(t.Context(), by, "acme", keys.Live, keys.Digest{1}))
		},
		"tenant.suspend": func(by audit.By) error {
			return fixture.ErrorOf(o.Tenants.Suspend(t.Context(), by, "acme", fixture.Noon))
		},
		"plan.assign": func(by audit.By) error {
			_, after, err := fixture.AssignPlan(
				t.Context(),
				o.DB,
				by,
				"acme",
				plans.Pro,
				nil,
				fixture.Noon.Add(time.Hour),
			)
			if err == nil && after.Plan != plans.Pro {
				t.Errorf("assigned plan %s", after.Plan)
			}
			return err
		},
		"key.issue": func(by audit.By) error {
			_, _, err := o.Service().Issue(t.Context(), by, fixture.IssueRequest("acme"))
			return err
		},
		"key.revoke": func(by audit.By) error {
			return fixture.ErrorOf(o.Keys.Revoke(t.Context(), by, s.key.ID, fixture.Noon))
		},
		"ban.place": func(by audit.By) error {
			return fixture.ErrorOf(
				o.Bans.Place(
					t.Context(),
					by,
					tenancy.NewBan{KeyID: s.key.ID, Length: time.Hour, Reason: "x"},
					fixture.Noon,
				),
			)
		},
		"ban.lift": func(by audit.By) error {
			return fixture.ErrorOf(o.Bans.Lift(t.Context(), by, s.banned.ID, fixture.Noon))
		},
	}
	return s
}

// check makes all changes, compares each one's error, and expects that the database is as before.
func (s staffChanges) check(t *testing.T, by audit.By, ok func(error) bool) {
	t.Helper()
	before := s.Everything(t)
	for name, change := range s.changes {
		err := change(by)
		assert.True(t, ok(err), name, err)
	}
	assert.DeepEqual(t, s.Everything(t), before, "the database changed")
}

func TestDryRunsLeaveNothing(t *testing.T) {
	t.Parallel()
	newStaffChanges(t).check(t, fixture.Dry, func(err error) bool { return err == nil })
}

// A change whose audit entry can't be written is not made: both are one transaction.
func TestNoChangeWithoutItsAuditEntry(t *testing.T) {
	t.Parallel()
	s := newStaffChanges(t)
	s.Exec(t, `alter table audit_entries add constraint full_up check (false) not valid`)
	s.check(t, fixture.Jo, func(err error) bool { return err != nil })
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
			CreatedAt:   fixture.Noon,
		}
		return fixture.ErrorOf(s.Keys.Create(t.Context(), fixture.Jo, k, keys.Digest{1}))
	}
	s.changes["key.revoke, actor"] = func(audit.By) error {
		return fixture.ErrorOf(s.Keys.Revoke(t.Context(), audit.By{Actor: secret}, s.key.ID, fixture.Noon))
	}
	s.changes["ban.place"] = func(audit.By) error {
		return fixture.ErrorOf(
			s.Bans.Place(
				t.Context(),
				fixture.Jo,
				tenancy.NewBan{KeyID: s.key.ID, Length: time.Hour, Reason: secret},
				fixture.Noon,
			),
		)
	}
	s.check(
		t,
		audit.By{Actor: "jo", Reason: secret},
		func(err error) bool { return errors.Is(err, keys.ErrTextContainsKey) },
	)

	s.Exec(t, `update api_keys set name = $1`, secret)
	s.Exec(t, `update bans set reason = $1`, secret)
	_, err := s.Bans.Lift(t.Context(), fixture.Jo, s.banned.ID, fixture.Noon)
	assert.Equal(t, err, nil, "lift a ban whose reason has a key")
	_, err = s.Keys.Revoke(t.Context(), fixture.Jo, s.key.ID, fixture.Noon)
	assert.Equal(t, err, nil, "revoke a key whose name has a key")
}
