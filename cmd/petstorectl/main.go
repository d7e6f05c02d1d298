package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"petstore.example/internal/ctl"
	"petstore.example/internal/ctl/cmdutil"
)

// version is set when a release is built: -ldflags "-X main.version=v1.2.3".
var version = ""

func main() { os.Exit(realMain()) }

func realMain() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	f := cmdutil.NewFactory(cmdutil.SystemStreams())
	f.Environ, f.Version = os.Environ(), version
	defer f.Close()
	return ctl.Run(ctx, f, os.Args[1:])
}
