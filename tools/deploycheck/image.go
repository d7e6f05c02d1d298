package deploycheck

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// maxImage is the maximum size of an unpacked image, in bytes.
const maxImage = 43_000_000

const (
	certificates = "etc/ssl/certs/ca-certificates.crt"
	passwd       = "etc/passwd"
	license      = "licenses/LICENSE"
	thirdParty   = "licenses/THIRD_PARTY_LICENSES.txt"
)

// program is a program that an image should run.
type program struct {
	name        string
	command     []string
	healthcheck []string
}

var programs = []program{
	{name: "petstore", command: []string{"serve"}, healthcheck: []string{"CMD", "/petstore", "healthcheck"}},
	{name: "petstorectl"},
}

// open returns the configuration and the files of an image.
func open(image v1.Image) (v1.Config, map[string]file, error) {
	config, err := image.ConfigFile()
	if err != nil {
		return v1.Config{}, nil, err
	}
	files, err := unpack(image)
	return config.Config, files, err
}

// checkImage checks the configuration and the files of an image.
func checkImage(config v1.Config, files map[string]file, want program) []string {
	var f findings
	f.checkConfig(config, want)
	f.checkFiles(files, want)
	return f
}

func (f *findings) checkConfig(c v1.Config, want program) {
	if !regexp.MustCompile(`^[1-9][0-9]*:[1-9][0-9]*$`).MatchString(c.User) {
		f.add("user is %q: want the numbers of a user and a group other than root", c.User)
	}
	if !slices.Equal(c.Entrypoint, []string{"/" + want.name}) || !slices.Equal(c.Cmd, want.command) {
		f.add("it runs %q %q: want /%s %q", c.Entrypoint, c.Cmd, want.name, want.command)
	}
	var healthcheck []string
	if c.Healthcheck != nil {
		healthcheck = c.Healthcheck.Test
	}
	if !slices.Equal(healthcheck, want.healthcheck) {
		f.add("the health check is %q: want %q", healthcheck, want.healthcheck)
	}
	if len(c.Volumes) > 0 {
		f.add("it has volumes: %v", slices.Collect(maps.Keys(c.Volumes)))
	}
}

// file is a file of an image.
type file struct {
	header  *tar.Header
	content []byte
}

// unpack returns the files of all layers by their paths, without directories.
func unpack(image v1.Image) (map[string]file, error) {
	stream := mutate.Extract(image)
	defer stream.Close()
	files := map[string]file{}
	for archive := tar.NewReader(stream); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if header.Typeflag == tar.TypeDir {
			continue
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			return nil, err
		}
		files[path.Clean(strings.TrimPrefix(header.Name, "/"))] = file{header, content}
	}
}

func (f *findings) checkFiles(files map[string]file, want program) {
	size := 0
	for name, file := range files {
		size += len(file.content)
		if !slices.Contains([]string{want.name, certificates, passwd, license, thirdParty}, name) {
			f.add("it has %s: want the program, %s, %s and licences", name, certificates, passwd)
		}
		mode := file.header.FileInfo().Mode()
		if !mode.IsRegular() || mode&(fs.ModeSetuid|fs.ModeSetgid) != 0 || mode.Perm()&0o022 != 0 ||
			file.header.Uid != 0 ||
			file.header.Gid != 0 {
			f.add(
				"%s is %v of %d:%d: want a regular file of root that nobody else may write",
				name,
				mode,
				file.header.Uid,
				file.header.Gid,
			)
		}
	}
	if size > maxImage {
		f.add("it has %d bytes: want at most %d", size, maxImage)
	}
	f.checkProgram(want.name, files[want.name])
	if n := countCertificates(files[certificates].content); n < 100 {
		f.add("%s has %d certificates: want those of all public authorities", certificates, n)
	}
	for _, name := range []string{license, thirdParty} {
		if !bytes.Contains(files[name].content, []byte("Apache License")) {
			f.add("%s is missing", name)
		}
	}
	if !regexp.MustCompile(`(?m)^petstore:x:65532:65532:`).Match(files[passwd].content) {
		f.add("%s does not name the user 65532", passwd)
	}
}

func (f *findings) checkProgram(name string, program file) {
	if program.header == nil {
		f.add("it has no /%s", name)
		return
	}
	if program.header.Mode&0o111 != 0o111 {
		f.add("/%s has mode %o: not everybody may execute it", name, program.header.Mode)
	}
	binary, err := elf.NewFile(bytes.NewReader(program.content))
	if err != nil {
		f.add("/%s: %v", name, err)
		return
	}
	for _, p := range binary.Progs {
		if p.Type == elf.PT_INTERP {
			f.add("/%s is not static", name)
		}
	}
}

func countCertificates(bundle []byte) int {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(bundle) {
		return 0
	}
	return bytes.Count(bundle, []byte("-----BEGIN CERTIFICATE-----"))
}

// findings are the faults found, one sentence each.
type findings []string

func (f *findings) add(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }
