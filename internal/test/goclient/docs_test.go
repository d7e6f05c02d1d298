package goclient_test

import (
	"go/format"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/api/reference"
	"petstore.example/internal/test/sandbox"
)

// packages serves the files of the packages, as internal/api does.
func packages(t *testing.T) *httptest.Server {
	t.Helper()
	site, err := reference.New("https://api.example.com/v1", reference.Support{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, p := range site.Pages {
			if p.Path != r.URL.Path {
				continue
			}
			v, err := p.For(nil, time.Now())
			if err != nil {
				t.Error(err)
			}
			_, _ = w.Write(v.Body)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

const key = "pst_test_Zb7Q0mKxT4vL9sWcR2yNfHjD8aPuGe1dNUMm"

// TestDocumentedPrograms follows the README of the package, in an empty module: it gets the client
// from the server, builds the program, and runs it against a store. TestGuideCalls follows the guide.
func TestDocumentedPrograms(t *testing.T) {
	t.Parallel()
	program := install(t, "clients/go/README.md")
	run := sandbox.Command(t, program)
	run.Env = append(run.Env, "PETSTORE_URL="+sample(t).URL+"/v1", "PETSTORE_API_KEY="+key)
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.SplitAfter(string(out), "\n")
	if len(lines) > 4 {
		slices.Sort(lines[2:4]) // Rows are finished in any order.
	}
	const want = "1 Luna\n3 Milo\nrow 1 4 there already: false\nrow 2 4 there already: false\n" +
		"somebody else was first\n"
	if diff := cmp.Diff(want, strings.Join(lines, "")); diff != "" {
		t.Errorf("says (-want +got):\n%s", diff)
	}
}

// install follows a page in an empty module, and returns the program that it builds.
func install(t *testing.T, page string) (program string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../..", page))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```sh\n(export GOPROXY=.*?)```.*?```go\n(package main\n.*?)```").FindSubmatch(text)
	if found == nil {
		t.Fatal("the page does not say how to get the client, or has no program after that")
	}
	if formatted, err := format.Source(found[2]); err != nil || string(formatted) != string(found[2]) {
		t.Errorf("the program is not formatted: %v", err)
	}
	commands := strings.ReplaceAll(string(found[1]), "https://api.example.com", packages(t).URL)
	build := sandbox.Command(t, "sh", "-euc", "go mod init example.com/shop\n"+commands+"go build -o program main.go")
	if err := os.WriteFile(filepath.Join(build.Dir, "main.go"), found[2], 0o600); err != nil {
		t.Fatal(err)
	}
	// The cache of modules is empty: another version of these sources may have been there.
	build.Env = append(build.Env, "GOFLAGS=-modcacherw", "GOMODCACHE="+t.TempDir())
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(build.Dir, "program")
}

// sample is a store with two animals.
func sample(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	for route, answer := range map[string]struct {
		status int
		body   string
	}{
		"GET /v1/pets":              {200, `[{"id":1,"name":"Luna"},{"id":3,"name":"Milo"}]`},
		"POST /v1/pets":             {201, `{"id":4,"name":"Rex"}`},
		"POST /v1/store/orders":     {409, `{"code":"pet_not_available","message":"It is pending.","status":409}`},
		"POST /v1/keys/self/rotate": {201, `{"id":"key_2","key":"pst_test_2"}`},
	} {
		mux.HandleFunc(route, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(answer.status)
			_, _ = w.Write([]byte(answer.body))
		})
	}
	api := httptest.NewServer(mux)
	t.Cleanup(api.Close)
	return api
}
