package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(realMain()) }

func realMain() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	f := newFactory(systemStreams())
	defer f.close()
	return run(ctx, f, os.Args[1:])
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, f *factory, args []string) int {
	err := checkText(args)
	if err == nil {
		root := newCmdRoot(f)
		root.SetArgs(args)
		err = root.ExecuteContext(ctx)
	}
	return f.report(ctx, err)
}
