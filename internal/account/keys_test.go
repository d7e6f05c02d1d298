package account_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/account"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/store"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/wait"
)

var (
	onceIn   = regexp.MustCompile(`name="once" value="([^"]+)"`)
	secretIn = regexp.MustCompile(`>(pst_live_[0-9A-Za-z]{36})<`)
)

// form has a new key's values and the token of a form of the page.
func (s *site) form(t *testing.T, cookie *http.Cookie, pairs ...string) url.Values {
	t.Helper()
	once := onceIn.FindStringSubmatch(text(t, s.do("GET", "/account/keys", nil, cookie)))
	if once == nil {
		t.Fatal("no form")
	}
	form := url.Values{"once": {once[1]}, "name": {"dashboard"}, "scope": {"read"}}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return form
}

// all are acme's keys as staff see them, the newest first.
func (s *site) all(t *testing.T) []keys.Key {
	t.Helper()
	list, err := store.Collect(s.staff.Keys.List(t.Context(), tenancy.KeyFilter{Tenant: "acme"}, time.Now()))
	assert.NoError(t, err)
	return list
}

// made returns the plaintext on the page of a new key.
func made(t *testing.T, r *http.Response) keys.Token {
	t.Helper()
	page := text(t, r)
	found := secretIn.FindStringSubmatch(page)
	if r.StatusCode != 200 || found == nil {
		t.Fatalf("no key: %d\n%s", r.StatusCode, page)
	}
	token, err := keys.ParseToken(found[1])
	assert.NoError(t, err)
	return token
}

// TestIssueKey: the form makes the key that was described, whose plaintext is shown once; sent
// again, it makes no other.
func TestIssueKey(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	cookie := s.signIn(t, "acme")
	day := time.Now().AddDate(0, 0, 2).UTC().Truncate(24 * time.Hour)
	form := s.form(
		t,
		cookie,
		"name",
		" <b>dash</b> ",
		"addresses",
		"203.0.113.0/24,\r\n192.0.2.1 ",
		"expires",
		day.Format(time.DateOnly),
		"per-minute",
		"7",
	)
	token := made(t, s.do("POST", "/account/keys", form, cookie))
	k := s.all(t)[0]
	if k.Name != "<b>dash</b>" || k.Scope != keys.ScopeRead || k.Allowed != "192.0.2.1,203.0.113.0/24" ||
		!k.ExpiresAt.Equal(day) ||
		k.PerMinute != 7 ||
		k.Last4 != token.Last4() ||
		k.Environment != keys.Live {
		t.Errorf("%+v", k)
	}
	again := s.do("POST", "/account/keys", form, cookie)
	page := text(t, again)
	assert.True(
		t,
		again.StatusCode == 400 && strings.Contains(page, "made the key "+k.ID) &&
			!strings.Contains(page, token.Reveal()),
		again.StatusCode,
		page,
	)
	assert.Equal(t, len(s.all(t)), 1, "keys")
	list := text(t, s.do("GET", "/account/keys", nil, cookie))
	assert.True(
		t,
		strings.Contains(list, "&lt;b&gt;dash&lt;/b&gt;") && strings.Contains(list, k.ID) &&
			!strings.Contains(list, token.Reveal()),
		list,
	)
}

