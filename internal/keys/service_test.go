package keys_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/test/assert"
)

// fakeStore is a ServiceStore in memory.
type fakeStore struct {
	keys map[keys.Digest]keys.Key
	err  error
}

func (i *fakeStore) Create(_ context.Context, _ audit.By, k keys.Key, d keys.Digest) (keys.Key, error) {
	if i.err == nil {
		i.keys[d] = k
	}
	return k, i.err
}

func (i *fakeStore) Find(_ context.Context, d keys.Digest) (keys.Key, error) {
	k, ok := i.keys[d]
	if !ok {
		return keys.Key{}, keys.ErrKeyNotFound
	}
	return k, i.err
}

func (i *fakeStore) Edit(
	_ context.Context, _ audit.By, id string, e keys.Edit, _ time.Time,
) (before, after keys.Key, err error) {
	after = keys.Key{ID: id}
	if e.PerMinute != nil {
		after.PerMinute = *e.PerMinute
	}
	return keys.Key{ID: id}, after, i.err
}

func (i *fakeStore) Rotate(
	_ context.Context, _ audit.By, id string, now time.Time, rotation keys.Rotation, next keys.Replacement,
) (r keys.Rotated, err error) {
	r.Old = keys.Key{ID: id, Environment: keys.Test, ExpiresAt: now.Add(rotation.GracePeriod)}
	newID, token, err := next(r.Old.Environment)
	r.New = keys.Key{ID: newID, Environment: token.Environment(), Last4: token.Last4()}
	i.keys[token.Digest()] = r.New
	return r, errors.Join(err, i.err)
}

func (i *fakeStore) Revoke(_ context.Context, _ audit.By, id string, now time.Time) (keys.Key, error) {
	return keys.Key{ID: id, RevokedAt: now}, i.err
}

// now is the clock of newService.
var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// newService returns a service over an empty store, whose calls return err.
func newService(err error) (keys.Service, *fakeStore) {
	table := &fakeStore{keys: map[keys.Digest]keys.Key{}, err: err}
	return keys.Service{Store: table, Clock: func() time.Time { return now }}, table
}

func TestIssueChecks(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		request keys.Request
		want    error
	}{
		"only an environment": {keys.Request{Environment: keys.Live}, nil},
		"the longest name":    {keys.Request{Environment: keys.Live, Name: strings.Repeat("é", 100)}, nil},
		"a longer name":       {keys.Request{Environment: keys.Live, Name: strings.Repeat("é", 101)}, keys.ErrKeyName},
		"NUL":                 {keys.Request{Environment: keys.Live, Name: "a\x00"}, keys.ErrTextCharacter},
		"an escape":           {keys.Request{Environment: keys.Live, Name: "\x1b[2J"}, keys.ErrTextCharacter},
		"bad UTF-8":           {keys.Request{Environment: keys.Live, Name: "\xff"}, keys.ErrKeyName},
		"a key": {keys.Request{Environment: keys.Live, Name: "ci " + documented},
			keys.ErrTextContainsKey},
		"its own limit":    {keys.Request{Environment: keys.Live, PerMinute: 1}, nil},
		"a negative limit": {keys.Request{Environment: keys.Live, PerMinute: -1}, keys.ErrPerMinute},
		"no scope of ours": {keys.Request{Environment: keys.Live, Scope: "admin"}, keys.ErrScope},
		"expires now":      {keys.Request{Environment: keys.Live, ExpiresAt: now}, keys.ErrExpiryPast},
		"expires next":     {keys.Request{Environment: keys.Live, ExpiresAt: now.Add(1)}, nil},
	} {
		service, table := newService(nil)
		key, token, err := service.Issue(t.Context(), audit.By{}, test.request)
		assert.ErrorIs(t, err, test.want, name)
		if (err == nil) != (len(table.keys) == 1) {
			t.Errorf("%s: error %v and %d keys", name, err, len(table.keys))
		}
		_, edited, editErr := service.Edit(
			t.Context(),
			audit.By{},
			"key_1",
			keys.Edit{Name: &test.request.Name, PerMinute: &test.request.PerMinute,
				Scope: new(cmp.Or(test.request.Scope, keys.ScopeWrite))},
		)
		if test.request.ExpiresAt.IsZero() {
			assert.ErrorIs(t, editErr, test.want, "edited", name)
			assert.Equal(t, edited.ID == "key_1", test.want == nil, "edited", name)
		}
		if err != nil {
			continue
		}
		if !key.CreatedAt.Equal(now) || key.Last4 != token.Last4() || token.Environment() != keys.Live {
			t.Errorf("%s: issued %+v for %v", name, key, token)
		}
		if found, err := service.Identify(t.Context(), token.Reveal()); err != nil || found.ID != key.ID {
			t.Errorf("%s: identified as %+v, %v", name, found, err)
		}
	}
	service, _ := newService(nil)
	if _, _, err := service.Issue(t.Context(), audit.By{}, keys.Request{Environment: "staging"}); err == nil {
		t.Error("a key for no known environment was issued")
	}
}

