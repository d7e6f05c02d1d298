package receivers_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"petstore.example/internal/test/assert"
	_ "petstore.example/internal/test/sandbox"
	"petstore.example/internal/usage/events"
	"petstore.example/internal/usage/receivers"
)

const secret = "sk_live_never_shown"

// write writes the files of a receiver, and returns the path of the first.
func write(t *testing.T, text, key string, mode os.FileMode) string {
	t.Helper()
	dir := t.TempDir()
	assert.NoError(t, os.WriteFile(filepath.Join(dir, "key"), []byte(key+"\n"), mode))
	path := filepath.Join(dir, "stripe.receiver")
	assert.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func open(t *testing.T, format events.Format, url, secretOf, key string) *receivers.Receiver {
	t.Helper()
	format = events.Format(strings.Replace(string(format), "-", "\nVALUE=", 1))
	r, err := receivers.Read(
		write(t, fmt.Sprintf("FORMAT=%s\nURL=%s\n%s_FILE=key\n", format, url, secretOf), key, 0o600),
	)
	assert.NoError(t, err)
	return r
}

// TestFilesThatAreRefused: what is wrong with a file is said without its secrets.
func TestFilesThatAreRefused(t *testing.T) {
	t.Parallel()
	const stripe, local = "FORMAT=stripe\n", "URL=http://127.0.0.1:1/x\n"
	for name, c := range map[string]struct {
		text, key, want string
		mode            os.FileMode
	}{
		"a secret that others can read": {stripe + local + "USER_FILE=key", secret, "every user", 0o604},
		"a secret in the file":          {stripe + local + "USER=" + secret, "", "want lines NAME=VALUE", 0},
		"a secret as a path":            {stripe + local + "USER_FILE=https://" + secret, "", "the value itself", 0},
		"a secret of two lines":         {stripe + local + "USER_FILE=key", "a\n" + secret, "more than one line", 0},
		"no secret":                     {stripe + local + "USER_FILE=key", "", "is empty", 0},
		"no header":                     {stripe + local + "HEADER_FILE=key", secret, "no header of the form", 0},
		"a header of two lines":         {stripe + local + "HEADER_FILE=key", "A: b\rC: " + secret, "line", 0},
		"two users":                     {stripe + local + "USER_FILE=key\nUSER_FILE=key", secret, "each name once", 0},
		"another format":                {"FORMAT=csv\n" + local, "", `FORMAT is "csv", not cloudevents`, 0},
		"a format of ours":              {"FORMAT=stripe-overage\n" + local, "", "not cloudevents", 0},
		"another value":                 {stripe + local + "VALUE=refused", "", "VALUE is admitted or overage", 0},
		"a value of another format":     {"FORMAT=lago\nVALUE=overage\n" + local, "", "only for FORMAT=stripe", 0},
		"no URL":                        {stripe, "", "URL is missing", 0},
		"http elsewhere":                {stripe + "URL=http://api.stripe.com/", "", "URL is not https", 0},
		"http to a name like this":      {stripe + "URL=http://localhost.example.com/", "", "URL is not https", 0},
		"a user in the URL":             {stripe + "URL=https://" + secret + "@stripe.com/", "", "URL is not https", 0},
		"no line":                       {stripe + local + secret, "", "want lines NAME=VALUE", 0},
	} {
		if c.mode == 0 {
			c.mode = 0o600
		}
		_, err := receivers.Read(write(t, c.text, c.key, c.mode))
		assert.True(t, err != nil && strings.Contains(err.Error(), c.want), name, err)
		assert.True(t, err == nil || !strings.Contains(err.Error(), secret), name, "shows the secret:", err)
	}
	path := write(t, stripe+local, "", 0o600)
	r, err := receivers.Read(path)
	assert.NoError(t, err)
	assert.Equal(t, r.Name, "stripe", "name")
	for value, want := range map[string]events.Format{"admitted": events.Stripe, "overage": events.StripeOverage} {
		r, err := receivers.Read(write(t, stripe+local+"VALUE="+value, "", 0o600))
		assert.NoError(t, err)
		assert.Equal(t, r.Format, want, "VALUE="+value)
	}
	for _, mode := range []os.FileMode{0o604, 0o640} {
		assert.NoError(t, os.Chmod(path, mode))
		_, err := receivers.Read(path)
		assert.True(t, err != nil && strings.Contains(err.Error(), "can be read by other users"), mode, err)
	}
	assert.NoError(t, os.Rename(path, filepath.Join(filepath.Dir(path), "Our Stripe.receiver")))
	_, err = receivers.Read(filepath.Join(filepath.Dir(path), "Our Stripe.receiver"))
	assert.True(t, err != nil, "a name with a blank")
}

// TestVerdicts: what becomes of events by each reply.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	const stripeHas = `{"error":{"message":"An event already exists with identifier 1."}}`
	const lagoHas = `{"error_details":{"0":{"transaction_id":["value_already_exist"]}}}`
	for name, c := range map[string]struct {
		format  events.Format
		status  int
		reply   string
		events  int
		want    receivers.Verdict
		certain bool
	}{
		"taken":                     {events.Stripe, 200, "", 1, receivers.Arrived, false},
		"taken, later":              {events.Lago, 202, "", 2, receivers.Arrived, false},
		"Stripe has it":             {events.Stripe, 400, stripeHas, 1, receivers.Arrived, false},
		"Stripe has the overage":    {events.StripeOverage, 400, stripeHas, 1, receivers.Arrived, false},
		"Stripe has it, 409":        {events.Stripe, 409, stripeHas, 1, receivers.Arrived, false},
		"Lago has it":               {events.Lago, 422, lagoHas, 1, receivers.Arrived, false},
		"Lago has one of two":       {events.Lago, 422, lagoHas, 2, receivers.Refused, false},
		"others don't say so":       {events.OpenMeter, 400, stripeHas, 1, receivers.Refused, false},
		"refused":                   {events.Stripe, 400, "no such meter", 1, receivers.Refused, false},
		"too large":                 {events.OpenMeter, 413, "", 2, receivers.Refused, false},
		"a wrong secret":            {events.Stripe, 401, stripeHas, 1, receivers.Stopped, true},
		"a right that is missing":   {events.Stripe, 403, "", 1, receivers.Stopped, true},
		"a wrong path":              {events.Stripe, 404, "", 1, receivers.Stopped, true},
		"a redirect":                {events.Stripe, 307, "", 1, receivers.Stopped, true},
		"busy":                      {events.Stripe, 409, "lock", 1, receivers.Later, false},
		"too slow":                  {events.Stripe, 408, "", 1, receivers.Later, false},
		"too many":                  {events.Stripe, 429, "", 1, receivers.Later, true},
		"down":                      {events.Stripe, 503, stripeHas, 1, receivers.Later, false},
		"an error that none may be": {events.Stripe, 599, "", 1, receivers.Later, false},
	} {
		requests := 0
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			requests++
			w.Header().Set("Location", "/elsewhere")
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.reply)
		}))
		r := open(t, c.format, s.URL, "USER", secret)
		a := r.Post(t.Context(), make([][]byte, c.events))
		s.Close()
		got := [2]any{a.Verdict, a.Certain}
		assert.DeepEqual(t, got, [2]any{c.want, c.certain}, name, a.Text)
		assert.Equal(t, a.After, 7*time.Second, name, "wait")
		assert.Equal(t, requests, 1, name, "requests")
		assert.True(t, strings.HasPrefix(a.Text, fmt.Sprint(c.status)), name, a.Text)
		a = open(t, c.format, s.URL, "USER", secret).Post(t.Context(), [][]byte{nil})
		assert.DeepEqual(t, [2]any{a.Verdict, a.Certain}, [2]any{receivers.Later, true}, name, "no server", a.Text)
	}
}

