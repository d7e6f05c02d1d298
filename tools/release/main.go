// Release makes what goreleaser does not make by itself, and is called by .goreleaser.yaml and the Makefile, in the root of the repository:
//
//	release licenses FILE            write the licences of all that is linked into the programs
//	release sbom BINARY FILE         write the bill of materials of a program, as CycloneDX
//	release notes VERSION            print the notes of a version, from CHANGELOG.md
//	release package VERSION FILES DIR build the packages for this machine's architecture, with FILES in place of bin/release
//
// The last one is for tests, because building goreleaser takes minutes. It reads the entries of .goreleaser.yaml.
package main

import (
	"errors"
	"fmt"
	"os"
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
	case command == "sbom" && len(args) == 2:
		return writeSBOM(args[0], args[1])
	case command == "notes" && len(args) == 1:
		return printNotes(args[0])
	case command == "package" && len(args) == 3:
		return buildPackages(args[0], args[1], args[2])
	}
	return errors.New("want: licenses FILE, sbom BINARY FILE, notes VERSION, or package VERSION FILES DIR")
}
