package client_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"petstore.example/client"
)

// vectors reads a file of ../testdata, whose README says what its members mean. A member that is
// unknown here is an error.
func vectors[T any](t *testing.T, file string) []T {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var all []T
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&all); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return all
}

// TestEveryFileOfVectorsIsRun: a new file needs a test here.
func TestEveryFileOfVectorsIsRun(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, name := range []string{
		"calls", "clients", "errors", "import-keys", "imports", "retries", "rotation", "waits", "webhooks",
	} {
		want = append(want, "../testdata/"+name+".json")
	}
	if diff := diff(want, files); diff != "" {
		t.Error(diff)
	}
}

// draws are the two values of every draw.
var draws = map[string]float64{"low": 0, "high": 0.999999}

type exchangesVector struct {
	Name      string
	Options   vectorOptions
	Calls     []vectorCall
	Exchanges []vectorExchange
	Warnings  []string
	Stored    []string
}

type vectorOptions struct {
	MaxRetries       *int
	MaxWait, Timeout float64
}

func (o vectorOptions) options() (opts []client.Option) {
	if o.MaxRetries != nil {
		opts = append(opts, client.WithMaxRetries(*o.MaxRetries))
	}
	if o.MaxWait != 0 {
		opts = append(opts, client.WithMaxWait(seconds(o.MaxWait)[0]))
	}
	if o.Timeout != 0 {
		opts = append(opts, client.WithTimeout(seconds(o.Timeout)[0]))
	}
	return opts
}

type vectorCall struct {
	Call   string
	Args   vectorArgs
	Result json.RawMessage
	Error  *map[string]any
}

type vectorExchange struct {
	Wait    [2]float64
	Request struct {
		Method, Path string
		Query        map[string]string
		Headers      map[string]*string
		Body         any
	}
	Response vectorResponse
}

type vectorResponse struct {
	Status           int
	Headers          map[string]string
	Body             json.RawMessage
	Text             string
	Lost, Cut, Hangs bool
}

var placeholder = regexp.MustCompile(`\{(unix|date|time)\+(\d+)\}`)

// fill puts times into a text.
func fill(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(s string) string {
		m := placeholder.FindStringSubmatch(s)
		after, _ := strconv.Atoi(m[2])
		at := time.Now().Add(time.Duration(after) * time.Second).UTC()
		return map[string]string{
			"unix": strconv.FormatInt(at.Unix(), 10),
			"date": at.Format(http.TimeFormat),
			"time": at.Format(time.RFC3339),
		}[m[1]]
	})
}