// TestWrongKeyForms: what is wrong is named, what was typed stays, and nothing is made.
func TestWrongKeyForms(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	cookie := s.signIn(t, "acme")
	for want, pairs := range map[string][]string{
		"Name: 1 to 100":                        {"name", ""},
		"Name: 1 to 100 ":                       {"name", strings.Repeat("ö", 101)},
		"Scope: choose one":                     {"scope", "admin"},
		"10.0.0.0/8":                            {"addresses", "10.0.0.1/8"},
		"Expires: a day in the future":          {"expires", "2020-01-01"},
		"Expires: a day in the future, such as": {"expires", "<script>"},
		"Requests per minute":                   {"per-minute", "0"},
	} {
		r := s.do("POST", "/account/keys", s.form(t, cookie, append([]string{"name", "typed"}, pairs...)...), cookie)
		page := text(t, r)
		typed := pairs[0] == "name" || strings.Contains(page, `value="typed"`)
		assert.True(
			t,
			r.StatusCode == 400 && strings.Contains(page, strings.TrimSpace(want)) && typed &&
				!strings.Contains(page, "<script>"),
			want,
			r.StatusCode,
			page,
		)
	}
	for _, once := range []string{"", "x"} {
		assert.Equal(
			t,
			s.do("POST", "/account/keys", s.form(t, cookie, "once", once), cookie).StatusCode,
			400,
			"a form of another site",
		)
	}
	assert.Equal(t, len(s.all(t)), 0, "keys")
	made(t, s.do("POST", "/account/keys", s.form(t, cookie, "addresses", "203.0.113.0/24", "confirm", "yes"), cookie))
	for range 9 {
		made(t, s.do("POST", "/account/keys", s.form(t, cookie), cookie))
	}
	full := text(t, s.do("POST", "/account/keys", s.form(t, cookie), cookie))
	assert.True(t, strings.Contains(full, "10 active keys"), full)
}

// TestRotateAndRevoke: the page does both for keys of the tenant, and for no other's; of those it
// says the same as of unknown ones.
func TestRotateAndRevoke(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	k, _ := s.key(t, keys.Request{Name: "import"})
	theirs, _ := s.key(t, keys.Request{Tenant: "zoo"})
	cookie := s.signIn(t, "acme")
	token := made(t, s.do("POST", "/account/keys/rotate", s.form(t, cookie, "id", k.ID, "grace", "1"), cookie))
	now := s.all(t)
	if now[0].Last4 != token.Last4() || now[0].Name != "import" || !now[0].ExpiresAt.IsZero() || now[1].ID != k.ID ||
		now[1].ExpiresAt.Sub(now[0].CreatedAt).Round(time.Second) != time.Hour {
		t.Errorf("%+v", now)
	}
	again := s.do("POST", "/account/keys/rotate", s.form(t, cookie, "id", k.ID, "grace", "1"), cookie)
	said := text(t, again)
	assert.True(t, again.StatusCode == 409 && strings.Contains(said, "already: "+now[0].ID+" takes its place") &&
		strings.Contains(said, "<code>"+now[0].ID+"</code> takes its place"), "rotated again", again.StatusCode, said)
	r := s.do("POST", "/account/keys/revoke", url.Values{"id": {now[0].ID}, "reason": {"it leaked"}}, cookie)
	assert.True(
		t,
		r.StatusCode == 303 && r.Header.Get("Location") == "/account/keys" && !s.all(t)[0].RevokedAt.IsZero(),
		r.StatusCode,
	)
	for path, form := range map[string]url.Values{"/account/keys/rotate": s.form(t, cookie, "grace", "24"),
		"/account/keys/revoke": {}} {
		form.Set("id", "key_0000000000000000")
		want := text(t, s.do("POST", path, form, cookie))
		for _, id := range []string{theirs.ID, "", "x", "<script>"} {
			form.Set("id", id)
			r := s.do("POST", path, form, cookie)
			assert.True(t, r.StatusCode == 404 && text(t, r) == want, path, id, r.StatusCode)
		}
	}
	other, err := s.staff.Keys.Get(t.Context(), theirs.ID)
	assert.True(t, err == nil && other.RevokedAt.IsZero() && other.ExpiresAt.IsZero(), other, err)
	for _, grace := range []string{"", "-1", "169", "x"} {
		assert.Equal(
			t,
			s.do("POST", "/account/keys/rotate", s.form(t, cookie, "id", k.ID, "grace", grace), cookie).StatusCode,
			400,
			"grace",
			grace,
		)
	}
	assert.Equal(
		t,
		s.do(
			"POST",
			"/account/keys/revoke",
			url.Values{"id": {k.ID}, "reason": {strings.Repeat("x", 201)}},
			cookie,
		).StatusCode,
		400,
		"a long reason",
	)
	ending, _ := s.key(t, keys.Request{Name: "ends", ExpiresAt: time.Now().Add(72 * time.Hour)})
	for day, want := range map[string]int{"2001-01-01": 400, "2199-01-02": 200} {
		form := s.form(t, cookie, "id", ending.ID, "grace", "1", "expires", day)
		r := s.do("POST", "/account/keys/rotate", form, cookie)
		said := text(t, r)
		assert.True(
			t,
			r.StatusCode == want && strings.Contains(said, "expires on") == (want == 200),
			day,
			r.StatusCode,
			said,
		)
	}
	assert.Equal(t, s.all(t)[0].ExpiresAt.Format(time.DateOnly), "2199-01-02", "its end")
}

