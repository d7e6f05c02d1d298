package tenancy_test

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"testing"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
)

// manageKey issues a key by which somebody may sign in.
func manageKey(t *testing.T, o fixture.Office, tenant string) (keys.Key, keys.Token) {
	t.Helper()
	r := fixture.IssueRequest(tenant)
	r.Scope = keys.ScopeManage
	k, token, err := o.Service().Issue(t.Context(), fixture.Jo, r)
	assert.NoError(t, err)
	return k, token
}

// somewhere is where customers sign in.
var somewhere = netip.MustParseAddr("203.0.113.9")

// open signs in and returns the digest of the sign-in.
func open(t *testing.T, o fixture.Office, by keys.Digest) keys.Digest {
	t.Helper()
	_, session := keys.NewSecret()
	ok, err := o.API.SignIns.Open(t.Context(), by, session, somewhere, keys.AnyEnvironment)
	assert.NoError(t, err)
	assert.True(t, ok, "not signed in")
	return session
}

// invite makes an invitation to test deployments and returns its digest.
func invite(t *testing.T, o fixture.Office, tenant string) keys.Digest {
	t.Helper()
	return inviteTo(t, o, tenant, keys.Test)
}

func inviteTo(t *testing.T, o fixture.Office, tenant string, env keys.Environment) keys.Digest {
	t.Helper()
	_, digest := keys.NewSecret()
	assert.NoError(t, fixture.ErrorOf(o.SignIns.Invite(t.Context(), fixture.Jo, tenant, env, digest)))
	return digest
}

// isGood reports whether a sign-in is.
func isGood(t *testing.T, o fixture.Office, session keys.Digest) bool {
	t.Helper()
	_, err := o.API.SignIns.Use(t.Context(), session, time.Now(), true)
	if !errors.Is(err, keys.ErrNoSignIn) {
		assert.NoError(t, err)
	}
	return err == nil
}

// TestInvitation: a link signs in once, also if two open it at once. Staff see in the trail who
// made it.
func TestInvitation(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	link := invite(t, o, "acme")
	assert.DeepEqual(
		t,
		lastEntry(t, o),
		remembered{
			ClaimedActor: fixture.Jo.Actor,
			Action:       "tenant.invite",
			Tenant:       "acme",
			Subject:      "tenant:1",
			Reason:       fixture.Jo.Reason,
		},
	)
	refused := errors.New("refused")
	fixture.AtOnce(t, 8, 1, refused, func(i int) error {
		ok, err := o.API.SignIns.Open(t.Context(), link, keys.Digest{byte(i)}, somewhere, keys.Test)
		if err == nil && !ok {
			err = refused
		}
		return err
	})
	late := invite(t, o, "acme")
	o.Exec(t, `update invites set expires_at = now()`)
	ok, err := o.API.SignIns.Open(t.Context(), late, keys.Digest{99}, somewhere, keys.Test)
	assert.NoError(t, err)
	assert.True(t, !ok, "signed in after 15 minutes")
	o.Want(
		t,
		"00:15:00",
		`with i as (insert into invites (digest, tenant_id, environment) values (sha256('x'), 1, 'live') returning *)
			select (expires_at - created_at)::text from i`,
	)
	_, err = o.Tenants.Suspend(t.Context(), fixture.Jo, "acme", time.Time{})
	assert.NoError(t, err)
	assert.ErrorIs(
		t,
		fixture.ErrorOf(o.SignIns.Invite(t.Context(), fixture.Jo, "acme", keys.Live, keys.Digest{2})),
		plans.ErrTenantSuspended,
	)
	o.Want(t, "0", `select count(*)::text from invites`)
}