// TestHalfReplies: a connection that breaks after the status says nothing about a refusal.
func TestHalfReplies(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]receivers.Verdict{200: receivers.Arrived, 400: receivers.Later} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "An event")
		}))
		a := open(t, events.Stripe, s.URL, "USER", secret).Post(t.Context(), make([][]byte, 1))
		s.Close()
		assert.Equal(t, a.Verdict, want, status, a.Text)
	}
}

// TestRepliesAreMadeSafe: a reply that repeats the secrets, in any of their forms, is stored without
// them, and so is one that is no text.
func TestRepliesAreMadeSafe(t *testing.T) {
	t.Parallel()
	encoded := base64.StdEncoding.EncodeToString([]byte(secret + ":"))
	for kind, key := range map[string]string{"USER": secret, "HEADER": "Authorization: Bearer " + secret} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, "%s\x00\xff\x1b[2J\n %s %s %s", req.Header.Get("Authorization"), secret, encoded,
				strings.Repeat("ü", 300))
		}))
		a := open(t, events.Lago, s.URL+"/?token="+secret, kind, key).Post(t.Context(), make([][]byte, 1))
		s.Close()
		for _, never := range []string{secret, encoded} {
			assert.True(t, kind == "HEADER" && never == encoded || !strings.Contains(a.Text, never), kind, a.Text)
		}
		assert.True(t, strings.HasPrefix(a.Text, "400 ") && utf8.ValidString(a.Text) &&
			!strings.ContainsAny(a.Text, "\x00\x1b\n"), kind, a.Text)
		assert.Equal(t, utf8.RuneCountInString(a.Text), len("400 ")+200, kind, "length of the text")
		gone := open(t, events.Lago, s.URL+"/?token="+secret, kind, key).Post(t.Context(), make([][]byte, 1))
		assert.True(t, gone.Verdict == receivers.Later && !strings.Contains(gone.Text, secret), kind, gone.Text)
	}
}