func TestServicePassesErrorsOn(t *testing.T) {
	t.Parallel()
	service, _ := newService(keys.ErrTooManyKeys)
	_, token, err := service.Issue(t.Context(), audit.By{}, keys.Request{Environment: keys.Test})
	if !errors.Is(err, keys.ErrTooManyKeys) || token.Reveal() != "" {
		t.Errorf("issue: %v, token %v", err, token)
	}
	_, err = service.Revoke(t.Context(), audit.By{}, "key_x")
	assert.ErrorIs(t, err, keys.ErrTooManyKeys, "revoke")
	_, err = service.Identify(t.Context(), "not a key")
	assert.ErrorIs(t, err, keys.ErrMalformed, "identify")
}

func TestCheckText(t *testing.T) {
	t.Parallel()
	token, err := keys.NewToken(keys.Live)
	assert.NoError(t, err)
	key := token.Reveal()
	for text, want := range map[string]error{
		"": nil, "pst_live_": nil, token.String(): nil, key[:len(key)-1]: nil, "key_9Xb2LmQ0tR7sVw1Z": nil,
		" ": keys.ErrTextBlank, "\u3000\u3164": keys.ErrTextBlank, "\u2800": keys.ErrTextBlank, " x ": nil,
		strings.Repeat("pst_live", 20): nil, "pst_prod" + key[len("pst_live"):]: nil,
		key: keys.ErrTextContainsKey, "leaked: " + key + ".": keys.ErrTextContainsKey, "x" + key +
			"x": keys.ErrTextContainsKey,
		"é" + key: keys.ErrTextContainsKey, "pst_live_" + key: keys.ErrTextContainsKey, "pst_test_" + key[9:44] +
			"!": nil,
		"pst_test_" + strings.Repeat("0", 36): keys.ErrTextContainsKey,
	} {
		err := keys.CheckText(text)
		if !errors.Is(err, want) || err != nil && strings.Contains(err.Error(), "pst_") {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
		// The first one has a wrong checksum.
		found := keys.FindTokens("pst_test_" + strings.Repeat("0", 36) + " " + text + " " + text)
		if slices.Contains(found, token) != strings.Contains(text, key) || len(found) > 1 {
			t.Errorf("%q: found %v", text, found)
		}
	}
}

func TestCheckTextCharacters(t *testing.T) {
	t.Parallel()
	const refused = "the text contains a character that is invisible or changes how text is shown: "
	for text, want := range map[string]string{
		"ASCII !~": "", "Grüße, 日本": "", "שלום": "", "👩\u200D💻 ❤️\u200D🔥": "", "می\u200Cخواهم": "", "क्\u200Dष": "",
		"1\uFE0F\u20E3": "",
		"a\u202Eb":      "U+202E", "a\u2066b": "U+2066", "a\u200Fb": "U+200F", "a\u061Cb": "U+061C", // bidirectional
		// invisible
		"a\u200Bb": "U+200B", "a\u00ADb": "U+00AD", "\uFEFFa": "U+FEFF", "a\u2060b": "U+2060",
		"a\U000E0061b": "U+E0061",
		"a\x00":        "U+0000", "\x1b[2J": "U+001B", "a\nb": "U+000A", "a\tb": "U+0009", "a\x7f": "U+007F",
		"a\u0085b": "U+0085", "a\u009Bb": "U+009B",
		"a\u2028b": "U+2028", "a\u2029b": "U+2029",
		// joiners that join nothing
		"pay\u200Dpal": "U+200D", "pay\u200Cpal": "U+200C", "\u200D": "U+200D", "日\u200D\u200D": "U+200D",
		"ÿ\u200Dz": "U+200D",
		"\xff":     "invalid UTF-8",
	} {
		err := keys.CheckText(text)
		if want == "" && err != nil ||
			want != "" && (!errors.Is(err, keys.ErrTextCharacter) || err.Error() != refused+want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestRotateChecks(t *testing.T) {
	t.Parallel()
	never, later := time.Time{}, now.Add(1)
	for name, test := range map[string]struct {
		rotation keys.Rotation
		want     error
	}{
		"no grace period":          {keys.Rotation{}, nil},
		"the longest grace period": {keys.Rotation{GracePeriod: 7 * 24 * time.Hour, ExpiresAt: &later}, nil},
		"a longer one":             {keys.Rotation{GracePeriod: 7*24*time.Hour + 1}, keys.ErrGracePeriod},
		"a negative one":           {keys.Rotation{GracePeriod: -1}, keys.ErrGracePeriod},
		"expires now":              {keys.Rotation{ExpiresAt: &now}, keys.ErrExpiryPast},
		"never expires":            {keys.Rotation{ExpiresAt: &never}, nil},
		"the store is down":        {keys.Rotation{}, keys.ErrUnavailable},
	} {
		service, table := newService(nil)
		if errors.Is(test.want, keys.ErrUnavailable) {
			table.err = test.want
		}
		r, token, err := service.Rotate(t.Context(), audit.By{}, "key_1", test.rotation)
		assert.ErrorIs(t, err, test.want, name)
		if err != nil {
			continue
		}
		want := keys.Key{ID: r.New.ID, Environment: keys.Test, Last4: token.Last4()}
		if found, err := service.Identify(
			t.Context(),
			token.Reveal(),
		); err != nil || found != want ||
			r.New.ID == r.Old.ID {
			t.Errorf("%s: the new key is %+v, want %+v; %v", name, found, want, err)
		}
	}
}
