package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/api/gate"
	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
)

// manages gives acme's key the scope manage.
func manages(t *testing.T, change ...func(*Config)) *fixture {
	t.Helper()
	w := newFixture(t, change...)
	w.narrow(t, keys.ScopeManage, "")
	return w
}

// TestKeysAreShownOnce: the plaintext is in the response that issued the key, and nowhere else: not
// in a repeated one, a list, or the log.
func TestKeysAreShownOnce(t *testing.T) {
	t.Parallel()
	w := manages(t)
	body := `{"name":"ci","scope":"read","perMinute":50,"expiresAt":"2027-01-01T00:00:00+01:00",` +
		`"allowedAddresses":["::1","192.0.2.0/24"]}`
	rec := w.do(w.request("POST", "/v1/keys", body, "Idempotency-Key", "k"))
	var made struct{ ID, Key, Last4 string }
	assert.NoError(t, json.Unmarshal(rec.Body.Bytes(), &made))
	token, err := keys.ParseToken(made.Key)
	assert.NoError(t, err)
	assert.Equal(t, token.Digest(), w.keys.asked.Token.Digest(), "the key that is stored")
	want := fmt.Sprintf(
		`{"id":%q,"name":"ci","environment":"live","last4":%q,"scope":"read","allowedAddresses":["192.0.2.0/24",`+
			`"::1"],"perMinute":50,`+
			`"status":"active","createdAt":"2026-11-20T09:21:48Z","expiresAt":"2026-12-31T23:00:00Z",`+
			`"lastUsedAt":null,"replaces":null,"replacedBy":null,"issuedBy":"key_acme"`,
		made.ID,
		token.Last4(),
	)
	assert.Equal(t, rec.Body.String(), want+fmt.Sprintf(",\"key\":%q}\n", made.Key))
	assert.Equal(t, header(rec, "Location")+header(rec, "Cache-Control"), baseURL+"/keys/"+made.ID+"no-store")
	rec = w.do(w.request("GET", "/v1/keys/"+made.ID, ""))
	assert.Equal(t, rec.Body.String(), want+"}\n")

	rec = w.do(w.request("POST", "/v1/keys", body, "Idempotency-Key", "k"))
	assert.Equal(
		t,
		rec.Body.String(),
		`{"code":"key_already_issued","message":"A request with this Idempotency-Key has issued the API key `+made.ID+
			`. Nobody can show it again: rotate or revoke it.","status":409}`+"\n",
	)
	rec = w.do(w.request("POST", "/v1/keys/"+made.ID+"/rotate", "", "Idempotency-Key", "k"))
	assert.True(
		t,
		rec.Code == 201 && w.keys.asked.GracePeriod == 24*time.Hour,
		"rotated without a body",
		rec.Code,
		w.keys.asked.GracePeriod,
	)
	for _, path := range []string{"/v1/keys", "/v1/keys/" + made.ID} {
		assert.True(t, !strings.Contains(w.do(w.request("GET", path, "")).Body.String(), `"key"`), path, "shows a key")
	}
	stored := fmt.Sprint(w.requests.stored)
	assert.True(t, !strings.Contains(w.logs.String()+stored, made.Key) && true, "the key is logged or stored")
}

// TestDefaultsOfKeysAreOneBody: a new key's default is the same body whether it is said, null or left
// out.
func TestDefaultsOfKeysAreOneBody(t *testing.T) {
	t.Parallel()
	w := manages(t)
	for i, members := range []string{
		"", `,"perMinute":null`, `,"expiresAt":null`, `,"allowedAddresses":null`, `,"allowedAddresses":[]`,
		`,"scope":"write"`, `,"confirmLockout":false`, `,"perMinute":null,"expiresAt":null,"allowedAddresses":null`,
	} {
		rec := w.do(w.request("POST", "/v1/keys", `{"name":"ci"`+members+`}`, "Idempotency-Key", "k"))
		assert.Equal(t, rec.Code, map[bool]int{true: 201, false: 409}[i == 0], members, rec.Body)
	}
	rec := w.do(w.request("POST", "/v1/keys", `{"name":"ci","perMinute":1}`, "Idempotency-Key", "k"))
	assert.Equal(t, rec.Code, 422, rec.Body)
}

