// Release makes what the project distributes, and is called by the Makefile in the root of the
// repository:
//
//	release licenses FILE             write the licences of all that is linked into the programs
//	release notes VERSION             print the notes of a version, from CHANGELOG.md
//	release package VERSION FILES DIR build the packages for this machine's architecture, with FILES in place of bin/release
//	release build VERSION DIR         build for all systems: archives, packages, bills of materials
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		args = []string{""}
	}
	command, args := args[0], args[1:]
	switch {
	case command == "licenses" && len(args) == 1:
		return writeLicenses(args[0])
	case command == "notes" && len(args) == 1:
		return printNotes(args[0])
	case command == "package" && len(args) == 3:
		return buildPackages(args[0], runtime.GOARCH, args[1], args[2])
	case command == "build" && len(args) == 2:
		return buildRelease(args[0], args[1])
	}
	return errors.New("want: licenses FILE, notes VERSION, package VERSION FILES DIR, or build VERSION DIR")
}
