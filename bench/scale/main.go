// Command scale measures how petstore's costs grow with the number of keys, of servers that share a
// Redis, and of requests with recorded usage. It also measures the lists of staff. It prints tables
// and writes docs/benchmarks-scale.md. Its databases are temporary.
package main

import (
	"bytes"
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

	"petstore.example/bench/machine"
	"petstore.example/bench/must"
	"petstore.example/bench/report"
	"petstore.example/bench/servers"
	"petstore.example/internal/test/pgtest"
)

func main() {
	if err := realMain(os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "scale: "+err.Error())
		os.Exit(1)
	}
}

// buffersDivisor makes shared_buffers a quarter of the machine's memory, as PostgreSQL's manual
// recommends for a dedicated server. A throwaway server has 32 MB, and would read a table of a
// million rows by system calls.
const buffersDivisor = 4

// part is one measurement and its table. If measure fails, it ends with a panic of must.
type part struct {
	name    string
	measure func(context.Context, *env) *table
}

var parts = []part{{"keys", keysPart}, {"servers", serversPart}, {"usage", usagePart}, {"staff", staffPart}}

// env is the environment of the parts.
type env struct {
	servers.Cleanups

	out      io.Writer
	dir      string
	postgres *pgtest.Server
	maxSize  int // the largest size to measure
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

// database makes a database for n of the items in its name, and returns its URL.
func (e *env) database(ctx context.Context, name string, n int) string {
	e.logf("making %s: %s", name, withCommas(n))
	return must.Get(servers.CreateDatabase(ctx, e.postgres, fmt.Sprintf("%s_%d", name, n)))
}

func (e *env) logf(format string, args ...any) { fmt.Fprintf(e.out, format+"\n", args...) }

// upTo returns the sizes that are not above maxSize.
func (e *env) upTo(sizes ...int) []int {
	return slices.DeleteFunc(sizes, func(n int) bool { return n > e.maxSize })
}

func realMain(args []string) (err error) {
	f := flag.NewFlagSet("scale", flag.ContinueOnError)
	only := f.String("only", "", "comma-separated `parts` to measure: keys, servers, usage, staff; empty for all. "+
		"The document is written only for all")
	document := f.String("document", "docs/benchmarks-scale.md", "Markdown `file` for the results; empty for none")
	e := &env{out: os.Stdout}
	f.IntVar(&e.maxSize, "max-size", 1_000_000, "largest `number` of keys or servers")
	if err := f.Parse(args); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, remove, err := pgtest.TempDir(false)
	if err != nil {
		return err
	}
	defer remove()
	m := machine.Describe()
	buffers := fmt.Sprintf("%dMB", m.MemoryMB/buffersDivisor)
	e.dir = dir
	if e.postgres, err = pgtest.Start(ctx, false, map[string]string{"shared_buffers": buffers}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.postgres.Stop(context.WithoutCancel(ctx))) }()
	e.logf("%s", m)
	results := map[string]any{"machine": m}
	for _, p := range parts {
		if *only == "" || slices.Contains(strings.Split(*only, ","), p.name) {
			t, err := e.run(ctx, p)
			if err != nil {
				return err
			}
			e.logf("\n%s\n%s", p.name, t)
			results[p.name] = t
		}
	}
	if *document == "" || *only != "" {
		return nil
	}
	var text bytes.Buffer
	if err := page.Execute(&text, results); err != nil {
		return err
	}
	return report.WriteFile(*document, text.Bytes())
}
