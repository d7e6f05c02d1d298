package config

import (
	"fmt"
	"net"
	"strings"

	"petstore.example/internal/envvars"
)

const envPrefix = envvars.Prefix

// Problems collects the mistakes in a configuration. Its texts never contain the value of a secret.
type Problems []string

func (p *Problems) add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

func (p *Problems) err() error {
	if len(*p) == 0 {
		return nil
	}
	return *p
}

// Error implements error.
func (p Problems) Error() string {
	return "invalid configuration:\n  - " + strings.Join(p, "\n  - ") + "\nSee docs/configuration.md."
}

func (p *Problems) checkAddr(name, value string) {
	if _, port, err := net.SplitHostPort(value); err != nil || port == "" {
		p.add("%s%s is %q: want HOST:PORT, or :PORT for all addresses", envPrefix, name, value)
	}
}

// readWord replaces a value that is one of these words in any letter case by that word. Any other
// value is a mistake.
func (p *Problems) readWord(name string, value *string, words ...string) {
	word, ok := envvars.Word(*value, words...)
	if !ok {
		p.add("%s%s is %q: want %s", envPrefix, name, *value, strings.Join(words, " or "))
		return
	}
	*value = word
}

// Warnings are findings of the checks at start, by the name of the check. The server works in spite
// of them.
type Warnings map[string]string

// Add adds a sentence to the findings of a check.
func (w Warnings) Add(check, message string) {
	if w[check] != "" {
		message = w[check] + "; " + message
	}
	w[check] = message
}
