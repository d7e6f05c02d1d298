package ctl

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/storetest"
)

// programSuite runs the tests. The scripts start programs more than a thousand times, and with the
// race detector a start takes four times as long: under it the programs are those of this test
// without it, as in internal/e2e. PETSTORE_E2E_RACE=1 leaves it in.
type programSuite struct{ storetest.Suite }

func (s programSuite) Run() int {
	remove, err := plainPrograms()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return max(s.Suite.Run(), remove())
}

// plainPrograms puts the programs of the scripts, built without the race detector, first in the
// PATH.
func plainPrograms() (remove func() int, err error) {
	info, ok := debug.ReadBuildInfo()
	underRace := ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
	if !underRace || os.Getenv("PETSTORE_E2E_RACE") != "" {
		return func() int { return 0 }, nil
	}
	dir, err := os.MkdirTemp("", "petstore-ctl-")
	if err != nil {
		return nil, err
	}
	remove = func() int {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	test := filepath.Join(dir, "ctl.test")
	// Without cgo, as in make build, which has compiled most of it. The tag scripts leaves out what
	// takes long to initialize.
	cmd := sandbox.CommandIn(
		".",
		"go",
		"test",
		"-c",
		"-vet",
		"off",
		"-tags",
		"nomsgpack,scripts",
		"-trimpath",
		"-o",
		test,
		".",
	)
	cmd.Env = append(cmd.Env, "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		remove()
		return nil, fmt.Errorf("build the programs of the scripts: %w\n%s", err, out)
	}
	for name := range programs {
		if err := os.Symlink(test, filepath.Join(dir, name)); err != nil {
			remove()
			return nil, err
		}
	}
	return remove, os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

// programs are those that scripts run, this test binary under their names.
var programs = map[string]func(){
	"petstorectl": scriptedMain,
	"sql":         sqlMain,
	"writedev":    writeDevMain,
	"pinaudit":    pinAuditMain,
}

func TestMain(m *testing.M) { testscript.Main(programSuite{storetest.Suite{M: m}}, programs) }
