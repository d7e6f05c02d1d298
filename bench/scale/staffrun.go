package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"petstore.example/bench/must"
	"petstore.example/bench/servers"
)

// notFound is the exit code of a command that finds nothing.
const notFound = 3

// staffRun is what one run of a command took.
type staffRun struct {
	took time.Duration
	// memory is the greatest resident size in bytes.
	memory int64
	lines  int64
}

// lineCounter counts what a command prints, and keeps none of it.
type lineCounter struct{ lines int64 }

func (c *lineCounter) Write(text []byte) (int, error) {
	c.lines += int64(bytes.Count(text, []byte("\n")))
	return len(text), nil
}

// build builds petstorectl.
func (s *staffBench) build(ctx context.Context) {
	s.program = filepath.Join(s.dir, "petstorectl")
	cmd := exec.CommandContext(ctx, "go", "build", "-tags", "nomsgpack", "-trimpath", "-o", s.program, "petstore.example/cmd/petstorectl")
	if out, err := cmd.CombinedOutput(); err != nil {
		must.Do(fmt.Errorf("build petstorectl: %w: %s", err, out))
	}
}

// runCommand runs a command line of petstorectl.
func (s *staffBench) runCommand(ctx context.Context, url string, args []string) staffRun {
	var out lineCounter
	var messages bytes.Buffer
	cmd := exec.CommandContext(ctx, s.program, args...)
	cmd.Env = []string{"PETSTORE_DATABASE_URL=" + url, "PETSTORE_ACTOR=bench", "HOME=" + s.dir}
	cmd.Stdout, cmd.Stderr = &out, &messages
	start := time.Now()
	err := cmd.Run()
	took := time.Since(start)
	if err != nil && cmd.ProcessState.ExitCode() != notFound {
		must.Do(fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, messages.Bytes()))
	}
	return staffRun{took, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss * 1024, out.lines}
}

// explain runs a command once, and returns what the server logged meanwhile: the plans of its statements.
func (s *staffBench) explain(ctx context.Context, args []string) string {
	file := s.postgres.LogFile()
	before := must.Get(os.Stat(file)).Size()
	s.runCommand(ctx, s.explained, args)
	// When the explained sessions have ended, they have logged everything.
	for must.Get(servers.Value[bool](ctx, s.owner, "select exists (select from pg_stat_activity where usename = 'bench_explained')")) {
		time.Sleep(10 * time.Millisecond)
	}
	return string(must.Get(os.ReadFile(file))[before:])
}

// explainedPlan is how many statements a command has, and the plan of the slowest in short.
type explainedPlan struct {
	statements int
	text       string
}

// planNode is a node of a plan as auto_explain logs it.
type planNode struct {
	Type     string     `json:"Node Type"`
	Relation string     `json:"Relation Name"`
	Index    string     `json:"Index Name"`
	Children []planNode `json:"Plans"`
}

var planRecord = regexp.MustCompile(`(?m)duration: ([0-9.]+) ms  plan:\n((?:\t.*\n)+)`)

// parsePlans reads a log of auto_explain: each record has a line with the duration, and the plan in JSON in lines that begin with a tab.
func parsePlans(log string) (p explainedPlan, err error) {
	var slowest float64
	for _, m := range planRecord.FindAllStringSubmatch(log, -1) {
		var record struct{ Plan planNode }
		if err := json.Unmarshal([]byte(m[2]), &record); err != nil {
			return p, fmt.Errorf("read a plan: %w", err)
		}
		var ms float64
		if _, err := fmt.Sscan(m[1], &ms); err != nil {
			return p, err
		}
		if p.statements++; ms >= slowest {
			slowest = ms
			p.text = strings.Join(record.Plan.summary(nil), ", ")
		}
	}
	return p, nil
}

// summary names the indexes that the plan reads, the tables that it reads whole, and sorts, each once.
func (n planNode) summary(names []string) []string {
	name := ""
	switch {
	case n.Index != "":
		name = n.Index
	case n.Type == "Seq Scan":
		name = "all of " + n.Relation
	case n.Type == "Sort":
		name = "sort"
	}
	if name != "" && !slices.Contains(names, name) {
		names = append(names, name)
	}
	for _, child := range n.Children {
		names = child.summary(names)
	}
	return names
}