// TestInvalidKeys: the message names all that is wrong.
func TestInvalidKeys(t *testing.T) {
	t.Parallel()
	w := manages(t)
	secret, err := keys.NewToken(keys.Live)
	assert.NoError(t, err)
	const ofText = "1 to 100 characters, not only blanks, " +
		"without control and format characters and without an API key: "
	for _, c := range []struct{ request, body, want string }{
		{"POST /v1/keys", `{}`, "name is required."},
		{"POST /v1/keys", `{"name":null}`, "name must not be null (line 1, column 9)."},
		{"POST /v1/keys", `{"name":"","scope":"admin","perMinute":0,"expiresAt":"tomorrow","allowedAddresses":"::1",` +
			`"confirmLockout":1}`,
			"name must have " + ofText + "it has 0; scope must be " +
				"one of read, write, manage; " +
				"perMinute must be at least 1; expiresAt must be a date and time, such as 2027-01-01T00:00:00Z; " +
				"allowedAddresses must be an array, not a string; confirmLockout must be a boolean, not a number."},
		{"POST /v1/keys", `{"name":"` + secret.Reveal() + `"}`,
			"name must have " + ofText + "it has what looks like one."},
		{"POST /v1/keys", `{"name":"a\u200bb"}`, "name must have " + ofText + "it has U+200B."},
		{"POST /v1/keys", `{"name":"` + strings.Repeat("ä", 101) + `"}`, "name must have " + ofText + "it has 101."},
		{"POST /v1/keys", `{"name":"x","expiresAt":"2026-11-20T09:21:48Z"}`, "expiresAt must be in the future."},
		{"POST /v1/keys", `{"name":"x","expiresAt":"9999-12-31T23:59:59-01:00"}`,
			"expiresAt must be a date and time, such as 2027-01-01T00:00:00Z."},
		{"POST /v1/keys", `{"name":"x","allowedAddresses":["192.0.2.1",7]}`,
			"allowedAddresses must be an array of strings."},
		{"POST /v1/keys", `{"name":"x","allowedAddresses":["10.0.0.1/8"]}`,
			`allowedAddresses: not a range of addresses: "10.0.0.1/8": did you mean 10.0.0.0/8.`},
		{"POST /v1/keys", `{"name":"x","allowedAddresses":["` + strings.Repeat("1", 1000) + `"]}`,
			"allowedAddresses must be addresses or blocks, such as 203.0.113.7 or 2001:db8::/32."},
		{"PATCH /v1/keys/" + ciKey, `{"scope":null}`, "scope must not be null (line 1, column 10)."},
		{"POST /v1/keys/" + ciKey + "/rotate", `{"gracePeriod":604801}`,
			"gracePeriod must be from 0 to 604800 seconds."},
		{"POST /v1/keys/" + ciKey + "/rotate", `{"gracePeriod":-1}`, "gracePeriod must be from 0 to 604800 seconds."},
		// Each of these members is a mistake, after which the key could do more than was meant.
		{"POST /v1/keys", `{"name":"x","allowedAdresses":["192.0.2.1"]}`,
			`unknown members "allowedAdresses": want only ` + strings.Join(keyMembers, ", ") + "."},
		{"PATCH /v1/keys/" + ciKey, `{"expires":"2027-01-01T00:00:00Z"}`, `unknown members "expires": want only ` +
			strings.Join(keyMembers, ", ") + "."},
		{"POST /v1/keys/" + ciKey + "/rotate", `{"grace":0}`,
			`unknown members "grace": want only gracePeriod, expiresAt.`},
		{"POST /v1/keys/" + ciKey + "/rotate", `{"expiresAt":"2026-11-20T09:21:48Z"}`,
			"expiresAt must be in the future."},
		{"POST /v1/keys/" + ciKey + "/revoke", `{"id":null,"reason":"found in a repository"}`,
			`unknown members "id": want only reason.`},
		{"POST /v1/keys/" + ciKey + "/revoke", `{"reason":7}`, "reason must be a string, not a number."},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		rec := w.do(w.request(method, path, c.body))
		var got struct{ Message string }
		assert.NoError(t, json.Unmarshal(rec.Body.Bytes(), &got))
		assert.Equal(t, fmt.Sprint(rec.Code, got.Message), fmt.Sprint(400, c.want), c.request, c.body)
	}
	assert.Equal(t, w.keys.asked.Action, "", "nothing was asked of the store")
}

// TestRotatingAKey: with an end for the new key; of itself, without the scope to manage keys, for a
// day, and no longer than it is good itself.
func TestRotatingAKey(t *testing.T) {
	t.Parallel()
	w := manages(t)
	rec := w.do(w.request("POST", "/v1/keys/"+ciKey+"/rotate", `{"gracePeriod":5,"expiresAt":"2027-01-01T00:00:00Z"}`))
	assert.Equal(t, fmt.Sprint(rec.Code, w.keys.asked.GracePeriod, w.keys.asked.Edit.ExpiresAt),
		"201 5s 2027-01-01 00:00:00 +0000 UTC")
	rec = w.do(w.request("POST", "/v1/keys/"+ciKey+"/rotate", `{"expiresAt":null}`))
	assert.True(t, rec.Code == 201 && w.keys.asked.Edit.ExpiresAt.IsZero(), "no end", rec.Code, w.keys.asked)

	w.narrow(t, keys.ScopeRead, "")
	assert.Equal(t, w.do(w.request("POST", "/v1/keys/"+ciKey+"/rotate", "")).Code, 403, "another key")
	for body, want := range map[string]string{
		"": "", `{"gracePeriod":86400}`: "",
		`{"gracePeriod":0}`: "gracePeriod must be 86400, as this key's scope is not manage.",
	} {
		rec := w.do(w.request("POST", "/v1/keys/self/rotate", body))
		assert.True(t, rec.Code == 201 && want == "" || rec.Code == 400 && strings.Contains(rec.Body.String(), want) &&
			want != "", body, rec.Code, rec.Body)
	}
	w.keys.refused["key.rotate"] = keys.ErrExpiryLate
	rec = w.do(w.request("POST", "/v1/keys/self/rotate", `{"expiresAt":null}`))
	assert.True(t, rec.Code == 400 && strings.Contains(rec.Body.String(), expiryLate), rec.Code, rec.Body)
}

// TestRevokingReplacements: the parameter is true or false, and a misspelt one is named.
func TestRevokingReplacements(t *testing.T) {
	t.Parallel()
	w := manages(t)
	w.keys.alsoEnded = []string{theirKey}
	for query, want := range map[string]string{
		"":                                     "200 false",
		"?replacements=true":                   "200 true",
		"?replacements=false":                  "200 false",
		"?replacement=true":                    "200 false",
		"?replacements=":                       "replacements must be true or false",
		"?replacements=1":                      "replacements must be true or false",
		"?replacements=true&replacements=true": "replacements must be given only once",
		"?replacements=%":                      "The query is malformed",
	} {
		rec := w.do(w.request("POST", "/v1/keys/"+ciKey+"/revoke"+query, ""))
		got := fmt.Sprint(rec.Code, " ", w.keys.asked.Replacements)
		ignored := header(rec, "X-Ignored-Parameters") == "replacement"
		assert.True(
			t,
			got == want || rec.Code == 400 && strings.Contains(rec.Body.String(), want),
			query,
			rec.Code,
			rec.Body,
		)
		assert.Equal(t, ignored, query == "?replacement=true", query)
		assert.Equal(t, strings.Contains(rec.Body.String(), `"alsoEnded":["`+theirKey+`"]`), rec.Code == 200, query)
	}
	rec := w.do(w.request("POST", "/v1/keys/"+ciKey+"/revoke?replacement=true", "", "Prefer", "handling=strict"))
	assert.True(
		t,
		rec.Code == 400 && strings.Contains(rec.Body.String(), "did you mean replacements"),
		rec.Code,
		rec.Body,
	)
}

