package client_test

import (
	"go/format"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/test/sandbox"
)

// TestTheDocumentsProgram builds the program of docs/clients.md and runs it against a store.
func TestTheDocumentsProgram(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	programs := regexp.MustCompile("(?s)```go\n(package main\n.*?)```").FindAllSubmatch(text, -1)
	if len(programs) != 1 {
		t.Fatalf("%d programs in Go", len(programs))
	}
	source := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(source, programs[0][1], 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "program")
	build := sandbox.Command(t, "go", "build", "-o", binary, source)
	build.Dir = "."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if formatted, err := format.Source(programs[0][1]); err != nil || string(formatted) != string(programs[0][1]) {
		t.Errorf("the program is not formatted: %v", err)
	}

	api := newSampleAPI()
	t.Cleanup(api.Close)
	run := sandbox.Command(t, binary)
	run.Env = append(run.Env, "PETSTORE_URL="+api.URL+"/v1", "PETSTORE_API_KEY="+key)
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if diff := cmp.Diff("1 Luna\n3 Milo\nadded 4\n", string(out)); diff != "" {
		t.Errorf("says (-want +got):\n%s", diff)
	}
}
