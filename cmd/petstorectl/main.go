package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"petstore.example/internal/ctl"
	"petstore.example/internal/ctl/cmdutil"
)

func main() { os.Exit(realMain()) }

func realMain() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	f := cmdutil.NewFactory(cmdutil.SystemStreams())
	defer f.Close()
	return ctl.Run(ctx, f, os.Args[1:])
}
