package reference

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

// below is where the packages for customers are.
const below = "/docs/clients/"

// release is a version of a package.
type release struct {
	URL    string `json:"url"`
	SHA256 string `json:"sha256"`
}

// packageReleases are all versions of a package. Newest is empty if there is none.
type packageReleases struct {
	Name     string             `json:"name"`
	Newest   string             `json:"newest"`
	Versions map[string]release `json:"versions"`

	// order has the versions as they were released.
	order []string
}

// packageFiles are the paths of packages, each with the name, if it is in the path, and the version.
var packageFiles = map[string]*regexp.Regexp{
	"npm":    regexp.MustCompile(`^[^/]+-(\d+\.\d+\.\d+[^/]*)\.tgz$`),
	"python": regexp.MustCompile(`^[^/]+-(\d+\.\d+\.\d+[^/-]*)-py3-none-any\.whl$`),
	"go":     regexp.MustCompile(`^go/.+/@v/(v[^/]+)\.zip$`),
}

// releases makes the pages of the packages: each file as it is, and what is made of their list,
// SHA256SUMS, which has them in the order of their release. For the command go it is a module
// proxy (https://go.dev/ref/mod#goproxy-protocol).
func (d deployment) releases(files fs.FS) (pages []*Page, err error) {
	list, err := fs.ReadFile(files, "released/SHA256SUMS")
	if err != nil {
		return nil, fmt.Errorf("make pages of packages: %w", err)
	}
	all, err := d.listReleases(files, string(list))
	if err != nil {
		return nil, fmt.Errorf("make pages of packages: %w", err)
	}
	for line := range strings.Lines(string(list)) {
		_, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		read := func() ([]byte, error) { return fs.ReadFile(files, "released/"+name) }
		pages = append(pages, newFile(below+name, read))
	}
	if module := all["go"]; module.Newest != "" {
		at := "go/" + module.Name + "/@v/"
		info, err := fs.ReadFile(files, "released/"+at+module.Newest+".info")
		if err != nil {
			return nil, fmt.Errorf("make pages of packages: %w", err)
		}
		versions := []byte(strings.Join(module.order, "\n") + "\n")
		pages = append(pages, plainPage(below+at+"list", ".txt", versions),
			plainPage(below+"go/"+module.Name+"/@latest", ".json", info))
	}
	versions, err := json.MarshalIndent(all, "", "  ")
	return append(pages, plainPage(below+"SHA256SUMS", ".txt", list),
		plainPage(below+"versions.json", ".json", append(versions, '\n'))), err
}

func (d deployment) listReleases(files fs.FS, list string) (map[string]*packageReleases, error) {
	text, err := fs.ReadFile(files, "names.json")
	var names map[string]string
	if err == nil {
		err = json.Unmarshal(text, &names)
	}
	if err != nil {
		return nil, err
	}
	all := map[string]*packageReleases{}
	for kind := range packageFiles {
		all[kind] = &packageReleases{Name: names[kind], Versions: map[string]release{}}
	}
	for line := range strings.Lines(list) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok {
			return nil, errors.New("SHA256SUMS has a line without a file")
		}
		for kind, form := range packageFiles {
			if m := form.FindStringSubmatch(name); m != nil {
				p := all[kind]
				p.Newest, p.order = m[1], append(p.order, m[1])
				p.Versions[m[1]] = release{d.root + below + name, sum}
			}
		}
	}
	return all, nil
}

func plainPage(at, kind string, body []byte) *Page {
	return newPage(at, contentTypes[kind], func() ([]byte, error) { return body, nil })
}
