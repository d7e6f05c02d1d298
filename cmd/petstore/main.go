// Command petstore is the API server of the animal store. "petstore serve" is for production and
// configured by the environment. "petstore dev" starts everything for a first look on one machine.
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
	// After the first signal this restores the default handling, so that a second one ends the
	// process at once.
	context.AfterFunc(ctx, stop)
	return newRootCommand().ExecuteContext(ctx)
}