// TestManageKeys: the page makes them a quarter of an hour after the sign-in at most. The last one
// is rotated, and not revoked; a sign-in by one ends with it.
func TestManageKeys(t *testing.T) {
	t.Parallel()
	later := time.Duration(0)
	s := newSite(t, func(c *account.Config) { c.Now = func() time.Time { return time.Now().Add(later) } })
	cookie := s.signIn(t, "acme")
	token := made(t, s.do("POST", "/account/keys", s.form(t, cookie, "scope", "manage"), cookie))
	k := s.all(t)[0]
	assert.Equal(t, k.Scope, keys.ScopeManage, "scope")
	last := s.do("POST", "/account/keys/revoke", url.Values{"id": {k.ID}}, cookie)
	assert.True(
		t,
		last.StatusCode == 409 && strings.Contains(text(t, last), "your last key with the scope manage"),
		last.StatusCode,
	)
	byKey := cookieOf(t, s.do("POST", "/account/sign-in", url.Values{"key": {token.Reveal()}}, nil))
	write, _ := s.key(t, keys.Request{})
	later = 15 * time.Minute
	for path, form := range map[string]url.Values{"/account/keys": s.form(t, cookie, "scope", "manage"),
		"/account/keys/rotate": s.form(t, cookie, "id", k.ID, "grace", "0"),
		"/account/keys/edit":   s.inForm(t, cookie, write.ID, "scope", "manage")} {
		r := s.do("POST", path, form, cookie)
		assert.True(
			t,
			(r.StatusCode == 400 || r.StatusCode == 403) &&
				strings.Contains(text(t, r), "within 15 minutes of a sign-in"),
			path,
			r.StatusCode,
		)
	}
	made(t, s.do("POST", "/account/keys", s.form(t, cookie), cookie))
	later = 0
	made(t, s.do("POST", "/account/keys", s.form(t, cookie, "scope", "manage"), cookie))
	r := s.do("POST", "/account/keys/revoke", url.Values{"id": {k.ID}}, byKey)
	assert.True(
		t,
		r.StatusCode == 303 && r.Header.Get("Location") == "/account/sign-in?ended=key",
		r.StatusCode,
		r.Header,
	)
	assert.Equal(
		t,
		s.do("GET", "/account/keys", nil, byKey).Header.Get("Location"),
		"/account/sign-in?ended=session",
		"after its key was revoked",
	)
}

// TestKeyOfTheSignIn: the page says which one it is. Its rotation shows the new key; the sign-in
// goes on while the old one works, and then it is said why it has ended.
func TestKeyOfTheSignIn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	k, plaintext := s.key(t, keys.Request{Name: "console", Scope: keys.ScopeManage})
	s.key(t, keys.Request{Name: "import"})
	const mark = "You signed in with this key"
	page := text(t, s.do("GET", "/account/keys", nil, s.signIn(t, "acme")))
	assert.True(t, !strings.Contains(page, mark), "signed in by a link", page)
	cookie := cookieOf(t, s.do("POST", "/account/sign-in", url.Values{"key": {plaintext}}, nil))
	page = text(t, s.do("GET", "/account/keys", nil, cookie))
	_, card, _ := strings.Cut(page, "<code>"+k.ID+"</code>")
	assert.True(t, strings.Count(page, mark) == 1 && strings.Index(card, mark) < strings.Index(card, "</li>"), page)
	rotate := func(cookie *http.Cookie, id, grace, want string) (successor keys.Token) {
		t.Helper()
		page := text(t, s.do("POST", "/account/keys/rotate", s.form(t, cookie, "id", id, "grace", grace), cookie))
		found := secretIn.FindStringSubmatch(page)
		assert.True(t, found != nil && strings.Contains(page, want), want, page)
		successor, err := keys.ParseToken(found[1])
		assert.NoError(t, err)
		return successor
	}
	successor := rotate(cookie, k.ID, "1", "You will be signed out when it ends")
	assert.Equal(t, s.do("GET", "/account/keys", nil, cookie).StatusCode, 200, "while the old key works")
	cookie = cookieOf(t, s.do("POST", "/account/sign-in", url.Values{"key": {successor.Reveal()}}, cookie))
	successor = rotate(cookie, s.all(t)[0].ID, "0", `href="/account/sign-in?ended=key"`)
	r := s.do("GET", "/account/keys", nil, cookie)
	assert.Equal(t, r.Header.Get("Location"), "/account/sign-in?ended=session", "after the old key's end")
	for ended, want := range map[string]string{"key": "The key that you signed in with has ended.",
		"session": "A sign-in ends after 2 hours without use", "<script>": "A sign-in ends"} {
		page := text(t, s.do("GET", "/account/sign-in?ended="+url.QueryEscape(ended), nil, cookie))
		assert.True(
			t,
			strings.Contains(page, want) && strings.Contains(page, "the new one") &&
				!strings.Contains(page, "<script>"),
			ended,
			page,
		)
	}
	assert.True(
		t,
		!strings.Contains(text(t, s.do("GET", "/account/sign-in", nil, nil)), "signed out"),
		"a stranger is signed out",
	)
	cookie = cookieOf(t, s.do("POST", "/account/sign-in", url.Values{"key": {successor.Reveal()}}, cookie))
	newID, err := keys.NewID()
	assert.NoError(t, err)
	token, err := keys.NewToken(keys.Live)
	assert.NoError(t, err)
	change := keys.CustomerChange{
		Action:      "key.rotate",
		ID:          s.all(t)[0].ID,
		NewID:       newID,
		Token:       token,
		GracePeriod: 5 * time.Second,
	}
	_, err = s.api.CustomerKeys.Change(t.Context(), k.TenantID, keys.DigestOf(cookie.Value), change, nil)
	assert.NoError(t, err)
	assert.Equal(t, s.do("GET", "/account", nil, cookie).StatusCode, 200, "within the grace period")
	wait.Until(
		t,
		"the sign-in has ended with the old key",
		func() bool { return s.do("GET", "/account", nil, cookie).StatusCode == 303 },
	)
}

