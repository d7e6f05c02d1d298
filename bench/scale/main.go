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

	"petstore.example/bench/machine"
	"petstore.example/bench/servers"
	"petstore.example/internal/localpg"
)

func main() {
	if err := realMain(); err != nil {
		fmt.Fprintln(os.Stderr, "scale: "+err.Error())
		os.Exit(1)
	}
}

// buffersShare is which part of the machine's memory PostgreSQL has as its buffers: a quarter, which its manual advises for a server that has
// the machine to itself. With the 32 MB of a throwaway, any table of a million rows would be read by system calls.
const buffersShare = 4

// part is one question; it answers in a table.
type part struct {
	name string
	ask  func(context.Context, *ground) (*table, error)
}

var parts = []part{
	{"animals", animals},
	{"look-ups", lookUps},
	{"directory", directory},
	{"servers", clusters},
	{"usage", recording},
}

// ground is what the parts stand on.
type ground struct {
	out      io.Writer
	dir      string
	postgres *servers.Postgres
	// most bounds every size, so that a short run can be had.
	most int
}

func (g *ground) say(format string, args ...any) { fmt.Fprintf(g.out, format+"\n", args...) }

// upTo returns the sizes that are not over the bound.
func (g *ground) upTo(sizes ...int) []int {
	return slices.DeleteFunc(sizes, func(n int) bool { return n > g.most })
}

func realMain() error {
	f := flag.NewFlagSet("scale", flag.ContinueOnError)
	only := f.String("only", "", "`parts` to measure, with commas, of animals, look-ups, directory, servers and usage; empty for all, which the document needs")
	document := f.String("document", "docs/benchmarks-scale.md", "`file` for people, empty for none")
	most := f.Int("most", 10_000_000, "largest `number` of anything")
	if err := f.Parse(os.Args[1:]); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	tables, err := measure(ctx, *only, *most)
	if err != nil || *document == "" || *only != "" {
		return err
	}
	return writeDocument(*document, machine.Describe(), tables)
}

// measure asks all parts, or those named, and prints each answer when it is there.
func measure(ctx context.Context, only string, most int) (tables []*table, err error) {
	dir, remove, err := localpg.TempDir()
	if err != nil {
		return nil, err
	}
	defer remove()
	m := machine.Describe()
	server, err := localpg.Start(ctx, localpg.Options{Throwaway: true, SharedBuffers: m.MemoryMB / buffersShare})
	if err != nil {
		return nil, err
	}
	postgres := &servers.Postgres{Server: server}
	defer func() { err = errors.Join(err, postgres.Stop(context.WithoutCancel(ctx))) }()
	g := &ground{out: os.Stdout, dir: dir, postgres: postgres, most: most}
	g.say("%s", m)
	for _, p := range parts {
		if only != "" && !slices.Contains(strings.Split(only, ","), p.name) {
			continue
		}
		t, err := p.ask(ctx, g)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		if err := t.print(g.out); err != nil {
			return nil, err
		}
		tables = append(tables, t)
	}
	return tables, nil
}
