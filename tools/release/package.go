package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers the formats
	_ "github.com/goreleaser/nfpm/v2/rpm"
	"go.yaml.in/yaml/v3"
)

// packageEntry is what .goreleaser.yaml says of a package. The fields are what goreleaser names otherwise than nfpm, or what nfpm does not
// know. The ids of builds are the names of the programs.
type packageEntry struct {
	IDs          []string                  `yaml:"ids"`
	Formats      []string                  `yaml:"formats"`
	Name         string                    `yaml:"package_name"`
	Dependencies []string                  `yaml:"dependencies"`
	Overrides    map[string]map[string]any `yaml:"overrides"`
	ID           string                    `yaml:"id"`
	FileName     string                    `yaml:"file_name_template"`
	MTime        string                    `yaml:"mtime"`
	Rest         map[string]any            `yaml:",inline"`
}

// releaseFiles is where .goreleaser.yaml finds what make release-files makes.
const releaseFiles = "bin/release/"

// buildPackages builds the packages of .goreleaser.yaml for this machine's architecture, with the files of a folder in place of
// releaseFiles.
func buildPackages(version, files, dir string) error {
	text, err := os.ReadFile(".goreleaser.yaml")
	if err != nil {
		return err
	}
	text = bytes.ReplaceAll(text, []byte(releaseFiles), []byte(files+"/"))
	var config struct {
		NFPMs []packageEntry `yaml:"nfpms"`
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		return err
	}
	for _, entry := range config.NFPMs {
		for _, format := range entry.Formats {
			if err := entry.build(format, version, files, dir); err != nil {
				return fmt.Errorf("%s %s: %w", entry.Name, format, err)
			}
		}
	}
	return nil
}

// build writes one package to dir, under the name that is usual for its format.
func (e packageEntry) build(format, version, files, dir string) error {
	config := map[string]any{"name": e.Name, "version": version, "arch": runtime.GOARCH, "platform": "linux", "depends": e.Dependencies}
	maps.Copy(config, e.Rest)
	for key, value := range e.Overrides[format] {
		if key == "dependencies" {
			key = "depends"
		}
		config[key] = value
	}
	contents, _ := config["contents"].([]any)
	for _, program := range e.IDs {
		contents = append(contents, map[string]any{
			"src": filepath.Join(files, program), "dst": "/usr/bin/" + program, "file_info": map[string]any{"mode": 0o755},
		})
	}
	config["contents"] = contents
	config["deb"] = map[string]any{"compression": "none"} // which takes a tenth of the time
	config["rpm"] = map[string]any{"compression": "gzip:1"}
	text, err := yaml.Marshal(config)
	if err != nil {
		return err
	}
	parsed, err := nfpm.Parse(bytes.NewReader(text)) // which refuses fields that it does not know
	if err != nil {
		return err
	}
	info, err := parsed.Get(format)
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