// TestWhoSignsIn: only a manage key that is good opens a sign-in. It has the tenant, and what comes
// next for it.
func TestWhoSignsIn(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	_, written := o.Issue(t, "acme")
	k, token := manageKey(t, o, "acme")
	_, _, err := o.Keys.Edit(
		t.Context(),
		fixture.Jo,
		k.ID,
		keys.Edit{Allowed: new(keys.Ranges("203.0.113.0/24"))},
		fixture.Noon,
	)
	assert.NoError(t, err)
	for name, digest := range map[string]keys.Digest{"a key that may not manage": written.Digest(), "no key": {1}} {
		ok, err := o.API.SignIns.Open(t.Context(), digest, keys.Digest{9}, somewhere, keys.AnyEnvironment)
		assert.NoError(t, err)
		assert.True(t, !ok, name, "signs in")
	}
	session := open(t, o, token.Digest())
	s, err := o.API.SignIns.Use(t.Context(), session, time.Now(), true)
	assert.NoError(t, err)
	if s.KeyID != k.ID || s.Tenant.Name != "acme" || s.Tenant.Plan != plans.Pro || s.Environment != k.Environment ||
		!s.Access.From(netip.MustParseAddr("203.0.113.9")) ||
		s.Access.From(netip.MustParseAddr("192.0.2.1")) {
		t.Errorf("%+v %+v", s, s.Tenant)
	}
	invited, err := o.API.SignIns.Use(t.Context(), open(t, o, invite(t, o, "acme")), time.Now(), true)
	assert.NoError(t, err)
	assert.True(
		t,
		invited.KeyID == "" && invited.Environment == keys.Test &&
			invited.Access.From(netip.MustParseAddr("192.0.2.1")),
		"by a link",
		invited,
	)
}

