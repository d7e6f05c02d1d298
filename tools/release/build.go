package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// target is a system that a release is for.
type target struct{ system, arch string }

var targets = []target{
	{"linux", "amd64"},
	{"linux", "arm64"},
	{"darwin", "amd64"},
	{"darwin", "arm64"},
	{"windows", "amd64"},
	{"windows", "arm64"},
}

// programs returns the programs for the system. petstorectl is for staff's machines.
func (t target) programs() []string {
	if t.system == "windows" {
		return []string{"petstorectl"}
	}
	return []string{"petstore", "petstorectl"}
}

// buildRelease writes this commit's archives, packages and bills of materials to a folder. It needs
// the files of make release-files. All files have the time SOURCE_DATE_EPOCH, so that the same
// commit and the same Go give the same bytes.
func buildRelease(version, dir string) error {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	for _, t := range targets {
		if err := t.build(strings.TrimPrefix(version, "v"), dir, time.Unix(seconds, 0)); err != nil {
			return fmt.Errorf("%s/%s: %w", t.system, t.arch, err)
		}
	}
	return nil
}

// build builds the programs of a system, their bills of materials and archives, and for Linux the
// packages.
func (t target) build(version, dir string, at time.Time) error {
	args := []string{"build", "-trimpath", "-buildvcs=true", "-tags=nomsgpack", "-ldflags=-s -w", "-o", releaseFiles}
	for _, p := range t.programs() {
		args = append(args, "./cmd/"+p)
	}
	if _, err := goTool([]string{"CGO_ENABLED=0", "GOOS=" + t.system, "GOARCH=" + t.arch}, args...); err != nil {
		return err
	}
	for _, p := range t.programs() {
		name := fmt.Sprintf("%s_%s_%s_%s", p, version, t.system, t.arch)
		if err := writeSBOM(t.path(p), filepath.Join(dir, name+".cdx.json")); err != nil {
			return err
		}
		files, err := t.filesOf(p)
		if err != nil {
			return err
		}
		if err := writeArchive(t, filepath.Join(dir, name), files, at); err != nil {
			return err
		}
	}
	if t.system != "linux" {
		return nil
	}
	return buildPackages(version, t.arch, strings.TrimSuffix(releaseFiles, "/"), dir)
}

// path returns the path where a program is built.
func (t target) path(program string) string {
	if t.system == "windows" {
		program += ".exe"
	}
	return releaseFiles + program
}
