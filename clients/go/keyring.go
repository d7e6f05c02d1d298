package client

import (
	"slices"
	"strings"
	"sync"
)

// keyring has the key that is sent, and those before it, which no error may show either.
type keyring struct {
	// current returns the key that is sent. use replaces it.
	current func() string
	use     func(key string)
	// redact removes all keys from a text.
	redact func(text string) string
}

func newKeyring(key string) keyring {
	var mu sync.RWMutex
	all := []string{key}
	read := func() []string {
		mu.RLock()
		defer mu.RUnlock()
		return slices.Clone(all)
	}
	return keyring{
		current: func() string {
			all := read()
			return all[len(all)-1]
		},
		use: func(key string) {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, key)
		},
		redact: func(text string) string {
			for _, key := range read() {
				text = strings.ReplaceAll(text, key, redacted)
			}
			return text
		},
	}
}
