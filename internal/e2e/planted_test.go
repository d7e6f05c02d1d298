package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
)

// plant is a fault in a file of the sources: what it says, and says instead. Each is off until a
// variable of a server's environment has a value.
type plant struct{ file, says, instead string }

// plants are the faults of the planted program. TEST_CLOCK names a file with the number of seconds
// that its wall clock is ahead, TEST_LAYOUT is the layout of its counters in Redis, and with
// TEST_STALE it does not invalidate lists.
var plants = []plant{
	{
		"internal/api/invalidate.go",
		"if c.Invalidator == nil {",
		`if c.Invalidator == nil || byTest("STALE", "") != "" {`,
	},
	{"internal/limits/redisbackend/codec.go", `const layout = "4"`, `var layout = byTest("LAYOUT", "4")`},
	{"internal/limits/redisbackend/codec.go", "const refundsChannel =", "var refundsChannel ="},
}

// The wall clock is set where time.Now is called to decide: in package storeclock and where a
// request begins. Only the wall part of a time is moved, as in a process whose machine's clock is
// set.
var clockPlants = []plant{
	{"internal/storeclock/clock.go", "now := time.Now()", "now := setByTest(time.Now())"},
	{"internal/api/gate/gate.go", "r.Came = time.Now()", "r.Came = setByTest(time.Now())"},
}

// With PETSTORE_SOAK it is time.Now itself, so that all of the program has that clock; then
// everything is compiled anew, which takes minutes.
var longClockPlant = plant{
	"time.go",
	"func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n",
	"func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n\tsec += SetByTest.Load()\n",
}

// These are files of their own: in the packages of the plants, in package time, and in the program
// that sets its clock.
const (
	ofPackages = `package %s

import (
	"cmp"
	"os"
	"strconv"
	"time"
	"unsafe"
)

func byTest(name, otherwise string) string { return cmp.Or(os.Getenv("TEST_"+name), otherwise) }

func setByTest(t time.Time) time.Time {
	text, _ := os.ReadFile(os.Getenv("TEST_CLOCK"))
	seconds, _ := strconv.ParseInt(string(text), 10, 64)
	*(*uint64)(unsafe.Pointer(&t)) += uint64(seconds) << 30
	return t
}
`
	ofTime = `package time

import "sync/atomic"

var SetByTest atomic.Int64
`
	ofProgram = `package main

import (
	"os"
	"strconv"
	"time"
)

func init() {
	go func() {
		for ; ; time.Sleep(2 * time.Millisecond) { // in the program, not in a test
			text, _ := os.ReadFile(os.Getenv("TEST_CLOCK"))
			seconds, _ := strconv.ParseInt(string(text), 10, 64)
			time.SetByTest.Store(seconds)
		}
	}()
}
`
)

var plantedProgram struct {
	once sync.Once
	path string
	err  error
}

// planted returns the path of petstore with the plants. It is built once.
func planted(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(filepath.Dir(program(t, "petstore")), "planted")
	plantedProgram.once.Do(func() { plantedProgram.path, plantedProgram.err = buildPlanted(dir) })
	if plantedProgram.err != nil {
		t.Fatal(plantedProgram.err)
	}
	return plantedProgram.path
}

func buildPlanted(dir string) (path string, err error) {
	all, files := slices.Concat(plants, clockPlants), map[string]string{}
	if long() {
		goroot, err := sandbox.CommandIn(".", "go", "env", "GOROOT").Output()
		if err != nil {
			return "", fmt.Errorf("go env GOROOT: %w", err)
		}
		ofLibrary := filepath.Join(strings.TrimSpace(string(goroot)), "src", "time")
		longClockPlant.file = filepath.Join(ofLibrary, longClockPlant.file)
		all = append(slices.Clone(plants), longClockPlant)
		files[filepath.Join(ofLibrary, "setbytest.go")], files[filepath.Join(root, "cmd/petstore/set.go")] = ofTime,
			ofProgram
	}
	for _, p := range all {
		path := p.file
		if !filepath.IsAbs(path) {
			path = filepath.Join(root, p.file)
			dir := filepath.Dir(path)
			files[filepath.Join(dir, "bytest.go")] = fmt.Sprintf(ofPackages, filepath.Base(dir))
		}
		if files[path] == "" {
			text, err := os.ReadFile(path)
			if err != nil {
				return "", err
			}
			files[path] = string(text)
		}
		if strings.Count(files[path], p.says) != 1 {
			return "", fmt.Errorf("%s has no %q: the fault has to be planted elsewhere", path, p.says)
		}
		files[path] = strings.Replace(files[path], p.says, p.instead, 1)
	}
	return filepath.Join(dir, "petstore"), buildWith(dir, files)
}

// buildWith builds petstore in a new folder, with those texts in place of the files.
func buildWith(dir string, files map[string]string) error {
	err := os.Mkdir(dir, 0o755)
	overlay := map[string]string{}
	for file, text := range files {
		with := filepath.Join(dir, fmt.Sprint(len(overlay), ".go"))
		path, failed := filepath.Abs(file)
		overlay[path] = with
		err = errors.Join(err, failed, os.WriteFile(with, []byte(text), 0o600))
	}
	text, failed := json.Marshal(map[string]any{"Replace": overlay})
	list := filepath.Join(dir, "overlay.json")
	if err = errors.Join(err, failed, os.WriteFile(list, text, 0o600)); err != nil {
		return err
	}
	return programs.Build(root, dir, "-overlay", list, "./cmd/petstore")
}
