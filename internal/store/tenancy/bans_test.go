package tenancy_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"petstore.example/internal/keys"
	"petstore.example/internal/keys/callers"
	"petstore.example/internal/keys/strikes"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/store/trail"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/storetest"
)

func TestPlaceAutomaticBan(t *testing.T) {
	t.Parallel()
	db := fixture.NewMeteredDB(t)
	k := db.Key(t, 1)
	length := banLengths(t, db.Database)
	notices := db.Listen(t)
	got, err := db.API.Bans.PlaceAutomaticBan(t.Context(), k.TenantID, k.ID)
	assert.NoError(t, err)
	want := keys.Ban{
		ID: got.ID, TenantID: k.TenantID, TenantName: k.Tenant, KeyID: k.ID, Source: keys.Automatic,
		Reason: keys.AutomaticReason, StartsAt: got.StartsAt, EndsAt: got.StartsAt.Add(length[0]),
	}
	if age := time.Since(got.StartsAt); age < 0 || age > time.Minute {
		t.Errorf("the ban began %v ago", age)
	}
	assert.DeepEqual(t, got, want, "ban")
	digest := db.Text(t, `select left(encode(digest, 'hex'), 32) from api_keys where id = $1`, k.ID)
	if got, want := notices(t), "key "+digest; got != want {
		t.Errorf("notice %q, want %q", got, want)
	}
	checkBanAudit(t, db, k, got.EndsAt)
}

// TestBansAreWholeSeconds: what a customer reads in HTTP, which knows whole seconds, is what the
// staff's list says.
func TestBansAreWholeSeconds(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	automatic, _ := o.Issue(t, "acme")
	byStaff, _ := o.Issue(t, "acme")
	placed, err := o.API.Bans.PlaceAutomaticBan(t.Context(), automatic.TenantID, automatic.ID)
	assert.NoError(t, err)
	now := placed.StartsAt.Add(400 * time.Millisecond)
	bans := []keys.Ban{o.Ban(t, byStaff.ID, 15*time.Minute, now), placed}
	for _, b := range bans {
		if b.StartsAt != now.Truncate(time.Second) || b.EndsAt != b.StartsAt.Add(15*time.Minute) {
			t.Errorf("%s: from %v to %v, want 15 minutes from %v", b.Source, b.StartsAt, b.EndsAt, now)
		}
		assert.Equal(t, limits.RetryAfter(b.EndsAt.Unix(), now), 900, b.Source, "Retry-After")
	}
	listed, err := store.Collect(o.Bans.List(t.Context(), tenancy.BanFilter{Limit: 10}, now))
	assert.NoError(t, err)
	slices.SortFunc(listed, func(a, b keys.Ban) int { return strings.Compare(string(b.Source), string(a.Source)) })
	assert.DeepEqual(t, listed, bans, "listed -placed +listed")
}

func checkBanAudit(t *testing.T, db fixture.MeteredDB, k fixture.MeteredKey, end time.Time) {
	t.Helper()
	entries, err := store.Collect(db.API.Audit.List(t.Context(), trail.Filter{Limit: 10}))
	assert.True(t, err != nil, "the API can read the audit entries", entries)
	type entry struct{ Actor, Action, Tenant, Subject, Reason, Key, Source, Ends string }
	var got entry
	var after string
	err = db.Owner.QueryRowContext(t.Context(), `
		select a.claimed_actor, a.action, t.name, a.subject, a.reason, a.after
		from audit_entries a join tenants t on t.id = a.tenant_id where a.before is null`).
		Scan(&got.Actor, &got.Action, &got.Tenant, &got.Subject, &got.Reason, &after)
	assert.NoError(t, err)
	var record map[string]any
	assert.NoError(t, json.Unmarshal([]byte(after), &record))
	got.Key, got.Source, got.Ends = fmt.Sprint(record["key_id"]), fmt.Sprint(
		record["source"],
	), fmt.Sprint(record["ends_at"])
	want := entry{
		"petstore", "ban.place", k.Tenant, k.ID, keys.AutomaticReason, k.ID, "automatic", end.Format(time.RFC3339),
	}
	assert.DeepEqual(t, got, want, "audit entry")
}