// TestRevokedReplacements: the form that revokes a key offers to take along what it made of itself,
// and only then. A key by which somebody signed in is not taken for a lost one.
func TestRevokedReplacements(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.key(t, keys.Request{Name: "other", Scope: keys.ScopeManage})
	k, plaintext := s.key(t, keys.Request{Name: "console", Scope: keys.ScopeManage})
	cookie := cookieOf(t, s.do("POST", "/account/sign-in", url.Values{"key": {plaintext}}, nil))
	const offer = `name="replacements"`
	assert.True(t, !strings.Contains(text(t, s.do("GET", "/account/keys", nil, cookie)), offer), "offered to none")
	rotation := func() url.Values { return s.form(t, cookie, "id", k.ID, "grace", "24") }
	lost := made(t, s.do("POST", "/account/keys/rotate", rotation(), cookie))
	r := s.do("POST", "/account/keys/rotate", rotation(), cookie)
	said := text(t, r)
	assert.True(t, r.StatusCode == 200 && strings.Contains(said, "a replacement that nobody had used"), said)
	kept, err := keys.ParseToken(secretIn.FindStringSubmatch(said)[1])
	assert.NoError(t, err)
	signIn := func(token keys.Token) int {
		return s.do("POST", "/account/sign-in", url.Values{"key": {token.Reveal()}}, nil).StatusCode
	}
	assert.True(t, signIn(lost) != 303 && signIn(kept) == 303, "which of both is good")
	assert.Equal(t, s.do("POST", "/account/keys/rotate", rotation(), cookie).StatusCode, 409, "after it was used")
	assert.Equal(t, strings.Count(text(t, s.do("GET", "/account/keys", nil, cookie)), offer), 1, "offers")
	r = s.do("POST", "/account/keys/revoke", url.Values{"id": {k.ID}, "replacements": {"yes"}}, cookie)
	assert.True(t, r.StatusCode == 303 && signIn(kept) != 303, "revoked with it", r.StatusCode)
}

// TestActiveKeysAreListed: those that are older than a hundred ended ones too, before these.
func TestActiveKeysAreListed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	first, _ := s.key(t, keys.Request{Name: "first"})
	banned, _ := s.key(t, keys.Request{Name: "banned"})
	_, err := s.staff.Bans.Place(
		t.Context(),
		by,
		tenancy.NewBan{KeyID: banned.ID, Length: 24 * time.Hour, Reason: "it floods"},
		time.Now(),
	)
	assert.NoError(t, err)
	for range 101 {
		ended, _ := s.key(t, keys.Request{Name: "ended"})
		_, err := (&keys.Service{Store: s.staff.Keys}).Revoke(t.Context(), by, ended.ID)
		assert.NoError(t, err)
	}
	last, _ := s.key(t, keys.Request{Name: "last"})
	page := text(t, s.do("GET", "/account/keys", nil, s.signIn(t, "acme")))
	at := 0
	for _, want := range []string{last.ID, banned.ID, first.ID, `id="new"`, "<h3>"} {
		next := strings.Index(page[at:], want)
		if next < 0 {
			t.Fatalf("no %s in its place\n%s", want, page)
		}
		at += next
	}
	assert.Equal(t, strings.Count(page, "<h3>"), 20, "ended keys")
}

// inForm is what the page's form that changes the key has, with other values for some of it.
func (s *site) inForm(t *testing.T, cookie *http.Cookie, id string, pairs ...string) url.Values {
	t.Helper()
	_, rest, found := strings.Cut(
		text(t, s.do("GET", "/account/keys", nil, cookie)),
		`name="id" value="`+id+`"><input type="hidden" name="version"`,
	)
	rest, _, _ = strings.Cut(rest, "</form>")
	form := url.Values{"id": {id}}
	for name, in := range map[string]string{
		"version": `^ value="([^"]+)"`, "name": `name="name"[^>]* value="([^"]*)"`,
		"scope": `<option value="([a-z]+)" selected`, "addresses": `<textarea[^>]*>([^<]*)<`,
		"expires": `name="expires"[^>]* value="([^"]*)"`, "per-minute": `name="per-minute"[^>]* value="([^"]*)"`,
	} {
		value := regexp.MustCompile(in).FindStringSubmatch(rest)
		if !found || value == nil {
			t.Fatalf("no %s in the form of %s", name, id)
		}
		form.Set(name, strings.ReplaceAll(html.UnescapeString(value[1]), "\n", "\r\n")) // As browsers send lines.
	}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return form
}