// TestChangingAKey: null removes, If-Match holds the version, and addresses without that of the
// caller need a confirmation for the key that asks.
func TestChangingAKey(t *testing.T) {
	t.Parallel()
	w := manages(t)
	change := func(body string, headers ...string) *httptest.ResponseRecorder {
		return w.do(w.request("PATCH", "/v1/keys/"+ciKey, body, headers...))
	}
	tag := header(w.do(w.request("GET", "/v1/keys/"+ciKey, "")), "ETag")
	rec := change(
		`{"name":"ci","perMinute":7,"allowedAddresses":["192.0.2.1"],"expiresAt":"2027-01-01T00:00:00Z"}`,
		"If-Match",
		tag,
	)
	assert.True(
		t,
		rec.Code == 200 && w.keys.asked.Version == strings.Trim(tag, `"`),
		"changed",
		rec.Body,
		w.keys.asked.Version,
	)
	assert.True(t, header(rec, "ETag") != tag, "the version stays", tag)
	assert.Equal(t, change(`{}`, "If-Match", tag).Code, 412, "another version")
	assert.Equal(t, change(`{}`, "If-Match", "W/"+header(rec, "ETag")).Code, 412, "a weak version")
	rec = change(`{"name":null,"perMinute":null,"allowedAddresses":null,"expiresAt":null}`, "If-Match", "*")
	assert.True(
		t,
		strings.Contains(rec.Body.String(), `"name":"",`) &&
			strings.Contains(rec.Body.String(), `"allowedAddresses":[],"perMinute":null`),
		rec.Body,
	)

	const elsewhere = `{"name":"x","allowedAddresses":["198.51.100.0/24"]`
	for _, r := range []string{"PATCH /v1/keys/" + ciKey, "POST /v1/keys"} {
		method, path, _ := strings.Cut(r, " ")
		rec := w.do(w.request(method, path, elsewhere+"}"))
		assert.True(t, rec.Code < 300, r, "a key for elsewhere", rec.Body)
	}
	for _, r := range []string{"PATCH /v1/keys/key_acme", "PATCH /v1/keys/self"} {
		method, path, _ := strings.Cut(r, " ")
		rec := w.do(w.request(method, path, elsewhere+"}"))
		assert.Equal(
			t,
			rec.Body.String(),
			`{"code":"would_lock_out","message":"allowedAddresses does not contain 192.0.2.1, the address of this `+
				`request. `+
				`Send confirmLockout: true if that is right.","status":409}`+"\n",
		)
		rec = w.do(w.request(method, path, elsewhere+`,"confirmLockout":true}`))
		assert.True(t, rec.Code < 300, r, "confirmed", rec.Body)
		assert.Equal(t, w.keys.asked.From.String(), "192.0.2.1", "the store judges by the address too")
	}
	assert.Equal(t, change(`{"allowedAddresses":[]}`).Code, 200, "any address")
}

// TestListingKeys: page by page, by status, also by HEAD.
func TestListingKeys(t *testing.T) {
	t.Parallel()
	w := manages(t)
	ids := func(query string) (text, next string) {
		rec := w.do(w.request("GET", "/v1/keys"+query, ""))
		var list []struct{ ID string }
		assert.NoError(t, json.Unmarshal(rec.Body.Bytes(), &list))
		for _, k := range list {
			text += k.ID + " "
		}
		return text, header(rec, "X-Next-Cursor") + " " + header(rec, "Link")
	}
	assert.Equal(
		t,
		w.do(w.request("GET", "/v1/keys?limit=1", "", "If-None-Match", "*")).Code,
		304,
		"a page that has a next one",
	)
	cursor := fmt.Sprintf("%016x", at.UnixMicro()) + "0000000000000001"
	first, next := ids("?limit=1&status=active")
	assert.Equal(
		t,
		first+next,
		ciKey+" "+cursor+" <"+baseURL+`/keys?cursor=`+cursor+`&limit=1&status=active>; rel="next", <`+baseURL+
			`/keys?limit=1&status=active>; rel="first"`,
	)
	w.do(w.request("POST", "/v1/keys/"+ciKey+"/revoke", ""))
	for query, want := range map[string]string{"": ciKey + " key_acme ", "?status=revoked": ciKey + " ",
		"?status=expired": "", "?cursor=" + cursor: "key_acme ",
		// Of a key that is no longer there.
		"?cursor=" + cursor[:31] + "9": "key_acme "} {
		got, next := ids(query)
		assert.True(t, got == want && !strings.Contains(next, "next"), query, got, next)
	}
	for _, cursor := range []string{ciKey, "0000000000000001", cursor[:31], cursor + "0", "X" + cursor[1:], "x"} {
		rec := w.do(w.request("GET", "/v1/keys?cursor="+cursor, ""))
		assert.Equal(
			t,
			rec.Body.String(),
			`{"code":"invalid_cursor","message":"cursor must be the value of X-Next-Cursor, unchanged.",`+
				`"status":400}`+"\n",
		)
	}
}