// TestAutomaticBansGrow: they are as long as NextBan said, and as the owner set, for `petstore
// dev`.
func TestAutomaticBansGrow(t *testing.T) {
	t.Parallel()
	db := fixture.NewMeteredDB(t)
	k, other := db.Key(t, 1), db.Key(t, 1)
	length := banLengths(t, db.Database)
	first := length[0] + time.Minute
	var passed time.Duration
	for _, step := range []struct {
		name string
		key  fixture.MeteredKey
		at   time.Duration
		// lift ends the key's bans at once, as staff do.
		lift    bool
		earlier int // that count for its length
	}{
		{"first", k, 0, false, 0},
		{"second", k, first, false, 1},
		{"another key's first", other, first + time.Minute, true, 0},
		{"another key's, after one that was lifted", other, first + 2*time.Minute, false, 0},
		{"third", k, 24 * time.Hour, false, 2},
		{"fourth", k, 3 * 24 * time.Hour, false, 3},
		{"two within seven days", k, 7*24*time.Hour + first + time.Minute, false, 2},
		{"one within seven days", k, 14*24*time.Hour + first, false, 1},
		{"none within seven days", k, 21*24*time.Hour + first + time.Minute, false, 0},
	} {
		// Time passes by making the bans older.
		db.Exec(
			t,
			`update bans set starts_at = starts_at - $1 * interval '1 second', ends_at = ends_at - $1 * interval
				'1 second'`,
			(step.at - passed).Seconds(),
		)
		passed = step.at
		next, err := db.API.Bans.NextBan(t.Context(), step.key.ID, time.Now())
		assert.NoError(t, err)
		b, err := db.API.Bans.PlaceAutomaticBan(t.Context(), step.key.TenantID, step.key.ID)
		assert.NoError(t, err)
		want := length[min(step.earlier, len(length)-1)]
		if got := b.EndsAt.Sub(b.StartsAt); got != want || next != got || time.Since(b.StartsAt) > time.Minute {
			t.Errorf("%s: %v from %v, and %v was said before; want %v", step.name, got, b.StartsAt, next, want)
		}
		if step.lift {
			db.Exec(t, `update bans set lifted_at = now() where key_id = $1`, step.key.ID)
		}
	}
	owner := storetest.Open(t, db.URL, store.Options{})
	assert.NoError(t, owner.Bans.SetLengths(t.Context(), 10*time.Second, 30*time.Second, time.Minute))
	for earlier, want := range []time.Duration{10 * time.Second, 30 * time.Second, time.Minute, time.Minute} {
		key := db.Key(t, 1)
		db.Exec(t, `
			insert into bans (tenant_id, key_id, source, reason, starts_at, ends_at)
			select $1, $2, 'automatic', '', now(), now() + interval '1 second' from generate_series(1,
			  $3)`, key.TenantID, key.ID, earlier)
		got, err := db.API.Bans.NextBan(t.Context(), key.ID, time.Now())
		assert.Result(t, got, err, want, "after", earlier, "bans of petstore dev")
	}
}

func TestPlaceAutomaticBanDuringABan(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]keys.BanSource{"automatic": keys.Automatic, "by staff": keys.ByStaff} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := fixture.NewMeteredDB(t)
			k, now := db.Key(t, 1), time.Now().UTC().Truncate(time.Second)
			db.Exec(t, `
				insert into bans (tenant_id, key_id, source, reason, starts_at, ends_at) values ($1, $2, $3, 'why',
					$4, $5)`,
				k.TenantID, k.ID, string(source), now, now.Add(time.Hour))
			b, err := db.API.Bans.PlaceAutomaticBan(t.Context(), k.TenantID, k.ID)
			assert.NoError(t, err)
			if b.Source != source || b.Reason != "why" || !b.EndsAt.Equal(now.Add(time.Hour)) {
				t.Errorf("%+v, want the ban in force", b)
			}
			assert.Equal(t, db.Text(t, `select count(*) from bans`), "1", "bans")
			db.Exec(t, `update bans set starts_at = starts_at - interval '1 hour', ends_at = clock_timestamp()`)
			b, err = db.API.Bans.PlaceAutomaticBan(t.Context(), k.TenantID, k.ID)
			if err != nil || b.Source != keys.Automatic || b.Reason != keys.AutomaticReason {
				t.Errorf("at its end: %+v, %v, want a new ban", b, err)
			}
		})
	}
}

