package client_test

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"petstore.example/client"
)

func refuseKey(t *testing.T, where, text string) {
	t.Helper()
	if strings.Contains(text, key) || strings.Contains(text, fmt.Sprintf("%x", key)) {
		t.Errorf("%s shows the key: %s", where, text)
	}
}

// TestNoWayOfPrintingShowsTheKey tries those of fmt, encoding/json and log/slog, on the client and
// on what holds it.
func TestNoWayOfPrintingShowsTheKey(t *testing.T) {
	t.Parallel()
	store, err := client.New("https://api.example.com/v1", key)
	if err != nil {
		t.Fatal(err)
	}
	issued, err := newService(
		t,
		answer(201, `{"id":"key_1","key":"`+key+`"}`),
	).store(t).CreateKey(
		t.Context(),
		client.NewKey{Name: "ci"},
	)
	if err != nil || issued.Key.Reveal() != key || (client.Secret{}).Reveal() != "" {
		t.Fatalf("issued %v, %v", issued, err)
	}
	type secrets struct{ k client.Key }
	type holder struct {
		Pointer *client.Client
		Value   client.Client
		pointer *client.Client
		value   client.Client
	}
	for _, v := range []any{store, *store, holder{store, *store, store, *store},
		&holder{store, *store, store, *store}, []any{*store}, *issued, issued, &issued.Key, secrets{*issued}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%t"} {
			refuseKey(t, verb, fmt.Sprintf(verb, v))
		}
		var log strings.Builder
		slog.New(slog.NewTextHandler(&log, nil)).Info("m", "v", v)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "v", v)
		refuseKey(t, "slog", log.String())
		if text, err := json.Marshal(v); err == nil {
			refuseKey(t, "JSON", string(text))
		}
	}
	if want := "petstore client of https://api.example.com/v1"; store.String() != want ||
		fmt.Sprintf("%#v", store) != want {
		t.Errorf("prints as %v and %#v", store, store)
	}
}

// TestNoErrorContainsTheKey, not even when the service or somebody before it sends the key back.
func TestNoErrorContainsTheKey(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"an echo":     failure(400, "invalid_"+key, "X-Request-Id", key),
		"a message":   answer(400, fmt.Sprintf(`{"code":"x","message":"You sent Bearer %s.","status":400}`, key)),
		"a page":      answer(403, "<pre>Authorization: Bearer "+key),
		"not JSON":    answer(200, key),
		"no answer":   cut,
		"a redirect":  answer(307, "", "Location", "https://elsewhere.example/"+key),
		"a bad place": answer(307, "", "Location", "://"+key),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newService(t, answer)
			store := service.store(t, client.WithMaxRetries(0))
			err := list(t.Context(), store)
			if err == nil {
				t.Fatal("no error")
			}
			for inner := err; inner != nil; inner = errors.Unwrap(inner) {
				refuseKey(t, "the error", fmt.Sprintf("%v %+v %#v", inner, inner, inner))
			}
		})
	}
}

// TestRedirects: none is followed, whatever the given HTTP client does, which is not changed.
func TestRedirects(t *testing.T) {
	t.Parallel()
	service := newService(t, answer(307, "", "Location", "/v1/moved"))
	own := &http.Client{
		Transport:     &http.Transport{DialContext: service.dial, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return nil },
	}
	var e *client.Error
	if err := list(t.Context(), service.store(t, client.WithHTTPClient(own))); !errors.As(err, &e) || e.Status != 307 {
		t.Errorf("error %v", err)
	}
	if n := len(service.requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
	if own.CheckRedirect(nil, nil) != nil {
		t.Error("the client was changed")
	}
}

// TestAServerThatIsNotTrusted is not asked again, and doesn't get the key.
func TestAServerThatIsNotTrusted(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("was asked") }),
	)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	var handshakes atomic.Int64
	server.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		handshakes.Add(1)
		return nil, nil //nolint:nilnil // the configuration that is there
	}}
	server.StartTLS()
	t.Cleanup(server.Close)
	store := (&service{url: server.URL + "/v1"}).store(t)
	var untrusted *tls.CertificateVerificationError
	if err := list(t.Context(), store); !errors.As(err, &untrusted) || handshakes.Load() != 1 {
		t.Errorf("%d handshakes, error %v", handshakes.Load(), err)
	}
}
