package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/test/sandbox"
)

// hostile are variables of a developer's shell, with nonsense.
var hostile = []string{
	"PETSTORE_DATABASE_URL=nonsense",
	"PETSTORE_LOG_LEVEL=nonsense",
	"PGSERVICE=nonsense",
	"PGHOST=nonsense",
	"OTEL_TRACES_SAMPLER=nonsense",
	"HTTP_PROXY=nonsense",
	"NO_COLOR=1",
	"GOFLAGS=-mod=nonsense",
	"LC_ALL=nonsense",
	"TZ=Pacific/Kiritimati",
	"HOME=/nonsense",
}

// TestBinaryHasNoVariableOfTheShell starts this binary as go test does, with hostile variables.
func TestBinaryHasNoVariableOfTheShell(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestNothingHostile$", "-test.v")
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "PETSTORE_SOAK=" + os.Getenv("PETSTORE_SOAK")}, hostile...)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestNothingHostile") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestNothingHostile(t *testing.T) {
	t.Parallel()
	for _, v := range os.Environ() {
		for _, h := range hostile {
			if v == h || strings.HasSuffix(v, "=nonsense") {
				t.Errorf("%s reaches the tests", v)
			}
		}
	}
	if zone, offset := time.Now().Zone(); zone != "UTC" || offset != 0 {
		t.Errorf("the time zone is %s", zone)
	}
	if home := os.Getenv("HOME"); os.MkdirAll(filepath.Join(home, "made"), 0o700) == nil {
		t.Errorf("a test can write into the HOME %q", home)
	}
}

// TestCommandsStartFromNothing: their folder and their HOME are empty, each its own.
func TestCommandsStartFromNothing(t *testing.T) {
	t.Parallel()
	folders := map[string]bool{}
	for range 2 {
		out, err := sandbox.Command(
			t,
			"sh",
			"-c",
			`ls -A . "$HOME" | grep -v : | grep . && exit 1; pwd; echo "$HOME"; env | cut -d = -f 1`,
		).Output()
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		if err != nil || len(lines) < 3 {
			t.Fatalf("%v: %s", err, out)
		}
		folders[lines[0]], folders[lines[1]] = true, true
		for _, variable := range lines[2:] {
			if strings.HasPrefix(variable, "PG") || strings.HasPrefix(variable, "OTEL") ||
				variable == "PETSTORE_TEST_SANDBOX" {
				t.Errorf("%s reaches a command", variable)
			}
		}
	}
	if len(folders) != 4 {
		t.Errorf("the folders of two commands are %v", folders)
	}
}
