// Command petstore serves the animal catalogue: petstore serve for production, configured by the environment, and
// petstore dev for a first look, which needs nothing but itself.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if err := realMain(); err != nil {
		fmt.Fprintln(os.Stderr, "petstore: "+err.Error())
		os.Exit(exitCode(err))
	}
}

func realMain() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	return newRootCommand().ExecuteContext(ctx)
}