// TestSignInsEnd: with time, the key and the tenant, and for ever.
func TestSignInsEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end, back func(o fixture.Office, k keys.Key) error
	}{
		"12 hours":          {sql(`update sign_ins set expires_at = now()`), nil},
		"2 hours of no use": {sql(`update sign_ins set used_at = now() - interval '2 hours'`), nil},
		"the key expires":   {sql(`update api_keys set expires_at = now()`), nil},
		"the key is narrowed": {func(o fixture.Office, k keys.Key) error {
			edit := keys.Edit{Scope: new(keys.ScopeWrite)}
			return errorOf3(o.Keys.Edit(t.Context(), fixture.Jo, k.ID, edit, fixture.Noon))
		}, func(o fixture.Office, k keys.Key) error {
			edit := keys.Edit{Scope: new(keys.ScopeManage)}
			return errorOf3(o.Keys.Edit(t.Context(), fixture.Jo, k.ID, edit, fixture.Noon))
		}},
		"the key is revoked": {func(o fixture.Office, k keys.Key) error {
			return fixture.ErrorOf(o.Keys.Revoke(t.Context(), fixture.Jo, k.ID, time.Now()))
		}, func(o fixture.Office, k keys.Key) error {
			return fixture.ErrorOf(o.Owner.Exec(`update api_keys set revoked_at = null`))
		}},
		"the tenant is suspended": {func(o fixture.Office, _ keys.Key) error {
			return fixture.ErrorOf(o.Tenants.Suspend(t.Context(), fixture.Jo, "acme", time.Time{}))
		}, func(o fixture.Office, _ keys.Key) error {
			return fixture.ErrorOf(o.Tenants.Resume(t.Context(), fixture.Jo, "acme"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := fixture.NewAcme(t)
			k, token := manageKey(t, o, "acme")
			session := open(t, o, token.Digest())
			assert.True(t, isGood(t, o, session), "not good before")
			assert.NoError(t, c.end(o, k))
			assert.True(t, !isGood(t, o, session), "good after")
			if c.back != nil {
				assert.NoError(t, c.back(o, k))
				assert.True(t, !isGood(t, o, session), "good again")
			}
		})
	}
}

func errorOf3[T, U any](_ T, _ U, err error) error { return err }

func sql(statement string) func(fixture.Office, keys.Key) error {
	return func(o fixture.Office, _ keys.Key) error { return fixture.ErrorOf(o.Owner.Exec(statement)) }
}

// TestSignInsGoOn: a use that is noted prolongs a sign-in, another does not.
func TestSignInsGoOn(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	session := open(t, o, invite(t, o, "acme"))
	for noted, want := range map[bool]string{false: "1", true: "2"} {
		o.Exec(t, `update sign_ins set used_at = now() - interval '90 minutes'`)
		assert.NoError(t, fixture.ErrorOf(o.API.SignIns.Use(t.Context(), session, time.Now(), noted)))
		o.Want(
			t,
			want,
			`select ceil(extract(epoch from used_at + interval '2 hours' - now()) / 3600)::text from sign_ins`,
		)
	}
}

// TestSignInsOfATenant: there are 20, each sees those of its tenant, and ends no other's.
func TestSignInsOfATenant(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	o.Tenant(t, "zoo", plans.Free)
	stranger := open(t, o, invite(t, o, "zoo"))
	of, err := o.API.SignIns.List(t.Context(), stranger)
	assert.NoError(t, err)
	k, token := manageKey(t, o, "acme")
	var all []keys.Digest
	for i := range 22 {
		all = append(all, open(t, o, token.Digest()))
		o.Exec(t, `update sign_ins set used_at = used_at - interval '1 second' where tenant_id = 1`)
		if i == 20 {
			assert.True(
				t,
				!isGood(t, o, all[0]) && isGood(t, o, all[1]),
				"the one used longest ago is not the one that ended",
			)
			o.Exec(t, `update sign_ins set used_at = now() - interval '1 minute' where digest = $1`, all[1][:])
		}
	}
	last := all[21]
	list, err := o.API.SignIns.List(t.Context(), last)
	assert.NoError(t, err)
	own := 0
	for _, s := range list {
		if s.KeyID != k.ID || s.KeyName != k.Name || s.At.IsZero() || s.EndsAt.Sub(s.UsedAt) != 2*time.Hour {
			t.Errorf("%+v", s)
		}
		if s.Own {
			own++
		}
	}
	if len(list) != 20 || own != 1 {
		t.Errorf("%d sign-ins, %d own", len(list), own)
	}
	for _, id := range []string{of[0].ID, "x", ""} {
		if err := o.API.SignIns.End(t.Context(), all[0], id); !errors.Is(err, keys.ErrNoSignIn) {
			t.Errorf("one that is over ends %q: %v", id, err)
		}
	}
	assert.ErrorIs(t, o.API.SignIns.End(t.Context(), last, of[0].ID), keys.ErrNoSignIn)
	assert.True(t, isGood(t, o, stranger), "another tenant's was ended")
	other := list[0].ID
	if list[0].Own {
		other = list[1].ID
	}
	assert.NoError(t, o.API.SignIns.End(t.Context(), last, other))
	assert.NoError(t, o.API.SignIns.End(t.Context(), last, ""))
	assert.True(t, !isGood(t, o, last), "its own did not end")
	o.Want(t, "18", `select count(*)::text from sign_ins where tenant_id = 1`)

	invited := open(t, o, inviteTo(t, o, "acme", keys.Live))
	for _, c := range []struct {
		ends   string
		others int
	}{{"1 hour", 18}, {"0", 0}} {
		o.Exec(t, `update api_keys set expires_at = now() + $2::interval where id = $1`, k.ID, c.ends)
		list, err = o.API.SignIns.List(t.Context(), invited)
		list = slices.DeleteFunc(list, func(s keys.SignIn) bool { return s.Own })
		assert.Result(t, len(list), err, c.others, "sign-ins of a key that ends", c.ends)
		for _, s := range list {
			assert.True(t, time.Until(s.EndsAt) < time.Hour, "it ends after its key", s)
		}
	}
}

// TestSignInsOfAnEnvironment: where one database has both, those by test keys and links see, end and
// push out none of the others, and see bans of test keys.
func TestSignInsOfAnEnvironment(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	banned, _ := o.Issue(t, "acme")
	o.Ban(t, banned.ID, time.Hour, time.Now())
	sessions := map[keys.Environment]keys.Digest{}
	lists := map[keys.Environment][]keys.SignIn{}
	for _, env := range []keys.Environment{keys.Live, keys.Test} {
		sessions[env] = open(t, o, inviteTo(t, o, "acme", env))
	}
	for env, session := range sessions {
		list, err := o.API.SignIns.List(t.Context(), session)
		assert.NoError(t, err)
		assert.True(t, len(list) == 1 && list[0].Own, env, list)
		lists[env] = list
		bans, err := o.API.SignIns.Bans(t.Context(), session, time.Now())
		assert.Result(t, len(bans), err, map[keys.Environment]int{keys.Live: 1}[env], "bans", env)
	}
	assert.ErrorIs(t, o.API.SignIns.End(t.Context(), sessions[keys.Test], lists[keys.Live][0].ID), keys.ErrNoSignIn)
	assert.ErrorIs(t, o.API.SignIns.End(t.Context(), sessions[keys.Live], lists[keys.Test][0].ID), keys.ErrNoSignIn)
	for range 20 {
		open(t, o, invite(t, o, "acme"))
	}
	assert.True(t, isGood(t, o, sessions[keys.Live]), "a live one was pushed out")
	assert.True(t, !isGood(t, o, sessions[keys.Test]), "more than 20")
}

// TestRefusedSignInsChangeNothing: what does not sign in ends no sign-in and uses up no invitation.
func TestRefusedSignInsChangeNothing(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	link := invite(t, o, "acme") // to test deployments
	k, narrowed := manageKey(t, o, "acme")
	assert.NoError(t, errorOf3(o.Keys.Edit(
		t.Context(),
		fixture.Jo,
		k.ID,
		keys.Edit{Allowed: new(keys.Ranges("203.0.113.0/24,2001:db8::/32"))},
		fixture.Noon,
	)))
	for range 20 {
		open(t, o, narrowed.Digest())
	}
	state := func() string {
		return o.Text(
			t,
			`select string_agg(id::text, ' ' order by id) || (select count(*) from invites) from sign_ins`,
		)
	}
	before := state()
	for _, c := range []struct {
		by   keys.Digest
		from string
		env  keys.Environment
		want bool
	}{
		{narrowed.Digest(), "198.51.100.1", keys.Live, false},
		{narrowed.Digest(), "::ffff:198.51.100.1", keys.Live, false},
		{narrowed.Digest(), "", keys.Live, false},
		{narrowed.Digest(), "203.0.113.9", keys.Test, false},
		{link, "203.0.113.9", keys.Live, false},
		{keys.Digest{1}, "203.0.113.9", keys.AnyEnvironment, false},
		{narrowed.Digest(), "::ffff:203.0.113.9", keys.Live, true},
		{narrowed.Digest(), "2001:db8::1", keys.AnyEnvironment, true},
		{link, "", keys.Test, true},
	} {
		_, session := keys.NewSecret()
		from, _ := netip.ParseAddr(c.from) // zero for ""
		opened, err := o.API.SignIns.Open(t.Context(), c.by, session, from, c.env)
		assert.Result(t, opened, err, c.want, "from", c.from, "to", c.env)
		assert.Equal(t, state() == before, !c.want, "unchanged: from", c.from, "to", c.env)
	}
}

// TestBansAreShown: those in force of the tenant's keys, and no other's.
func TestBansAreShown(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	o.Tenant(t, "zoo", plans.Free)
	banned, _ := o.Issue(t, "acme")
	lifted, _ := o.Issue(t, "acme")
	others, _ := o.Issue(t, "zoo")
	now := time.Now()
	for _, k := range []keys.Key{banned, lifted, others} {
		o.Ban(t, k.ID, time.Hour, now)
	}
	assert.NoError(t, fixture.ErrorOf(o.Bans.Lift(t.Context(), fixture.Jo, lifted.ID, now)))
	session := open(t, o, inviteTo(t, o, "acme", keys.Live))
	bans, err := o.API.SignIns.Bans(t.Context(), session, now)
	assert.NoError(t, err)
	if len(bans) != 1 || bans[0].ID != banned.ID || bans[0].Name != banned.Name || !bans[0].Ban.InForce(now) ||
		bans[0].Ban.Reason == "" {
		t.Errorf("%+v", bans)
	}
}

// TestPruneSignIns removes what has expired, and nothing else.
func TestPruneSignIns(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	for i := range 3 {
		o.Exec(
			t,
			`insert into sign_ins (digest, tenant_id, invited_by, environment, expires_at) values
				(sha256($1::text::bytea), 1, 'x', 'live', now() - interval '1 second'),
				(sha256($2::text::bytea), 1, 'x', 'live', default)`,
			fmt.Sprint(i),
			fmt.Sprint("x", i),
		)
		o.Exec(
			t,
			`insert into invites (digest, tenant_id, environment, expires_at) values (sha256($1::text::bytea), 1,
				'live', now() - interval '1 second'), (sha256($2::text::bytea), 1, 'live', default)`,
			fmt.Sprint(i),
			fmt.Sprint("x", i),
		)
	}
	for _, want := range []int{4, 2, 0} {
		n, err := o.API.SignIns.Prune(t.Context(), time.Time{}, 2)
		assert.NoError(t, err)
		assert.Equal(t, n, want, "removed")
	}
	o.Want(t, "3 3", `select (select count(*) from sign_ins) || ' ' || (select count(*) from invites)`)
}

// TestSignInsManageKeys: a sign-in manages the tenant's keys as a manage key does, also while that
// is banned, until it ends. The trail names the key, or the sign-in of an invitation.
func TestSignInsManageKeys(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	k, token := manageKey(t, o, "acme")
	byKey, byLink := open(t, o, token.Digest()), open(t, o, invite(t, o, "acme"))
	for want, session := range map[string]keys.Digest{
		"^key:" + k.ID + "$": byKey,
		"^sign-in:[0-9a-f-]{36} invited by " + storetest.SupportLogin + "$": byLink,
	} {
		id, err := keys.NewID()
		assert.NoError(t, err)
		made, err := keys.NewToken(keys.Live)
		assert.NoError(t, err)
		change := keys.CustomerChange{
			Action: "key.issue",
			ID:     id,
			NewID:  id,
			Token:  made,
			Edit:   keys.Edit{Name: new("x"), Scope: new(keys.ScopeRead), Allowed: new(keys.Ranges)},
		}
		own, err := o.API.CustomerKeys.Change(t.Context(), 1, session, change, nil)
		assert.NoError(t, err)
		actor, env := lastEntry(t, o).ClaimedActor, keys.Environment(
			o.Text(t, `select environment from sign_ins where digest = $1`, session[:]),
		)
		if own.ID != id || own.Environment != env || !regexp.MustCompile(want).MatchString(actor) ||
			own.IssuedBy != map[bool]string{true: k.ID, false: "account"}[session == byKey] {
			t.Errorf("%+v by %s", own, actor)
		}
	}
	list, err := o.API.CustomerKeys.List(t.Context(), 1, byKey, keys.CustomerQuery{At: time.Now(), Limit: 10})
	assert.True(t, err == nil && len(list) == 3, list, err)
	assert.NoError(t, o.API.SignIns.End(t.Context(), byKey, ""))
	_, err = o.API.CustomerKeys.List(t.Context(), 1, byKey, keys.CustomerQuery{At: time.Now(), Limit: 10})
	assert.ErrorIs(t, err, keys.ErrRequester)
}

// TestBannedSignIns: who signs in by a banned key makes none that is not banned. They read, rotate
// and revoke.
func TestBannedSignIns(t *testing.T) {
	t.Parallel()
	s := newSelfService(t)
	other, _ := s.key(t, keys.Request{})
	session := open(t, s.Office, s.requester)
	until := time.Now().Add(time.Hour)
	s.Ban(t, s.boss.ID, time.Hour, time.Now())
	s.Ban(t, other.ID, time.Minute, time.Now())
	_, err := s.change(t.Context(), session, keys.CustomerChange{Action: "key.issue"}, nil)
	assert.ErrorIs(t, err, keys.ErrBannedSignIn)
	for _, id := range []string{s.boss.ID, other.ID} {
		made, err := s.change(
			t.Context(),
			session,
			keys.CustomerChange{Action: "key.rotate", ID: id, GracePeriod: time.Hour},
			nil,
		)
		assert.NoError(t, err)
		assert.True(t, made.Ban.EndsAt.Sub(until).Abs() < time.Minute/2, "banned until", made.Ban.EndsAt, "want", until)
		all, err := s.API.CustomerKeys.List(
			t.Context(),
			s.acme.ID,
			session,
			keys.CustomerQuery{ID: made.ID, At: time.Now(), Limit: 1},
		)
		assert.True(t, err == nil && len(all) == 1 && all[0].Status(time.Now()) == keys.Banned, all, err)
	}
	assert.NoError(
		t,
		fixture.ErrorOf(s.change(t.Context(), session, keys.CustomerChange{Action: "key.revoke", ID: other.ID}, nil)),
	)
	s.Exec(t, `update bans set lifted_at = now()`)
	assert.NoError(
		t,
		fixture.ErrorOf(s.change(t.Context(), session, keys.CustomerChange{Action: "key.issue"}, nil)),
		"afterwards",
	)
}

// TestStaleSignInsMakeNoManageKeys: a quarter of an hour after a sign-in the database lets it
// issue, rotate and give no key that may manage keys, and change neither addresses nor end of one,
// whatever a server asks for. A manage key always may.
func TestStaleSignInsMakeNoManageKeys(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	boss, token := manageKey(t, o, "acme")
	change := func(requester keys.Digest, action, id string, scope *keys.Scope) (keys.CustomerKey, error) {
		made, err := keys.NewToken(keys.Live)
		assert.NoError(t, err)
		newID, err := keys.NewID()
		assert.NoError(t, err)
		c := keys.CustomerChange{
			Action:      action,
			ID:          cmp.Or(id, newID),
			NewID:       newID,
			Token:       made,
			GracePeriod: time.Hour,
			Edit:        keys.Edit{Scope: scope},
			From:        somewhere,
		}
		switch action {
		case "key.issue":
			c.Edit.Name, c.Edit.Allowed = new("x"), new(keys.Ranges)
		case "addresses":
			c.Action, c.Edit.Allowed = "key.edit", new(keys.Ranges("10.0.0.0/8"))
		case "end":
			c.Action, c.Edit.ExpiresAt = "key.edit", new(time.Time)
		}
		return o.API.CustomerKeys.Change(t.Context(), 1, requester, c, nil)
	}
	manage, write := keys.ScopeManage, keys.ScopeWrite
	other, err := change(token.Digest(), "key.issue", "", &write)
	assert.NoError(t, err)
	sessions := []keys.Digest{open(t, o, token.Digest()), open(t, o, invite(t, o, "acme"))}
	o.Exec(t, `update sign_ins set created_at = now() - interval '15 minutes'`)
	for i, session := range sessions {
		for _, refused := range []struct {
			action, id string
			scope      *keys.Scope
		}{
			{"key.issue", "", &manage}, {"key.edit", other.ID, &manage}, {"key.rotate", boss.ID, nil},
			{"addresses", boss.ID, nil}, {"end", boss.ID, nil},
		} {
			want := keys.ErrStaleSignIn
			if i == 1 && refused.id != "" {
				want = keys.ErrKeyNotFound // That sign-in is for staging.
			}
			assert.ErrorIs(t, fixture.ErrorOf(change(session, refused.action, refused.id, refused.scope)), want)
		}
		_, err := change(session, "key.issue", "", &write)
		assert.NoError(t, err)
	}
	assert.ErrorIs(
		t,
		fixture.ErrorOf(change(sessions[0], "key.rotate", "key_0000000000000000", nil)),
		keys.ErrKeyNotFound,
	)
	assert.NoError(t, fixture.ErrorOf(change(sessions[0], "key.rotate", other.ID, nil)))
	assert.NoError(t, fixture.ErrorOf(change(token.Digest(), "key.rotate", boss.ID, nil)))
	assert.NoError(t, fixture.ErrorOf(change(token.Digest(), "key.issue", "", &manage)))
	o.Exec(t, `update sign_ins set created_at = now() - interval '14 minutes'`)
	assert.NoError(t, fixture.ErrorOf(change(sessions[0], "key.issue", "", &manage)))
}