// TestChangesOfKeysAreLimited: 60 a minute of a tenant, with those on its page, by a limit of their
// own. They count in no other, are no step towards a ban, and a key that may not change keys, or
// only end itself, uses none up. Nor does what is refused. A revocation waits for none.
func TestChangesOfKeysAreLimited(t *testing.T) {
	t.Parallel()
	changes := &limits.TenantMinute{}
	w := manages(t, func(c *Config) { c.KeyChanges = changes })
	changes.Take(1, keys.MaxChanges, at)
	change := func(key string) *httptest.ResponseRecorder {
		return w.do(w.request("PATCH", "/v1/keys/"+ciKey, `{"name":"x"}`, "Authorization", "Bearer "+key))
	}
	before := numbers(w.do(w.request("GET", "/v1/usage", "")))["RateLimit"]
	for range keys.MaxChanges - 1 {
		assert.Equal(t, change(w.other).Code, 403)
		assert.Equal(t, w.do(w.request("POST", "/v1/keys/self/revoke", `{"x":1}`)).Code, 400)
		assert.Equal(t, w.do(w.request("PATCH", "/v1/keys/"+ciKey, `{"name":""}`)).Code, 400)
		assert.Equal(t, w.do(w.request("PATCH", "/v1/keys/"+theirKey, `{"name":"x"}`)).Code, 404)
		assert.Equal(t, w.do(w.request("POST", "/v1/keys/"+ciKey+"/rotate", `{"x":1}`)).Code, 400)
		assert.Equal(t, change(w.key).Code, 200)
	}
	rec := change(w.key)
	assert.Equal(
		t,
		rec.Body.String(),
		`{"code":"rate_limit_exceeded","message":"Your API keys and webhooks may be changed by 60 requests per `+
			`minute. `+
			`Retry in 12 seconds.","status":429}`+"\n",
	)
	assert.Equal(
		t,
		fmt.Sprint(header(rec, "Retry-After"), header(rec, "RateLimit"), numbers(rec)["X-RateLimit-Remaining"]),
		`12"changes";r=0;t=120`,
	)
	last := w.failed.all[len(w.failed.all)-1]
	assert.Equal(
		t,
		last.Code+last.Reason+last.Window,
		"rate_limit_exceededuncounted",
		"recorded, by no window of the plan",
	)
	assert.Equal(t, w.do(w.request("GET", "/v1/keys", "")).Code, 200, "a read")
	assert.Equal(t, numbers(w.do(w.request("GET", "/v1/usage", "")))["RateLimit"], before, "the tenant's windows")
	assert.Equal(t, len(w.strikes.refused), 0, "strikes")
	w.directory.change(t, w.other, func(c *keys.Caller) { c.Access, _ = keys.NewAccess(keys.ScopeManage, "") })
	assert.Equal(t, change(w.other).Code, 404, "another tenant")
	for range 2 * keys.MaxChanges {
		assert.Equal(t, w.do(w.request("POST", "/v1/keys/"+theirKey+"/revoke", "")).Code, 404)
		assert.Equal(t, w.do(w.request("POST", "/v1/keys/key_acme/revoke", "")).Code, 200, "a revocation")
	}
	w.setClock(at.Add(12 * time.Second))
	assert.Equal(t, change(w.key).Code, 200, "the next minute")
}

// TestReadsOfKeysAreLimited: beyond the number a minute, and beyond the places, a read is 429 and no
// strike.
func TestReadsOfKeysAreLimited(t *testing.T) {
	t.Parallel()
	w := manages(t)
	for _, n := range []int{60, gate.MaxFreeReads} {
		for i := range n + 1 {
			path := []string{"/v1/keys?status=expired", "/v1/keys/" + ciKey}[i%2]
			rec := w.do(w.request("GET", path, ""))
			assert.Equal(t, rec.Code == 429, i == n, i)
			if rec.Code == 429 {
				assert.Equal(t, header(rec, "RateLimit"), `"reads";r=0;t=`+header(rec, "Retry-After"), "the window")
			}
		}
		w.setClock(w.clock().Add(time.Minute))
		w.setPlan(t, plans.Enterprise, noLimit)
	}
	assert.Equal(t, w.do(w.request("GET", "/v1/requests", "")).Code, 200, "reads of requests are others")
	w.pets.err = fmt.Errorf("%w: %w", catalog.ErrManyReads, catalog.ErrNotMade)
	rec := w.do(w.request("GET", "/v1/keys", ""))
	assert.True(t, rec.Code == 429 && header(rec, "Retry-After") == "1", rec.Code, rec.Body)
	assert.Equal(t, len(w.strikes.refused), 0, "strikes")
}

