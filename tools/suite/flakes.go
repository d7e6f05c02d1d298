package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// flakes runs copies of each package's tests, twice as many beside each other as there are processors, and as many busy loops beside them.
// What a copy that failed has printed is in bin/flakes.
func flakes(packages []pkg, copies int) error {
	logs := filepath.Join("bin", "flakes")
	dir, err := os.MkdirTemp("", "petstore-flakes-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.RemoveAll(logs); err != nil {
		return err
	}
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return err
	}
	stop := make(chan struct{})
	defer close(stop)
	for range 2 * runtime.NumCPU() {
		go func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
			}
		}()
	}
	failed := false
	for _, p := range packages {
		passed, err := flakesOf(p, copies, filepath.Join(dir, "suite.test"), logs)
		if err != nil {
			return err
		}
		fmt.Printf("%3d of %d  %s\n", passed, copies, p.name)
		failed = failed || passed < copies
	}
	if failed {
		return fmt.Errorf("FAIL: see %s", logs)
	}
	return nil
}

// flakesOf returns how many copies of the package's tests passed.
func flakesOf(p pkg, copies int, binary, logs string) (passed int, err error) {
	build := exec.Command("go", "test", "-c", "-race", "-tags", tags, "-trimpath", "-vet", "off", "-o", binary, "./"+p.name)
	if out, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("go test -c ./%s: %w\n%s", p.name, err, out)
	}
	var (
		mu      sync.Mutex
		all     sync.WaitGroup
		at      = make(chan struct{}, 2*runtime.NumCPU())
		problem error
	)
	for i := range copies {
		all.Go(func() {
			at <- struct{}{}
			defer func() { <-at }()
			cmd := exec.Command(binary, "-test.timeout=20m", "-test.parallel=4")
			cmd.Dir = p.name
			out, err := cmd.CombinedOutput()
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				passed++
				return
			}
			name := fmt.Sprintf("%s-%d.log", strings.ReplaceAll(p.name, "/", "-"), i+1)
			if err := os.WriteFile(filepath.Join(logs, name), out, 0o600); err != nil {
				problem = err
			}
		})
	}
	all.Wait()
	return passed, problem
}