// TestEditKey: the form has the key as it is; it changes what is changed in it, and removes what is
// emptied. Another key, or a later one, it leaves alone.
func TestEditKey(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ends := time.Now().Add(50*time.Hour + time.Minute).Truncate(time.Microsecond)
	k, _ := s.key(t, keys.Request{Name: "a & b", Allowed: "198.51.100.0/24,203.0.113.7", ExpiresAt: ends, PerMinute: 7})
	theirs, _ := s.key(t, keys.Request{Tenant: "zoo"})
	cookie := s.signIn(t, "acme")
	change := func(want int, pairs ...string) string {
		t.Helper()
		r := s.do("POST", "/account/keys/edit", s.inForm(t, cookie, k.ID, pairs...), cookie)
		page := text(t, r)
		assert.Equal(t, r.StatusCode, want, pairs, page)
		return page
	}
	expect := func(name string, scope keys.Scope, allowed keys.Ranges, ends time.Time, perMinute int64) {
		t.Helper()
		got, err := s.staff.Keys.Get(t.Context(), k.ID)
		assert.NoError(t, err)
		if got.Name != name || got.Scope != scope || got.Allowed != allowed || !got.ExpiresAt.Equal(ends) ||
			got.PerMinute != perMinute {
			t.Errorf("%+v", got)
		}
	}
	change(303)
	expect("a & b", keys.ScopeWrite, k.Allowed, ends, 7)
	change(303, "scope", "read", "name", "c")
	expect("c", keys.ScopeRead, k.Allowed, ends, 7)
	day := ends.AddDate(0, 0, 3).UTC().Truncate(24 * time.Hour)
	stale := s.inForm(t, cookie, k.ID, "name", "late")
	change(303, "addresses", "192.0.2.1", "expires", day.Format(time.DateOnly), "per-minute", "9")
	expect("c", keys.ScopeRead, "192.0.2.1", day, 9)
	r := s.do("POST", "/account/keys/edit", stale, cookie)
	page := text(t, r)
	assert.True(
		t,
		r.StatusCode == 400 && strings.Contains(page, "was changed after you opened this page") &&
			strings.Contains(page, `value="late"`) &&
			!strings.Contains(page, stale.Get("version")),
		page,
	)
	for want, pairs := range map[string][]string{
		"Name: 1 to 100":               {"name", strings.Repeat("ö", 101)},
		"Scope: choose one":            {"scope", "admin"},
		"10.0.0.0/8":                   {"addresses", "10.0.0.1/8"},
		"Expires: a day in the future": {"expires", "2020-01-01"},
		"Requests per minute":          {"per-minute", "0"},
	} {
		page := change(400, append([]string{"name", "typed"}, pairs...)...)
		_, form, _ := strings.Cut(page, "<details open>")
		assert.True(
			t,
			strings.Contains(page, want) && strings.Contains(form, `id="name`+k.ID+`"`) &&
				(pairs[0] == "name" || strings.Contains(form, `value="typed"`)),
			want,
			page,
		)
		assert.True(
			t,
			strings.Count(page, "<details open>") == 1 &&
				!strings.Contains(page, `id="confirm`),
			want,
			page,
		)
	}
	change(303, "addresses", "203.0.113.0/24")
	change(303, "name", "", "addresses", "", "expires", "", "per-minute", "")
	expect("", keys.ScopeRead, "", time.Time{}, 0)
	unknown := text(t, s.do("POST", "/account/keys/edit", url.Values{"id": {"key_0000000000000000"}}, cookie))
	for _, id := range []string{theirs.ID, "", "x", "<script>"} {
		r := s.do("POST", "/account/keys/edit", url.Values{"id": {id}, "name": {"x"}, "scope": {"read"}}, cookie)
		assert.True(t, r.StatusCode == 404 && text(t, r) == unknown, id, r.StatusCode)
	}
	change(303, "scope", "manage")
	assert.True(t, strings.Contains(change(400, "scope", "read"), "your last key with the scope manage"), "narrowed")
	_, err := (&keys.Service{Store: s.staff.Keys}).Revoke(t.Context(), by, k.ID)
	assert.NoError(t, err)
	r = s.do("POST", "/account/keys/edit", url.Values{"id": {k.ID}, "name": {"x"}, "scope": {"manage"}}, cookie)
	assert.True(t, r.StatusCode == 409 && strings.Contains(text(t, r), "has been revoked or has expired"), r.StatusCode)
}