// TestKeysMadeADay: one more is refused until the UTC day ends.
func TestKeysMadeADay(t *testing.T) {
	t.Parallel()
	w := manages(t)
	w.keys.refused["key.issue"] = keys.ErrManyKeysMade
	rec := w.do(w.request("POST", "/v1/keys", `{"name":"x"}`))
	assert.Equal(
		t,
		rec.Body.String(),
		`{"code":"rate_limit_exceeded","message":"Your account may make 200 API keys in a UTC day. Retry in 52692 `+
			`seconds.","status":429}`+"\n",
	)
	assert.Equal(t, header(rec, "Retry-After"), "52692", "until midnight")
}

// TestBlankNamesAreRefused: of spaces, and of what is shown as nothing.
func TestBlankNamesAreRefused(t *testing.T) {
	t.Parallel()
	w := manages(t)
	for name, want := range map[string]int{
		"   ": 400, "\u00a0\u2003": 400, "\u3000": 400, "\u3164": 400, "\u2800 \ufe0f": 400, " a ": 201, "ㅤㅤ犬": 201,
	} {
		rec := w.do(w.request("POST", "/v1/keys", `{"name":"`+name+`"}`))
		assert.Equal(t, rec.Code, want, fmt.Sprintf("%+q", name))
		rec = w.do(w.request("POST", "/v1/keys/key_acme/revoke", `{"reason":"`+name+`"}`))
		assert.Equal(t, rec.Code, map[int]int{400: 400, 201: 200}[want], fmt.Sprintf("%+q as a reason", name))
	}
}

// TestKeysThatHaveJustEnded: what the store knows, and the directory not yet, has its own response.
func TestKeysThatHaveJustEnded(t *testing.T) {
	t.Parallel()
	w := manages(t)
	ended := func(s keys.Status) error { return errors.Join(keys.ErrRequester, keys.StatusError(s)) }
	for want, err := range map[string]error{
		"401 The API key was revoked":  ended(keys.Revoked),
		"401 The API key has expired":  ended(keys.Expired),
		"401 The account is suspended": ended(keys.TenantSuspended),
		"401 ":                         keys.ErrRequester,
		"403 ":                         keys.ErrRequesterScope,
		"503 ":                         keys.ErrRequesterBanned,
	} {
		w.keys.refused["key.edit"] = err
		rec := w.do(w.request("PATCH", "/v1/keys/"+ciKey, `{"name":"x"}`))
		_, about, _ := strings.Cut(header(rec, "WWW-Authenticate"), `error_description="`)
		assert.Equal(t, fmt.Sprint(rec.Code, " ", strings.TrimSuffix(about, `"`)), want)
		assert.True(t, !strings.Contains(rec.Body.String(), "outcome_unknown"), "nothing was made", rec.Body)
		if about != "" {
			assert.True(t, w.failed.all[len(w.failed.all)-1].Reason != "", "no reason is recorded for", want)
		}
	}
}

// TestOutcomesOfKeyChanges: a 503 says whether the change may have been made.
func TestOutcomesOfKeyChanges(t *testing.T) {
	t.Parallel()
	w := manages(t)
	for want, err := range map[string]error{
		"outcome_unknown": keys.ErrUnavailable, "unavailable": errors.Join(keys.ErrUnavailable, catalog.ErrNotMade),
		"internal_error": errors.New("bug"),
	} {
		w.keys.refused["key.issue"] = err
		assert.True(
			t,
			strings.Contains(w.do(w.request("POST", "/v1/keys", `{"name":"x"}`)).Body.String(), `"`+want+`"`),
			want,
		)
	}
}
