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
	"petstore.example/bench/must"
	"petstore.example/bench/servers"
	"petstore.example/internal/test/pgtest"
)

func main() {
	if err := realMain(); err != nil {
		fmt.Fprintln(os.Stderr, "scale: "+err.Error())
		os.Exit(1)
	}
}

// buffersDivisor makes shared_buffers a quarter of the machine's memory, as PostgreSQL's manual
// recommends for a dedicated server. With the 32 MB of a throwaway server, a table of a million
// rows would be read by system calls.
const buffersDivisor = 4

// part is one measurement and its table. measure ends with a panic of must if it fails.
type part struct {
	name    string
	measure func(context.Context, *env) *table
}

var parts = []part{
	{"animals", animals},
	{"look-ups", lookUps},
	{"directory", directory},
	{"servers", clusters},
	{"terms", termChanges},
	{"heartbeats", heartbeats},
	{"fleet", manyServers},
	{"fairness", fairness},
	{"usage", recording},
	{"simulation", simulations},
	{"requests", failedRequests},
	{"retention", retention},
	{"staff", staff},
}

// env is what the parts run in.
type env struct {
	servers.Cleanups

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

// run measures a part.
func (e *env) run(ctx context.Context, p part) (t *table, err error) {
	defer func() {
		if err = errors.Join(err, e.TearDown(context.WithoutCancel(ctx))); err != nil {
			err = fmt.Errorf("%s: %w", p.name, err)
		}
	}()
	defer must.Recover(&err)
	return p.measure(ctx, e), nil
}

// database makes a database for the size n of what it is named after, and returns its URL.
func (e *env) database(ctx context.Context, name string, n int) string {
	e.logf("making %s: %s", name, withCommas(int64(n)))
	return must.Get(e.postgres.CreateDatabase(ctx, fmt.Sprintf("%s_%d", name, n)))
}

// redis starts a Redis and returns its URL.
func (e *env) redis(ctx context.Context) string {
	server := must.Get(servers.StartRedis(ctx, e.dir))
	e.Cleanup(server.Stop)
	return server.URL
}

func (e *env) logf(format string, args ...any) { fmt.Fprintf(e.out, format+"\n", args...) }

// upTo returns the sizes up to the bound.
func (e *env) upTo(sizes ...int) []int {
	return slices.DeleteFunc(sizes, func(n int) bool { return n > e.maxSize })
}

func realMain() error {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.name
	}
	f := flag.NewFlagSet("scale", flag.ContinueOnError)
	only := f.String(
		"only",
		"",
		"comma-separated `parts` to measure: "+strings.Join(
			names,
			", ",
		)+"; empty for all. The document is written only for all",
	)
	document := f.String("document", "docs/benchmarks-scale.md", "Markdown `file` for the results; empty for none")
	e := &env{out: os.Stdout, hurry: 1}
	f.IntVar(&e.maxSize, "max-size", 10_000_000, "largest `number` of animals, keys or servers")
	f.IntVar(
		&e.usageRows,
		"rows",
		10_000_000,
		"`number` of rows of usage for retention; at full size 100 million, which needs 40 GB of disk and an hour",
	)
	if err := f.Parse(os.Args[1:]); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	tables, err := e.runAll(ctx, *only)
	if err != nil || *document == "" || *only != "" {
		return err
	}
	return writeDocument(*document, machine.Describe(), tables)
}

// runAll runs all parts, or those named, and prints each table when it is complete.
func (e *env) runAll(ctx context.Context, only string) (tables []*table, err error) {
	dir, remove, err := pgtest.TempDir(false)
	if err != nil {
		return nil, err
	}
	defer remove()
	m := machine.Describe()
	if e.postgres, err = servers.StartPostgres(
		ctx,
		map[string]string{"shared_buffers": fmt.Sprintf("%dMB", m.MemoryMB/buffersDivisor)},
	); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.postgres.Stop(context.WithoutCancel(ctx))) }()
	e.dir = dir
	e.logf("%s", m)
	for _, p := range parts {
		if only != "" && !slices.Contains(strings.Split(only, ","), p.name) {
			continue
		}
		t, err := e.run(ctx, p)
		if err != nil {
			return nil, err
		}
		if err := t.print(e.out); err != nil {
			return nil, err
		}
		tables = append(tables, t)
	}
	return tables, nil
}
