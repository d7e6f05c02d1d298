package api

import (
	"errors"
	"maps"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/api/problem"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
)

// withSupport gives the API addresses of its operator's support.
func withSupport(c *Config) {
	c.Support = problem.Support{URL: "https://help.example.com/api", Email: "help@example.com"}
}

// TestHolderOfAKeyLearnsTheReason: who holds a key that exists learns why it is not valid and what
// to do in the message, and programs learn it in the challenge, by the words that are documented.
func TestHolderOfAKeyLearnsTheReason(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../docs/errors.md")
	assert.NoError(t, err)
	type test struct {
		change   func(*keys.Caller)
		message  string
		contacts bool
	}
	for status, test := range map[keys.Status]test{
		keys.Expired: {
			func(c *keys.Caller) { c.ExpiresAt = at },
			"This API key expired at 2026-11-20T09:21:48Z. Use its replacement, or ask our support for a new key.",
			true,
		},
		keys.Revoked: {
			func(c *keys.Caller) { c.RevokedAt = at.Add(-time.Hour).Unix() },
			"This API key was revoked at 2026-11-20T08:21:48Z. Use another one, or ask our support for a new key.",
			true,
		},
		keys.TenantSuspended: {
			func(c *keys.Caller) {
				c.Tenant = &plans.Tenant{ID: 1, Name: "acme", SuspendedAt: at.Add(-24 * time.Hour)}
			},
			"The account of this API key has been suspended since 2026-11-19T09:21:48Z. " +
				"Ask our support to resume it.", true,
		},
		keys.OtherEnvironment: {
			func(c *keys.Caller) { c.Environment = keys.Test },
			"This API key (pst_test_) is for staging, and this is production. Send a key that begins with " +
				"pst_live_, or send the request to staging.", false,
		},
	} {
		for _, change := range [][]func(*Config){nil, {withSupport}} {
			w := newFixture(t, change...)
			w.directory.change(t, w.key, test.change)
			w.directory.fail(keys.StatusError(status))
			r := w.request("GET", "/v1/pets", "")
			rec := w.do(r)
			checkAnswer(t, r, rec)
			message := test.message
			if len(change) > 0 && test.contacts {
				message = strings.Replace(
					message,
					"our support",
					"our support (https://help.example.com/api, help@example.com)",
					1,
				)
			}
			if want := string(
				problem.Body(problem.InvalidAPIKey, message),
			); rec.Code != 401 ||
				rec.Body.String() != want {
				t.Errorf("%s: %d %s, want %s", status, rec.Code, rec.Body, want)
			}
			description, ok := strings.CutPrefix(
				header(rec, "WWW-Authenticate"),
				`Bearer realm="petstore", error="invalid_token", error_description="`,
			)
			description = strings.TrimSuffix(description, `"`)
			if !ok || !strings.Contains(string(guide), "\n| `"+description+"` | ") ||
				!strings.Contains(string(openAPIText), "`"+description+"`") {
				t.Errorf("%s: challenge %s, which is not in the documents", status, header(rec, "WWW-Authenticate"))
			}
		}
	}
}

// TestStrangersLearnNoReason: whatever is wrong with a key that was never issued, the answer is one
// and the same.
func TestStrangersLearnNoReason(t *testing.T) {
	t.Parallel()
	for _, change := range [][]func(*Config){nil, {withSupport}} {
		w := newFixture(t, change...)
		answers := map[string]string{}
		note := func(name string, rec *httptest.ResponseRecorder) {
			answers[header(rec, "WWW-Authenticate")+"\n"+rec.Body.String()] = name
		}
		note("unknown", w.sendUnknown(t, "/v1/pets"))
		w.directory.fail(keys.ErrOtherEnvironment)
		note("of another environment, unknown", w.do(w.request("GET", "/v1/pets", "")))
		want := `Bearer realm="petstore", error="invalid_token"` + "\n" +
			`{"code":"invalid_api_key","message":"The API key is malformed, unknown or no longer valid."`
		if change != nil {
			want = strings.TrimSuffix(
				want,
				`"`,
			) + ` Ask our support (https://help.example.com/api, help@example.com) for help."`
		}
		if got := slices.Collect(maps.Keys(answers)); len(got) != 1 || got[0] != want+`,"status":401}`+"\n" {
			t.Errorf("answers: %q, want one: %s", answers, want)
		}
	}
}

