// Command bench compares petstore with a bare Gin server on this machine: requests per second, their ratio, CPU time per request
// and latency. It starts and stops every server that it needs, all on the loopback address.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"petstore.example/bench/servers"
)

func main() {
	if err := realMain(); err != nil {
		fmt.Fprintln(os.Stderr, "bench: "+err.Error())
		os.Exit(1)
	}
}

func realMain() error {
	if isServer, err := servers.SelfMain(os.Args[1:]); isServer {
		return err
	}
	o, err := parseOptions(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, o.timeout())
	defer cancel()
	return run(ctx, o)
}