func TestPlaceAutomaticBanOnManyServersAtOnce(t *testing.T) {
	t.Parallel()
	db := fixture.NewMeteredDB(t)
	k := db.Key(t, 1)
	servers := []*store.DB{db.API, storetest.Open(t, db.APIURL, store.Options{AsAPI: true})}
	ids := make([]int64, 16)
	fixture.AtOnce(t, len(ids), len(ids), nil, func(i int) error {
		b, err := servers[i%2].Bans.PlaceAutomaticBan(t.Context(), k.TenantID, k.ID)
		ids[i] = b.ID
		return err
	})
	one := slices.Compact(ids)
	assert.Equal(t, len(one), 1, "bans", one)
	db.Want(t, "1 1", `select (select count(*) from bans) || ' ' || (select count(*) from audit_entries)`)
}

// TestBansPlacedAtOnce: of bans that staff place on one key at the same time, one is in force after
// them.
func TestBansPlacedAtOnce(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	k, _ := o.Issue(t, "acme")
	fixture.AtOnce(t, 8, 8, nil, func(int) error {
		ban := tenancy.NewBan{KeyID: k.ID, Length: time.Hour, Reason: "abuse"}
		return fixture.ErrorOf(o.Bans.Place(t.Context(), fixture.Jo, ban, fixture.Noon))
	})
	o.Want(t, "1", `select count(*) from bans where lifted_at is null`)
}

func TestPlaceAutomaticBanOnNobodysKey(t *testing.T) {
	t.Parallel()
	db := fixture.NewMeteredDB(t)
	k, other := db.Key(t, 1), db.Key(t, 2)
	for _, c := range []struct {
		tenantID int64
		keyID    string
	}{{k.TenantID, "key_zzzzzzzzzzzzzzzz"}, {other.TenantID, k.ID}} {
		_, err := db.API.Bans.PlaceAutomaticBan(t.Context(), c.tenantID, c.keyID)
		assert.ErrorIs(t, err, keys.ErrKeyNotFound, "tenant", c.tenantID, "key", c.keyID)
	}
}

func TestTheRequestAfterOneRefusalTooManyMeetsTheBan(t *testing.T) {
	t.Parallel()
	db := fixture.NewMeteredDB(t)
	token, err := keys.NewToken(keys.Live)
	assert.NoError(t, err)
	k, digest := db.Key(t, 1), token.Digest()
	db.Exec(t, `update api_keys set digest = $1 where id = $2`, digest[:], k.ID)
	directory := callers.NewDirectory(db.API.Keys, keys.Live, time.Now)
	directory.FeedProven(time.Now().Add(time.Hour)) // for the whole test
	strikes := strikes.New(strikes.Options{
		Bans: db.API.Bans, OnBan: func(b keys.Ban) { directory.TenantChanged(b.TenantID) }, Log: zerolog.Nop(),
	})
	defer strikes.Close()
	for n := range 3002 {
		caller, err := directory.Lookup(t.Context(), token)
		assert.NoError(t, err)
		if got, want := caller.Banned(time.Now()) != nil, n == 3001; got != want {
			t.Fatalf("after %d refusals of a plan of 300 a minute: banned %v, want %v", n, got, want)
		}
		strikes.Refused(t.Context(), caller, 1, time.Now())
	}
}

