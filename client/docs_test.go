package client_test

import (
	"errors"
	"go/format"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/test/sandbox"
)

// TestTheDocumentsProgram follows docs/clients.md in an empty module, without a network: it gets
// the client, builds the program, and runs it against a store.
func TestTheDocumentsProgram(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```sh\n(go mod edit .*?)```.*?```go\n(package main\n.*?)```").FindSubmatch(text)
	if found == nil {
		t.Fatal("the page has no go mod edit, or no program after it")
	}
	source, err := sandbox.Module()
	if err != nil {
		t.Fatal(err)
	}
	build := sandbox.Command(
		t,
		"sh",
		"-euc",
		"go mod init example.com/shop\n"+string(found[1])+"go build -o program main.go",
	)
	shop := filepath.Join(build.Dir, "shop")
	err = errors.Join(
		os.Symlink(source, filepath.Join(build.Dir, "petstore")),
		os.Mkdir(shop, 0o700),
		os.WriteFile(filepath.Join(shop, "main.go"), found[2], 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	build.Dir = shop
	build.Env = append(build.Env, "GOPROXY=off", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if formatted, err := format.Source(found[2]); err != nil || string(formatted) != string(found[2]) {
		t.Errorf("the program is not formatted: %v", err)
	}

	api := newSampleAPI()
	t.Cleanup(api.Close)
	run := sandbox.Command(t, filepath.Join(shop, "program"))
	run.Env = append(run.Env, "PETSTORE_URL="+api.URL+"/v1", "PETSTORE_API_KEY="+key)
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if diff := cmp.Diff("1 Luna\n3 Milo\nadded 4\n", string(out)); diff != "" {
		t.Errorf("says (-want +got):\n%s", diff)
	}
}
