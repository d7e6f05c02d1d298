package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers the formats
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// releaseFiles is the folder from which the descriptions of packages take the files of make
// release-files.
const releaseFiles = "bin/release/"

// buildPackages builds a deb and an rpm from each description in deploy/packages for an
// architecture, with the folder files in place of releaseFiles. The packages' files have the time
// SOURCE_DATE_EPOCH. In dir the packages have the usual names of their format.
func buildPackages(version, arch, files, dir string) error {
	descriptions, err := filepath.Glob("deploy/packages/*.yaml")
	if err != nil {
		return err
	}
	for _, path := range descriptions {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text = bytes.ReplaceAll(text, []byte(releaseFiles), []byte(filepath.ToSlash(files)+"/"))
		values := map[string]string{"VERSION": version, "GOARCH": arch}
		config, err := nfpm.ParseWithEnvMapping(bytes.NewReader(text), func(name string) string { return values[name] })
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, format := range []string{"deb", "rpm"} {
			if err := buildPackage(config, format, dir); err != nil {
				return fmt.Errorf("%s: %s: %w", path, format, err)
			}
		}
	}
	return nil
}

func buildPackage(config nfpm.Config, format, dir string) error {
	info, err := config.Get(format)
	if err != nil {
		return err
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(dir, packager.ConventionalFileName(info)))
	if err != nil {
		return err
	}
	return errors.Join(packager.Package(info, file), file.Close())
}
