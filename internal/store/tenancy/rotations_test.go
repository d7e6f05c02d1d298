package tenancy_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
)

// rotate rotates a key of acme by the requester.
func (s selfService) rotate(
	t *testing.T,
	requester keys.Digest,
	id string,
	e keys.Edit,
) (keys.CustomerKey, keys.Digest, error) {
	t.Helper()
	token, err := keys.NewToken(keys.Live)
	assert.NoError(t, err)
	own, err := s.change(t.Context(), requester,
		keys.CustomerChange{Action: "key.rotate", ID: id, Edit: e, GracePeriod: time.Hour, Token: token}, nil)
	return own, token.Digest(), err
}

// rotatedBy is the replacement that a refused rotation names, "" for another error.
func rotatedBy(err error) string {
	if rotated := (*keys.AlreadyRotatedError)(nil); errors.As(err, &rotated) {
		return rotated.ID
	}
	return ""
}

// ownKey is a key as the manage key sees it.
func (s selfService) ownKey(t *testing.T, id string) keys.CustomerKey {
	t.Helper()
	list, err := s.API.CustomerKeys.List(
		t.Context(),
		s.acme.ID,
		s.requester,
		keys.CustomerQuery{ID: id, At: time.Now(), Limit: 1},
	)
	assert.NoError(t, err)
	return list[0]
}

// TestOwnRotations: a key that has a replacement is not rotated, until that is revoked. Both name
// each other in the list.
func TestOwnRotations(t *testing.T) {
	t.Parallel()
	s := newSelfService(t)
	old, _ := s.key(t, keys.Request{})
	made, _, err := s.rotate(t, s.requester, old.ID, keys.Edit{})
	assert.NoError(t, err)
	before := s.lastNumber(t)
	_, _, err = s.rotate(t, s.requester, old.ID, keys.Edit{})
	assert.Equal(t, rotatedBy(err), made.ID, "by the customer")
	_, _, err = s.staff.Rotate(t.Context(), fixture.Jo, old.ID, keys.Rotation{})
	assert.Equal(t, rotatedBy(err), made.ID, "by staff")
	assert.Equal(t, s.lastNumber(t), before, "entries")
	assert.Equal(t, s.ownKey(t, old.ID).ReplacedBy+s.ownKey(t, made.ID).Replaces, made.ID+old.ID)

	_, err = s.change(t.Context(), s.requester, keys.CustomerChange{Action: "key.revoke", ID: made.ID}, nil)
	assert.NoError(t, err)
	assert.Equal(t, s.ownKey(t, old.ID).ReplacedBy, "", "after the revocation")
	again, _, err := s.rotate(t, s.requester, old.ID, keys.Edit{})
	assert.Result(t, s.ownKey(t, old.ID).ReplacedBy, err, again.ID, "rotated again")
}

// TestRotationsAtOnce: of two rotations of one key at the same time one is made.
func TestRotationsAtOnce(t *testing.T) {
	t.Parallel()
	s := newSelfService(t)
	for n := range 4 {
		old, _ := s.key(t, keys.Request{})
		made := make(chan string, 2)
		failed := atOnce(2, func(i int) error {
			if i == 1 && n%2 == 1 { // by staff
				r, _, err := s.staff.Rotate(t.Context(), fixture.Jo, old.ID, keys.Rotation{GracePeriod: time.Hour})
				made <- r.New.ID
				return err
			}
			own, _, err := s.rotate(t, s.requester, old.ID, keys.Edit{})
			made <- own.ID
			return err
		})
		assert.Equal(t, len(failed), 1, "refused", failed)
		one, other := <-made, <-made
		assert.Equal(t, rotatedBy(failed[0]), one+other, "it names the other's", failed) // One of them is "".
	}
}

// TestSelfRotation: a key that may not manage keys rotates itself into its like, which ends when it
// would have at the latest, and goes on for a day.
func TestSelfRotation(t *testing.T) {
	t.Parallel()
	s := newSelfService(t)
	ends := time.Now().Add(90 * 24 * time.Hour).UTC().Truncate(time.Microsecond)
	ending := keys.Request{ExpiresAt: ends}
	for name, c := range map[string]struct {
		key       keys.Request
		expires   *time.Time
		want      time.Time
		isRefused error
	}{
		"one that never ends": {},
		"one that ends":       {key: ending, want: ends},
		"an earlier end":      {key: ending, expires: new(ends.Add(-1e9)), want: ends.Add(-1e9)},
		"the first end":       {expires: &ends, want: ends},
		"a later end":         {key: ending, expires: new(ends.Add(1e9)), isRefused: keys.ErrExpiryLate},
		"no end":              {key: ending, expires: new(time.Time), isRefused: keys.ErrExpiryLate},
		"a past end":          {expires: new(time.Now().Add(-1e9)), isRefused: keys.ErrExpiryPast},
	} {
		c.key.Scope, c.key.Allowed, c.key.PerMinute, c.key.Name = keys.ScopeRead, "192.0.2.1", 7, name
		old, itself := s.key(t, c.key)
		before := s.lastNumber(t)
		made, _, err := s.rotate(t, itself, old.ID, keys.Edit{
			ExpiresAt: c.expires, Scope: new(keys.ScopeManage), Allowed: new(keys.Ranges), PerMinute: new(int64)})
		if assert.ErrorIs(t, err, c.isRefused, name); err != nil {
			assert.Equal(t, s.lastNumber(t), before, name, "entries")
		} else {
			assert.Equal(t, made.ExpiresAt, c.want, name)
			assert.Equal(
				t,
				fmt.Sprint(made.Name, made.Scope, made.Allowed, made.PerMinute, made.Replaces, made.IssuedBy),
				fmt.Sprint(name, keys.ScopeRead, "192.0.2.1", 7, old.ID, old.ID),
			)
			assert.Equal(t, s.ownKey(t, old.ID).ExpiresAt, made.CreatedAt.Add(24*time.Hour), name, "its grace period")
		}
	}
}

