package e2e_test

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(programs.Suite{M: storetest.Suite{M: m}}) }

// long reports whether the tests run in their long form, as in make soak.
func long() bool { return os.Getenv("PETSTORE_SOAK") != "" }

// program returns the path of petstore or petstorectl.
func program(t testing.TB, name string) string {
	t.Helper()
	return programs.Path(t, name)
}

// root is the repository, seen from here.
var root = filepath.Join("..", "..")
