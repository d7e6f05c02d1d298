package main

import (
	"bytes"
	"context"
	_ "embed" // staff.sql and staff.txt
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/lib/pq"

	"petstore.example/bench/must"
	"petstore.example/bench/servers"
)

const (
	staffEntries = 10 // audit entries for each key
	staffRounds  = 9
)

var (
	//go:embed staff.sql
	staffSQL string
	// staffCommands has the commands that print tables of 100 rows, then an empty line, then those
	// that print everything.
	//go:embed staff.txt
	staffCommands string
)

func staffPart(ctx context.Context, e *env) *table {
	t := &table{head: []string{"command", "ms", "peak MB", "lines"}}
	s := newStaffBench(ctx, e, min(1_000_000, e.maxSize))
	var subjects []*strings.Replacer
	for range staffRounds {
		subjects = append(subjects, s.subject(ctx))
	}
	lists, streams, _ := strings.Cut(staffCommands, "\n\n")
	for command := range strings.Lines(lists) {
		t.add(s.measure(ctx, command, " -o table", subjects)...)
	}
	for command := range strings.Lines(streams) {
		t.add(s.measure(ctx, command, "", subjects[:1])...)
	}
	return t
}

// staffBench is a database as staff use it.
type staffBench struct {
	*env

	// owner is the URL of the database's owner, url the URL of a login in support.
	owner, url string
}

// newStaffBench makes and fills the database.
func newStaffBench(ctx context.Context, e *env, keys int) *staffBench {
	s := &staffBench{env: e, owner: e.database(ctx, "staff", keys)}
	must.Do(servers.Exec(ctx, s.owner,
		fmt.Sprintf("set bench.keys = %d", keys), fmt.Sprintf("set bench.entries = %d", keys*staffEntries),
		staffSQL, "vacuum analyze", "checkpoint", "create role bench_support login in role petstore_support"))
	s.url = strings.Replace(s.owner, "//postgres@", "//bench_support@", 1)
	return s
}

// subject replaces the placeholders of a command by a random tenant and key.
func (s *staffBench) subject(ctx context.Context) *strings.Replacer {
	v := must.Get(servers.Value[pq.StringArray](ctx, s.owner, `
		select array[t.name, k.id, k.last4] from api_keys k join tenants t on t.id = k.tenant_id
		where k.tenant_id = $1 limit 1`, 1+rand.IntN(100)))
	return strings.NewReplacer("{tenant}", v[0], "{key}", v[1], "{last4}", v[2])
}

// measure runs a command of petstorectl for each subject, and returns its cells.
func (s *staffBench) measure(ctx context.Context, command, format string, subjects []*strings.Replacer) []string {
	command = strings.TrimSpace(command)
	var took []time.Duration
	var memory int64
	lines := 0
	for _, subject := range subjects {
		args := strings.Fields(subject.Replace(command + format))
		var out lineCounter
		var messages bytes.Buffer
		cmd := exec.CommandContext(ctx, "bin/petstorectl", args...)
		cmd.Env = []string{"PETSTORE_DATABASE_URL=" + s.url, "PETSTORE_ACTOR=bench", "HOME=" + s.dir}
		cmd.Stdout, cmd.Stderr = &out, &messages
		start := time.Now()
		if err := cmd.Run(); err != nil {
			must.Do(fmt.Errorf("%s: %w: %s", command, err, messages.Bytes()))
		}
		took = append(took, time.Since(start))
		memory = max(memory, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss*1024)
		lines = max(lines, int(out))
	}
	megabytes := significant(float64(memory) / 1e6)
	return []string{"`" + command + "`", spread(took, time.Millisecond), megabytes, withCommas(lines)}
}

// lineCounter counts the lines that a command prints, and discards them.
type lineCounter int

func (c *lineCounter) Write(text []byte) (int, error) {
	*c += lineCounter(bytes.Count(text, []byte("\n")))
	return len(text), nil
}