// answer makes the response, or the error of the transport.
func (v vectorResponse) answer(r *http.Request) (*http.Response, error) {
	switch {
	case v.Hangs:
		<-r.Context().Done()
		return nil, r.Context().Err()
	case v.Lost:
		return nil, io.ErrUnexpectedEOF
	}
	text := v.Text
	if v.Body != nil {
		text = string(v.Body)
	}
	res := response(v.Status, fill(text))
	for name, value := range v.Headers {
		res.Header.Set(name, fill(value))
	}
	if v.Cut {
		res.Body = io.NopCloser(io.MultiReader(res.Body, brokenReader{}))
	}
	return res, nil
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// player answers requests with exchanges, and checks them.
type player struct {
	t         *testing.T
	exchanges []vectorExchange
	next      int
	draw      float64
	ended     time.Time // when the last response was there or given up
	names     map[string]string
}

func (p *player) RoundTrip(r *http.Request) (*http.Response, error) {
	if p.next == len(p.exchanges) {
		p.t.Errorf("one request too many: %s %s", r.Method, r.URL)
		return response(418, `{"code":"too_many","message":"Too many."}`), nil
	}
	x := p.exchanges[p.next]
	p.next++
	want := x.Wait[0]
	if p.draw > 0 {
		want = x.Wait[1]
	}
	if waited := time.Since(p.ended).Seconds(); waited < want-0.05 || waited > want+0.05 {
		p.t.Errorf("request %d came after %v s, want %v s", p.next, waited, want)
	}
	p.check(r, x)
	defer func() { p.ended = time.Now() }()
	return x.Response.answer(r)
}

func (p *player) check(r *http.Request, x vectorExchange) {
	query := map[string]string{}
	for name, values := range r.URL.Query() {
		query[name] = strings.Join(values, " and ")
	}
	want := x.Request
	if want.Query == nil {
		want.Query = map[string]string{}
	}
	got := []any{r.Method, r.URL.EscapedPath(), query}
	if diff := diff([]any{want.Method, want.Path, want.Query}, got); diff != "" {
		p.t.Errorf("request %d (-want +got):\n%s", p.next, diff)
	}
	var body any
	text, err := io.ReadAll(r.Body)
	if err != nil || len(text) > 0 && json.Unmarshal(text, &body) != nil {
		p.t.Errorf("request %d: body %q, %v", p.next, text, err)
	}
	if want.Body == nil && string(text) == "{}" {
		body = nil
	}
	if diff := diff(want.Body, body); diff != "" {
		p.t.Errorf("request %d: body (-want +got):\n%s", p.next, diff)
	}
	if _, ok := want.Headers["Authorization"]; !ok && r.Header.Get("Authorization") != "Bearer "+key {
		p.t.Errorf("request %d: Authorization %q", p.next, r.Header.Get("Authorization"))
	}
	for name, value := range want.Headers {
		p.checkHeader(name, r.Header.Values(name), value)
	}
}

func (p *player) checkHeader(name string, got []string, want *string) {
	switch {
	case want == nil:
		if len(got) > 0 {
			p.t.Errorf("request %d: %s is %q", p.next, name, got)
		}
	case strings.HasPrefix(*want, "$") && len(got) == 1:
		if p.names[*want] == "" {
			for other, value := range p.names {
				if value == got[0] {
					p.t.Errorf("request %d: %s and %s are both %q", p.next, other, *want, value)
				}
			}
			p.names[*want] = got[0]
		}
		if p.names[*want] != got[0] || got[0] == "" {
			p.t.Errorf("request %d: %s is %q, and was %q", p.next, name, got[0], p.names[*want])
		}
	case len(got) != 1 || got[0] != *want:
		p.t.Errorf("request %d: %s is %q, want %q", p.next, name, got, *want)
	}
}

func TestExchanges(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"calls.json", "errors.json", "retries.json", "waits.json", "rotation.json"} {
		for _, v := range vectors[exchangesVector](t, file) {
			for chance, draw := range draws {
				t.Run(file+"/"+v.Name+"/"+chance, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) { v.run(t, draw) })
				})
			}
		}
	}
}

func (v exchangesVector) run(t *testing.T, draw float64) {
	p := &player{t: t, exchanges: v.Exchanges, draw: draw, ended: time.Now(), names: map[string]string{}}
	var warned, stored []string
	opts := append(v.Options.options(),
		client.WithHTTPClient(&http.Client{Transport: p, Timeout: 30 * time.Second}),
		client.WithRandom(func() float64 { return draw }),
		client.WithWarnings(func(w client.Warning) { warned = append(warned, w.Header+": "+w.Value) }))
	c, err := client.New("https://api.example.com/v1", key, opts...)
	if err != nil {
		t.Fatal(err)
	}
	for i, call := range v.Calls {
		run := vectorCalls[call.Call]
		if run == nil {
			t.Fatalf("no call %s", call.Call)
		}
		call.Args.stored = &stored
		result, err := run(t.Context(), c, call.Args)
		if call.Error != nil {
			checkError(t, err, *call.Error)
			continue
		}
		if err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
		checkResult(t, result, call.Result)
	}
	if p.next != len(v.Exchanges) {
		t.Errorf("%d requests, want %d", p.next, len(v.Exchanges))
	}
	if v.Warnings != nil && diff(v.Warnings, warned) != "" {
		t.Errorf("warned of %q, want %q", warned, v.Warnings)
	}
	if v.Stored != nil && strings.Join(v.Stored, " ") != strings.Join(stored, " ") {
		t.Errorf("stored %q, want %q", stored, v.Stored)
	}
}

// checkResult compares the members that the vector names.
func checkResult(t *testing.T, result any, want json.RawMessage) {
	t.Helper()
	text, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	var got, wanted any
	if err := errors.Join(json.Unmarshal(text, &got), json.Unmarshal(want, &wanted)); err != nil {
		t.Fatal(err)
	}
	if !includes(got, wanted) {
		t.Errorf("result %s, want %s", text, want)
	}
}

// includes reports whether got has all that want has. null and an absent member are the same.
func includes(got, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		for name, value := range want {
			ok = ok && includes(object[name], value)
		}
		return ok
	case []any:
		list, ok := got.([]any)
		if got == nil {
			return len(want) == 0
		}
		ok = ok && len(list) == len(want)
		for i := 0; ok && i < len(want); i++ {
			ok = includes(list[i], want[i])
		}
		return ok
	}
	return reflect.DeepEqual(got, want)
}

