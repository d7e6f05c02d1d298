package structure_test

import (
	"regexp"
	"testing"
)

// TestNoRegistryIsNamed: which registry, index or module proxy answers is a setting of the machine
// (GOPROXY, npm's and pip's configuration). A lock file or page that names one overrides it.
func TestNoRegistryIsNamed(t *testing.T) {
	t.Parallel()
	registry := regexp.MustCompile(`\b(proxy|sum)\.golang\.[a-z]+|\bregistry\.(npmjs|yarnpkg)\.|` +
		`\bpypi\.(org|python)\b|\bpythonhosted\.|\bcrates\.io\b|\brepo1?\.maven\.|\b(deb|security)\.debian\.`)
	texts := sources(t, ".go", ".md", ".sh", ".json", ".yaml", ".yml", ".toml", ".txt", ".in", ".mjs", ".ts", ".py",
		".html", "Makefile")
	for path, text := range texts {
		if host := registry.Find(text); host != nil {
			t.Errorf("%s names the registry %s", path, host)
		}
	}
}