// TestLostReplacements: a key that rotates itself again, before anybody has sent its replacement to
// a server, gets another one in its place. A replacement that was sent, or that another key has
// made, stays.
func TestLostReplacements(t *testing.T) {
	t.Parallel()
	s := newSelfService(t)
	for range keys.MaxActive - 2 { // with the manager's own, all but one
		s.key(t, keys.Request{})
	}
	old, itself := s.key(t, keys.Request{})
	lost, _, err := s.rotate(t, itself, old.ID, keys.Edit{})
	assert.NoError(t, err)
	_, _, err = s.rotate(t, s.requester, old.ID, keys.Edit{})
	assert.Equal(t, rotatedBy(err), lost.ID, "by another key")
	made, digest, err := s.rotate(t, itself, old.ID, keys.Edit{})
	assert.NoError(t, err)
	assert.DeepEqual(t, made.AlsoEnded, []string{lost.ID}, "also ended")
	assert.Equal(t, s.ownKey(t, lost.ID).Status(time.Now()), keys.Revoked)
	assert.Equal(t, s.ownKey(t, old.ID).ReplacedBy+made.ExpiresAt.String(), made.ID+time.Time{}.String())
	_, err = s.API.Keys.Caller(t.Context(), digest, time.Now())
	assert.NoError(t, err)
	_, _, err = s.rotate(t, itself, old.ID, keys.Edit{})
	assert.Equal(t, rotatedBy(err), made.ID, "after its first use")

	next, _, err := s.rotate(t, s.requester, made.ID, keys.Edit{})
	assert.NoError(t, err)
	_, _, err = s.rotate(t, digest, made.ID, keys.Edit{})
	assert.Equal(t, rotatedBy(err), next.ID, "one that another key has made")
}

// TestRevokedReplacements: a revocation takes along, if it is asked to, what the key made of itself
// and what that made so, all or none, also of a key that was revoked before; and nothing that
// another key made.
func TestRevokedReplacements(t *testing.T) {
	t.Parallel()
	s := newSelfService(t)
	chain := func(scope keys.Scope) (ids []string, last keys.Digest) {
		t.Helper()
		k, itself := s.key(t, keys.Request{Scope: scope})
		ids = append(ids, k.ID)
		for range 2 {
			made, digest, err := s.rotate(t, itself, ids[len(ids)-1], keys.Edit{})
			assert.NoError(t, err)
			ids, itself = append(ids, made.ID), digest
		}
		return ids, itself
	}
	ids, last := chain(keys.ScopeRead)
	byBoss, _, err := s.rotate(t, s.requester, ids[2], keys.Edit{})
	assert.NoError(t, err)
	revoke := func(requester keys.Digest, id string, replacements bool) (keys.CustomerKey, error) {
		return s.change(t.Context(), requester,
			keys.CustomerChange{Action: "key.revoke", ID: id, Reason: "stolen", Replacements: replacements}, nil)
	}
	alone, err := revoke(s.requester, ids[1], false)
	assert.Result(t, len(alone.AlsoEnded), err, 0, "without them")
	before := s.lastNumber(t)
	own, err := revoke(s.requester, ids[0], true)
	assert.NoError(t, err)
	assert.DeepEqual(t, own.AlsoEnded, ids[2:], "with them, without the one that was revoked before")
	var numbers []int64
	s.Rows(t, &numbers, `select number from audit_entries where number > $1 order by number`, before)
	assert.Equal(t, len(numbers), 2, "entries")
	s.Want(t, fmt.Sprint(numbers[0]), `select distinct first_number::text from undo_values where number > $1`, before)
	assert.Equal(t, s.ownKey(t, byBoss.ID).Status(time.Now()), keys.Active, "the manager's")
	_, err = s.Undos.Do(t.Context(), fixture.Jo, numbers, time.Now())
	assert.NoError(t, err)
	again, err := revoke(last, ids[2], true)
	assert.Result(t, len(again.AlsoEnded), err, 0, "by itself")
	left, err := s.Keys.MadeOfItself(t.Context(), ids[0], time.Now())
	assert.Result(t, len(left), err, 0, "what staff find")

	ids, _ = chain(keys.ScopeManage)
	left, err = s.Keys.MadeOfItself(t.Context(), ids[0], time.Now())
	assert.NoError(t, err)
	assert.DeepEqual(t, left, ids[1:], "what staff find")
}

// TestRevokedReplacementsOfTheLastKey: none is revoked if one of them is the last that may manage
// keys.
func TestRevokedReplacementsOfTheLastKey(t *testing.T) {
	t.Parallel()
	s := newSelfService(t)
	made, itself, err := s.rotate(t, s.requester, s.boss.ID, keys.Edit{})
	assert.NoError(t, err)
	change := keys.CustomerChange{Action: "key.revoke", ID: s.boss.ID, Replacements: true}
	_, err = s.change(t.Context(), itself, change, nil)
	assert.ErrorIs(t, err, keys.ErrLastManageKey)
	s.requester = itself
	for _, id := range []string{s.boss.ID, made.ID} {
		assert.Equal(t, s.ownKey(t, id).Status(time.Now()), keys.Active, id)
	}
}
