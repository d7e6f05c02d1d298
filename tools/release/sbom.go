package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

// writeSBOM writes the components of a program: the modules that the linker recorded in it, Go's
// standard library, and the npm packages that it embeds. The same program always gives the same
// file.
func writeSBOM(binary, file string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	program, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	root, err := goTool(nil, "env", "GOMOD")
	if err != nil {
		return err
	}
	bom, err := newSBOM(info, fmt.Sprintf("%x", sha256.Sum256(program)), filepath.Dir(strings.TrimSpace(string(root))))
	if err != nil {
		return err
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(
		cdx.NewBOMEncoder(out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6),
		out.Close(),
	)
}

func newSBOM(info *buildinfo.BuildInfo, digest, root string) (*cdx.BOM, error) {
	name := path.Base(info.Path)
	program := cdx.Component{
		Type: cdx.ComponentTypeApplication, BOMRef: name, Name: name, Version: info.Main.Version,
		Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: digest}}, Licenses: licenseChoices("Apache-2.0"),
		Properties: &[]cdx.Property{},
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &program}
	bom.SerialNumber = "urn:uuid:" + uuid.NewSHA1(uuid.NameSpaceOID, []byte(digest)).String()
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.time":
			bom.Metadata.Timestamp = s.Value
		case "GOOS", "GOARCH", "CGO_ENABLED", "-tags", "vcs.revision", "vcs.modified":
			*program.Properties = append(
				*program.Properties,
				cdx.Property{Name: "go:" + strings.TrimPrefix(s.Key, "-"), Value: s.Value},
			)
		}
	}
	components, err := componentsOf(info, root)
	if err != nil {
		return nil, err
	}
	var refs []string
	for _, c := range components {
		refs = append(refs, c.BOMRef)
	}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: name, Dependencies: &refs}}
	return bom, nil
}

func componentsOf(info *buildinfo.BuildInfo, root string) ([]cdx.Component, error) {
	standard, err := standardLibrary()
	if err != nil {
		return nil, err
	}
	standard.version = info.GoVersion
	list, err := addComponent(nil, standard, "pkg:golang/std@"+strings.TrimPrefix(info.GoVersion, "go"), nil)
	if err != nil {
		return nil, err
	}
	dirs, err := moduleDirs(info.Deps)
	if err != nil {
		return nil, err
	}
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		m := module{d.Path, d.Version, map[string]string{}}
		dir := dirs[m.name+"@"+m.version]
		if err := addTexts(m.texts, dir, dir); err != nil {
			return nil, err
		}
		hashes, err := hashesOf(d.Sum)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
		if list, err = addComponent(list, m, "pkg:golang/"+m.name+"@"+m.version, hashes); err != nil {
			return nil, err
		}
	}
	if path.Base(info.Path) != "petstore" {
		return list, nil
	}
	embedded, err := embeddedModules(root)
	if err != nil {
		return nil, err
	}
	for _, m := range embedded {
		purl := "pkg:npm/" + strings.Replace(m.name, "@", "%40", 1) + "@" + m.version
		if list, err = addComponent(list, m, purl, nil); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func addComponent(list []cdx.Component, m module, purl string, hashes *[]cdx.Hash) ([]cdx.Component, error) {
	ids, err := m.licenses()
	if err != nil {
		return nil, err
	}
	return append(list, cdx.Component{
		Type:       cdx.ComponentTypeLibrary,
		BOMRef:     purl,
		Name:       m.name,
		Version:    m.version,
		PackageURL: purl,
		Hashes:     hashes,
		Licenses:   licenseChoices(ids...),
	}), nil
}

func licenseChoices(ids ...string) *cdx.Licenses {
	var list cdx.Licenses
	for _, id := range ids {
		list = append(list, cdx.LicenseChoice{License: &cdx.License{ID: id}})
	}
	return &list
}

// hashesOf returns the digest in a line of go.sum.
func hashesOf(sum string) (*[]cdx.Hash, error) {
	digest, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(sum, "h1:"))
	if err != nil || len(digest) != sha256.Size {
		return nil, fmt.Errorf("%q is no checksum of a module", sum)
	}
	return &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(digest)}}, nil
}

// moduleDirs returns where the go command keeps the modules, by PATH@VERSION.
func moduleDirs(modules []*debug.Module) (map[string]string, error) {
	args := []string{"mod", "download", "-json"}
	for _, m := range modules {
		if m.Replace != nil {
			m = m.Replace
		}
		args = append(args, m.Path+"@"+m.Version)
	}
	out, err := goTool(nil, args...)
	if err != nil {
		return nil, err
	}
	dirs := map[string]string{}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var m struct{ Path, Version, Dir string }
		if err := decoder.Decode(&m); errors.Is(err, io.EOF) {
			return dirs, nil
		} else if err != nil {
			return nil, err
		}
		dirs[m.Path+"@"+m.Version] = m.Dir
	}
}
