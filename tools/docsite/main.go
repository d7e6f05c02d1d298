// Command docsite makes the documentation pages that the server embeds, from docs and the OpenAPI
// document. make generate runs it in the root of the repository:
//
//	docsite FOLDER   replace the folder by the pages
//
// Package reference replaces the pages' placeholders for what depends on a deployment: {{prefix}},
// {{mail}} and {{contact}}, https://api.example.com for the API, and https://support.example.org
// for the support.
package main

import (
	"encoding/json"
	"fmt"
	"html"
	"log"
	"os"
	"path/filepath"
	"strings"
)

const (
	siteName = "Animal Store"
	root     = "https://api.example.com"
	support  = "https://support.example.org"
	prefix   = "{{prefix}}"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("want: docsite FOLDER")
	}
	if err := write(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

// write replaces the pages in a folder.
func write(folder string) error {
	all, err := pages()
	if err != nil {
		return err
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	for name, text := range all {
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// pages returns the text of each page by its file.
func pages() (map[string]string, error) {
	all := map[string]string{
		"robots.txt": "# What is below /v1 needs an API key.\nUser-agent: *\nDisallow: " + prefix + "/v1/\n",
	}
	openAPI, index, err := readOpenAPI()
	if err != nil {
		return nil, err
	}
	overview := "# " + siteName + llmsHead
	names := map[string]string{}
	for _, g := range guides {
		d, err := parse(g, prefix)
		if err != nil {
			return nil, err
		}
		index = append(index, d.index(g)...)
		all["docs/"+g.path+".md"] = renamed(string(d.source))
		all["docs/"+g.path+".html"] = page(
			"/docs/"+g.path,
			titleOf(g.title),
			d.contents(),
			wideTables.Replace(d.html(d.root)),
			"layout",
			"guide",
		)
		overview += fmt.Sprintf("- [%s](%s/docs/%s.md): %s\n", g.title, root, g.path, g.about)
		for _, name := range []string{strings.TrimSuffix(g.file, ".md"),
			strings.ReplaceAll(strings.ToLower(g.title), " ", "-")} {
			if name != g.path {
				names["/docs/"+name], names["/docs/"+name+".md"] = "/docs/"+g.path, "/docs/"+g.path+".md"
			}
		}
	}
	overview += "\n## Optional\n\n- [Feed of changes](" + root + "/docs/changelog.atom): Atom\n"
	all["llms.txt"], all["docs/llms.txt"], all["v1/openapi.json"] = overview, overview, openAPI
	for name, of := range map[string]any{"docs/search.json": index, "other-names.json": names} {
		text, err := json.Marshal(of)
		if err != nil {
			return nil, err
		}
		all[name] = strings.ReplaceAll(string(text), asPath, prefix)
	}
	all["index.html"] = page("/", siteName, "", "", "layout", "guide", "home")
	all["docs.html"] = page("/docs", titleOf("Reference"), "", "", "layout", "reference")
	all["404.html"] = page("", titleOf("Not found"), "", "", "layout", "guide", "404")
	all["docs/changelog.atom"], err = feed()
	return all, err
}

const llmsHead = `

> An HTTP API for a store's catalogue of animals: list, add and change animals, take orders for them, and read the usage. Requests and responses
> are JSON. Every request needs an API key as a bearer token. The base URL is ` + root + `/v1.

## API description

- [OpenAPI 3.1, YAML](` + root + `/v1/openapi.yaml): every operation, parameter, header, schema and error
- [OpenAPI 3.1, JSON](` + root + `/v1/openapi.json): the same document

## Guides

`

// page fills templates. Each template replaces {{content}} in the one before, and body replaces
// {{content}} in the last. contents and body are HTML.
func page(current, title, contents, body string, templates ...string) string {
	text := "{{content}}"
	for _, name := range templates {
		template, err := os.ReadFile("tools/docsite/templates/" + name + ".html")
		if err != nil {
			log.Fatal(err)
		}
		text = strings.Replace(text, "{{content}}", strings.TrimSuffix(string(template), "\n"), 1)
	}
	navigation, list := "", ""
	for _, g := range append([]guide{{title: "Reference"}}, guides...) {
		path, mark := strings.TrimSuffix("/docs/"+g.path, "/"), ""
		if path == current {
			mark = ` aria-current="page"`
		}
		link := fmt.Sprintf(`<a href="%s"%s>%s</a>`, prefix+path, mark, html.EscapeString(g.title))
		navigation += "\n<li>" + link + "</li>"
		if g.about != "" {
			list += fmt.Sprintf(
				"\n<dt>%s</dt>\n<dd>%s</dd>",
				strings.Replace(link, mark, "", 1),
				html.EscapeString(g.about),
			)
		}
	}
	return strings.NewReplacer(
		"{{title}}",
		html.EscapeString(title),
		"{{base}}",
		root+"/v1",
		"{{navigation}}",
		navigation,
		"{{guides}}",
		list,
		"{{contents}}",
		contents,
		"{{content}}",
		strings.ReplaceAll(body, asPath, prefix),
	).Replace(text) + "\n"
}

func titleOf(page string) string { return page + " – " + siteName }
