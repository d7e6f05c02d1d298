// Command servers starts the PostgreSQL and the Redis that the test binaries of one run share. It
// prints a line for each variable that names one of them. It stops both when its standard input
// ends, so they never outlive the run that started it.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/storetest"
)

func main() {
	sandbox.Enter()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "start the servers of the tests:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	postgres, stopPostgres, err := storetest.StartShared()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopPostgres()) }()
	redis, stopRedis, err := redistest.StartShared()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopRedis()) }()
	fmt.Printf("%s=%s\n%s=%s\n", storetest.Variable, postgres, redistest.Variable, redis)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