// TestSupportInOtherRefusals: who has no key, and whose key is banned, also learns whom to ask.
func TestSupportInOtherRefusals(t *testing.T) {
	t.Parallel()
	w := newFixture(t, withSupport)
	rec := w.do(w.request("GET", "/v1/pets", "", "Authorization", ""))
	if want := `Bearer <API key>. ` +
		`Ask our support (https://help.example.com/api, help@example.com) for one."`; rec.Code != 401 ||
		!strings.Contains(rec.Body.String(), want) {
		t.Errorf("no key: %d %s, want %s", rec.Code, rec.Body, want)
	}
	w.directory.change(
		t,
		w.key,
		func(c *keys.Caller) { c.Ban = &keys.Ban{Reason: "test", EndsAt: at.Add(time.Minute)} },
	)
	rec = w.do(w.request("GET", "/v1/pets", ""))
	if want := `Retry in 60 seconds. ` +
		`Ask our support (https://help.example.com/api, help@example.com) for help."`; rec.Code != 429 ||
		!strings.Contains(rec.Body.String(), want) {
		t.Errorf("banned: %d %s, want %s", rec.Code, rec.Body, want)
	}
}

func TestCheckSupport(t *testing.T) {
	t.Parallel()
	for s, ok := range map[string]bool{
		"": true, "https://help.example.com": true, "https://help.example.com:8443/a?b=c&d=%20#e": true,
		"https://xn--bcher-kva.example/": true,
		"http://help.example.com":        false, "help.example.com": false, "https://": false, "https:///x": false,
		"https://u:p@help.example.com": false,
		"https://help.example.com/a b": false, `https://help.example.com/"`: false,
		`https://help.example.com/\`: false, "https://help.example.com/'": false,
		"https://help.example.com/(a)": false, "https://help.example.com/a:": false,
		"https://help.example.com/$1": false, "https://bücher.example": false, "https://help.example.com/\n": false,
		"javascript:alert(1)":          false,
		"https://help.example.com/%zz": false, "https://help.example.com/*a*b": false,
		"https://help.example.com/?a&lt;b": false,
	} {
		if err := problem.CheckSupportURL(s); (err == nil) != ok {
			t.Errorf("URL %q: %v", s, err)
		}
	}
	for s, ok := range map[string]bool{
		"": true, "help@example.com": true, "api-help+shop@mail.example.co": true,
		"help": false, "help@localhost": false, "Help <help@example.com>": false, "mailto:help@example.com": false,
		"a@b.com,c@d.com": false,
		"a b@example.com": false, `"a"@example.com`: false, "help@example..com": false, "help@-example.com": false,
		"hülfe@example.com": false, "help@example.com\n": false,
		strings.Repeat("a", 65) + "@example.com": false,
	} {
		if err := problem.CheckSupportEmail(s); (err == nil) != ok {
			t.Errorf("e-mail address %q: %v", s, err)
		}
	}
}

// TestMalformedKeysSayHow: of the text alone. Nobody is asked for such a key, and the rest of the
// answer is that to an unknown one.
func TestMalformedKeysSayHow(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	unknown := w.sendUnknown(t, "/v1/pets")
	w.directory.fail(errors.New("nobody is to be asked"))
	const quotes, blank, twice, begin = "it is in quotes or brackets. Send it without them",
		"it has a blank. Send it without any", "the header has Bearer twice. Send it once",
		"it does not begin with pst_live_ or pst_test_. Send the key itself"
	const short, checksum = "it is shorter than 45 characters. Copy the whole key",
		"its checksum is wrong, so a character was changed. Copy the key anew"
	for sent, want := range map[string]string{
		`"` + w.key + `"`: quotes, "'" + w.key: quotes, "“" + w.key + "”": quotes, `""`: quotes,
		"<API_KEY>": quotes, "Bearer " + w.key: twice, "bearer: " + w.key: twice, "Bearer": twice,
		w.key[:20] + " " + w.key[20:]: blank, w.key + "\u00a0": blank, w.key[:20] + "\t" + w.key[20:]: blank,
		"sk_live_" + w.key[8:]: begin, "$PETSTORE_API_KEY": begin, "PST_LIVE_" + w.key[9:]: begin,
		w.key[:44]: short, "pst_live_": short, w.key + "x": "it is longer than 45 characters. Copy the key alone",
		strings.Replace(w.key, "pst_live_", "pst_test_", 1): checksum, w.key[:44] + "-": checksum,
	} {
		r := w.request("GET", "/v1/pets", "", "Authorization", "Bearer "+sent)
		rec := w.do(r)
		checkAnswer(t, r, rec)
		assert.Equal(
			t,
			rec.Body.String(),
			string(problem.Body(problem.InvalidAPIKey, "The API key is malformed: "+want+".")),
		)
		assert.Equal(t, header(rec, "WWW-Authenticate"), header(unknown, "WWW-Authenticate"), want)
	}
	for _, sent := range []string{"Bearer", "Bearer "} {
		rec := w.do(w.request("GET", "/v1/pets", "", "Authorization", sent))
		assert.Contains(t, rec.Body.String(), `"missing_api_key"`, sent)
	}
}
