package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"petstore.example/bench/machine"
	"petstore.example/bench/servers"
	"petstore.example/internal/test/pgtest"
)

func main() {
	if err := realMain(); err != nil {
		fmt.Fprintln(os.Stderr, "scale: "+err.Error())
		os.Exit(1)
	}
}

// buffersDivisor makes shared_buffers a quarter of the machine's memory, as PostgreSQL's manual recommends for a dedicated server. With
// the 32 MB of a throwaway server, a table of a million rows would be read by system calls.
const buffersDivisor = 4

// part is one measurement and its table.
type part struct {
	name    string
	measure func(context.Context, *env) (*table, error)
}

var parts = []part{
	{"animals", animals},
	{"look-ups", lookUps},
	{"directory", directory},
	{"servers", clusters},
	{"terms", termChanges},
	{"heartbeats", heartbeats},
	{"fleet", manyServers},
	{"usage", recording},
	{"simulation", simulations},
	{"retention", retention},
	{"staff", staff},
}

// env is what the parts run in.
type env struct {
	out      io.Writer
	dir      string
	postgres *servers.Postgres
	// maxSize bounds every size.
	maxSize int
	// usageRows is how many hours of usage are summed into days.
	usageRows int
	// hurry divides how long parts measure; 1 but in tests.
	hurry time.Duration
}

func (e *env) logf(format string, args ...any) { fmt.Fprintf(e.out, format+"\n", args...) }

// upTo returns the sizes up to the bound.
func (e *env) upTo(sizes ...int) []int {
	return slices.DeleteFunc(sizes, func(n int) bool { return n > e.maxSize })
}

func realMain() error {
	f := flag.NewFlagSet("scale", flag.ContinueOnError)
	only := f.String("only", "", "comma-separated `parts` to measure: animals, look-ups, directory, servers, terms, heartbeats, fleet, usage, simulation, retention, staff; empty for all. The document is written only for all")
	document := f.String("document", "docs/benchmarks-scale.md", "Markdown `file` for the results; empty for none")
	maxSize := f.Int("max-size", 10_000_000, "largest `number` of animals, keys or servers")
	rows := f.Int("rows", 10_000_000, "`number` of rows of usage for retention; at full size 100 million, which needs 40 GB of disk and an hour")
	if err := f.Parse(os.Args[1:]); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	tables, err := measure(ctx, *only, *maxSize, *rows)
	if err != nil || *document == "" || *only != "" {
		return err
	}
	return writeDocument(*document, machine.Describe(), tables)
}

// measure runs all parts, or those named, and prints each table when it is complete.
func measure(ctx context.Context, only string, maxSize, usageRows int) (tables []*table, err error) {
	dir, remove, err := pgtest.TempDir(false)
	if err != nil {
		return nil, err
	}
	defer remove()
	m := machine.Describe()
	server, err := pgtest.Start(ctx, false, map[string]string{"shared_buffers": fmt.Sprintf("%dMB", m.MemoryMB/buffersDivisor)})
	if err != nil {
		return nil, err
	}
	postgres := &servers.Postgres{Server: server}
	defer func() { err = errors.Join(err, postgres.Stop(context.WithoutCancel(ctx))) }()
	e := &env{out: os.Stdout, dir: dir, postgres: postgres, maxSize: maxSize, usageRows: usageRows, hurry: 1}
	e.logf("%s", m)
	for _, p := range parts {
		if only != "" && !slices.Contains(strings.Split(only, ","), p.name) {
			continue
		}
		t, err := p.measure(ctx, e)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		if err := t.print(e.out); err != nil {
			return nil, err
		}
		tables = append(tables, t)
	}
	return tables, nil
}