// TestChangesAreLimited: what changes keys counts as by /v1/keys, for its tenant alone, and not if it
// is refused. Beyond 60 in a minute nothing is done but revocations, and what was typed stays.
func TestChangesAreLimited(t *testing.T) {
	t.Parallel()
	now, changes := time.Now().Truncate(time.Minute).Add(48*time.Second), &limits.TenantMinute{}
	s := newSite(t, func(c *account.Config) { c.KeyChanges, c.Now = changes, func() time.Time { return now } })
	k, _ := s.key(t, keys.Request{Name: "import"})
	cookie := s.signIn(t, "acme")
	for range 57 {
		changes.Take(k.TenantID, keys.MaxChanges, now)
	}
	made(t, s.do("POST", "/account/keys", s.form(t, cookie), cookie))
	made(t, s.do("POST", "/account/keys/rotate", s.form(t, cookie, "id", k.ID, "grace", "1"), cookie))
	assert.Equal(
		t,
		s.do("POST", "/account/keys/edit", s.inForm(t, cookie, k.ID, "name", "exports"), cookie).StatusCode,
		303,
		"the last of 60",
	)
	before := s.all(t)
	for path, form := range map[string]url.Values{
		"": s.form(t, cookie, "name", "typed"), "/edit": s.inForm(t, cookie, k.ID, "name", "typed"),
		"/rotate": s.form(t, cookie, "id", k.ID, "grace", "0"),
	} {
		r := s.do("POST", "/account/keys"+path, form, cookie)
		page := text(t, r)
		assert.True(
			t,
			r.StatusCode == 429 && r.Header.Get("Retry-After") == "12" &&
				strings.Contains(page, "changed 60 times in this minute"),
			path,
			r.StatusCode,
			page,
		)
		assert.Equal(t, strings.Contains(page, `value="typed"`), form.Get("name") == "typed", path, "what was typed")
	}
	assert.DeepEqual(t, s.all(t), before)
	made(t, s.do("POST", "/account/keys", s.form(t, s.signIn(t, "zoo")), s.signIn(t, "zoo")))
	assert.Equal(
		t,
		s.do("POST", "/account/keys/revoke", url.Values{"id": {k.ID}}, cookie).StatusCode,
		303,
		"a revocation",
	)
	now = now.Add(12 * time.Second)
	made(t, s.do("POST", "/account/keys", s.form(t, cookie), cookie))
}

// TestLockingOut: only addresses of the key by which one is signed in, and by a link those of a key
// that manages others, need a confirmation.
func TestLockingOut(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	boss, plaintext := s.key(t, keys.Request{Scope: keys.ScopeManage})
	other, _ := s.key(t, keys.Request{Scope: keys.ScopeManage})
	byKey := cookieOf(t, s.do("POST", "/account/sign-in", url.Values{"key": {plaintext}}, nil))
	byLink := s.signIn(t, "acme")
	for _, c := range []struct {
		id     string
		cookie *http.Cookie
		want   bool
	}{{boss.ID, byKey, true}, {other.ID, byKey, false}, {other.ID, byLink, true}} {
		page := text(t, s.do("POST", "/account/keys/edit", url.Values{
			"id": {c.id}, "name": {"x"}, "scope": {"manage"}, "addresses": {"203.0.113.0/24"},
		}, c.cookie))
		assert.Equal(t, strings.Contains(page, `id="confirm`+c.id+`"`), c.want, "by", c.cookie.Value == byKey.Value)
	}
	s.do("POST", "/account/keys/revoke", url.Values{"id": {other.ID}}, byKey)
	page := text(t, s.do("POST", "/account/keys/edit", s.inForm(
		t, byLink, boss.ID, "addresses", "203.0.113.0/24", "confirm", "yes"), byLink))
	assert.True(t, strings.Contains(page, "your last key with the scope manage"), "the last one, confirmed", page)
}
