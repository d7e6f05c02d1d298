// Command gendoc writes the files that are made from the commands of petstorectl: the reference
// docs/reference/petstorectl.md, the golden help texts of its tests, and, with -man DIR, only the
// man pages. It runs in the root of the repository. Its test checks that the files are up to date.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"petstore.example/internal/ctl"
	"petstore.example/internal/ctl/cmdutil"
)

func main() {
	man := flag.String("man", "", "write the man pages to `DIR`, and nothing else")
	flag.Parse()
	if err := write(*man); err != nil {
		fmt.Fprintln(os.Stderr, "gendoc:", err)
		os.Exit(1)
	}
}

func write(man string) error {
	root := ctl.Root(cmdutil.NewFactory(&cmdutil.IOStreams{}))
	if man != "" {
		return writeMan(root, man)
	}
	files, err := generate(root)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(helpDir); err != nil {
		return err
	}
	for path, text := range files {
		//nolint:gosec // Everybody may read documentation.
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // As above.
			return err
		}
	}
	return nil
}