var classes = map[string]error{
	"Authentication": client.ErrAuthentication, "NotFound": client.ErrNotFound, "Conflict": client.ErrConflict,
	"Validation": client.ErrValidation, "RateLimit": client.ErrRateLimit, "Server": client.ErrServer,
	"Timeout": client.ErrTimeout, "Connection": client.ErrConnection,
}

// class returns the name of an error's class, which must be one only.
func class(t *testing.T, err error) (found string) {
	t.Helper()
	var e *client.Error
	for name, kind := range classes {
		if !errors.Is(err, kind) {
			continue
		}
		if found != "" {
			t.Errorf("%v is both %s and %s", err, found, name)
		}
		found = name
	}
	switch {
	case found != "":
	case errors.As(err, &e):
		found = "Petstore"
	default:
		found = "Refused"
	}
	return found
}

func checkError(t *testing.T, err error, want map[string]any) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want %v", want)
		return
	}
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		text := fmt.Sprintf("%v %+v %#v", inner, inner, inner)
		if refuseKey(t, "the error", text); strings.Contains(text, newKey) {
			t.Errorf("the error shows the new key: %s", text)
		}
	}
	got := map[string]any{"class": class(t, err)}
	var e *client.Error
	if errors.As(err, &e) {
		got["status"], got["message"] = float64(e.Status), e.Message
		for name, value := range map[string]string{
			"code": string(e.Code), "requestId": e.RequestID, "docUrl": e.DocURL,
		} {
			if value != "" {
				got[name] = value
			}
		}
		if e.RetryAfter > 0 {
			got["retryAfter"] = e.RetryAfter.Seconds()
		}
		if want["retryAfter"] == "endless" && e.RetryAfter > 1e9*time.Second {
			got["retryAfter"] = "endless"
		}
	}
	var k *client.KeyError
	if errors.As(err, &k) && k.KeyID != "" {
		got["keyId"] = k.KeyID
	}
	var ended *client.ImportError
	if errors.As(err, &ended) {
		got["firstUnfinished"] = float64(ended.FirstUnfinished)
	}
	if !includes(got, want) {
		t.Errorf("error %v, which is %v, want %v", err, got, want)
	}
}

func TestClients(t *testing.T) {
	t.Parallel()
	for _, v := range vectors[struct {
		Name, URL, Key string
		OK             bool
	}](t, "clients.json") {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			c, err := client.New(v.URL, v.Key)
			if (err == nil) != v.OK || (c != nil) != v.OK {
				t.Errorf("%v, error %v", c, err)
			}
			if err != nil {
				refuseKey(t, "the error", fmt.Sprintf("%v %#v", err, err))
			}
		})
	}
}

func TestWebhooks(t *testing.T) {
	t.Parallel()
	for _, v := range vectors[struct {
		Name      string
		Secrets   []string
		Headers   map[string]string
		Body      string
		Now       int64
		Tolerance float64
		Result    json.RawMessage
		Error     bool
	}](t, "webhooks.json") {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(time.Unix(v.Now, 0))) // the clock of the bubble
				header := http.Header{}
				for name, value := range v.Headers {
					header.Set(name, value)
				}
				event, err := client.VerifyWebhook(v.Secrets, header, []byte(v.Body), seconds(v.Tolerance)[0])
				if (err != nil) != v.Error {
					t.Fatalf("%+v, error %v", event, err)
				}
				if err != nil {
					for _, secret := range v.Secrets {
						if secret != "" && strings.Contains(err.Error(), secret) {
							t.Errorf("the error shows a secret: %v", err)
						}
					}
					return
				}
				checkResult(t, map[string]any{
					"id": event.ID, "type": event.Type, "timestamp": event.Timestamp, "data": event.Data,
				}, v.Result)
			})
		})
	}
}

func TestImportKeys(t *testing.T) {
	t.Parallel()
	for _, v := range vectors[struct {
		Name, Source, Bytes, IdempotencyKey string
		Row                                 int64
		RowKey                              *string
		Pet                                 client.NewPet
	}](t, "import-keys.json") {
		place := []string{"row", strconv.FormatInt(v.Row, 10)}
		if v.RowKey != nil {
			place = []string{"key", *v.RowKey}
		}
		if got := client.ImportKey(v.Source, place, v.Pet); got != v.IdempotencyKey {
			t.Errorf("%s: %s, want %s of %q", v.Name, got, v.IdempotencyKey, v.Bytes)
		}
	}
}