// banLengths returns how long an automatic ban lasts after 0, 1, 2 and more earlier ones.
func banLengths(t *testing.T, d fixture.Database) (lengths []time.Duration) {
	t.Helper()
	d.Rows(t, &lengths, `select 1000000000 * extract(epoch from length)::bigint from ban_lengths order by earlier`)
	return lengths
}

// TestDocumentedLengths: the pages on bans have the rows of ban_lengths.
func TestDocumentedLengths(t *testing.T) {
	t.Parallel()
	lengths := banLengths(t, fixture.NewDatabase(t))
	table, sentence := "| earlier bans | minutes of the next one |\n|---|---|\n", ""
	places := []string{
		"The first ban lasts",
		", a second one within 7 days lasts",
		", a third one",
		", a fourth one",
		", a fifth one",
		", a sixth one",
	}
	for earlier, length := range lengths {
		more, unit, n := "", "minute", length.Minutes()
		if earlier == len(lengths)-1 {
			more, places[earlier] = " or more", ", and every further one"
		}
		table += fmt.Sprintf("| %d%s | %.0f |\n", earlier, more, n)
		if length >= time.Hour {
			unit, n = "hour", length.Hours()
		}
		if n != 1 {
			unit += "s"
		}
		sentence += fmt.Sprintf("%s %.0f %s", places[earlier], n, unit)
	}
	sandbox.Page(t, "../../keys/README.md", regexp.MustCompile(`\| earlier bans .*\n(?:\|.*\n)*`), table)
	sandbox.Page(t, "../../../docs/rate-limiting.md", regexp.MustCompile(`The first ban lasts [^.]*`), sentence)
}

func TestBansAreAudited(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	key, _ := o.Issue(t, "acme")
	o.Ban(t, key.ID, time.Hour, fixture.Noon)
	record := map[string]any{
		"key_id": key.ID, "source": "staff", "redacted": []any{"reason"},
		"starts_at": "2026-11-20T12:00:00Z", "ends_at": "2026-11-20T13:00:00Z",
	}
	entry := remembered{
		ClaimedActor: "jo@support-3",
		Action:       "ban.place",
		Tenant:       "acme",
		Subject:      key.ID,
		Reason:       "because",
		After:        record,
	}
	assert.DeepEqual(t, lastEntry(t, o), entry, "remembered")

	// A shorter one takes its place: the earlier is lifted, and remembered as what was before.
	minute := fixture.Noon.Add(time.Minute)
	o.Ban(t, key.ID, time.Second, minute)
	delete(record, "redacted")
	if got := lastEntry(t, o); !cmp.Equal(record, got.Before) || got.After["redacted"] != nil {
		t.Errorf("before: %v", got.Before)
	}
	_, err := o.Bans.Lift(t.Context(), fixture.Jo, key.ID, minute)
	assert.NoError(t, err)
	if got := lastEntry(t, o); got.Action != "ban.lift" || got.After["lifted_at"] != "2026-11-20T12:01:00Z" {
		t.Errorf("remembered %+v", got)
	}
}

func TestLiftBanEndsAllInForce(t *testing.T) {
	t.Parallel()
	o := fixture.NewOffice(t)
	acme := o.Tenant(t, "acme", plans.Pro)
	key, _ := o.Issue(t, "acme")
	// Two servers may each have banned the key.
	for _, minutes := range []int{15, 60, 30} {
		o.Exec(t, `
			insert into bans (tenant_id, key_id, source, reason, starts_at, ends_at)
			values ($1, $2, 'automatic', 'x', $3::timestamptz, $3::timestamptz + make_interval(mins => $4))`, acme.ID,
			key.ID, fixture.Noon, minutes)
	}
	lifted, err := o.Bans.Lift(t.Context(), fixture.Jo, key.ID, fixture.Noon)
	if err != nil || !lifted.EndsAt.Equal(fixture.Noon.Add(time.Hour)) {
		t.Errorf("lifted %+v, %v", lifted, err)
	}
	left, err := store.Collect(o.Bans.List(t.Context(), tenancy.BanFilter{Limit: 9}, fixture.Noon))
	assert.Result(t, len(left), err, 0, "left in force")
}
