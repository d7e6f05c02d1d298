package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"petstore.example/internal/ctl/output"
	"petstore.example/internal/webhooks"
)

// checkWebhooks compares the keys of the servers with those that the secrets of endpoints need.
func checkWebhooks(r webhooks.KeyReport) Finding {
	var sealed, lost int64
	servers := map[string]int64{} // by their keys
	known := map[string]bool{}
	for _, keys := range r.Servers {
		servers[keysText(keys)]++
		for _, key := range keys {
			known[key] = true
		}
	}
	var missing []string
	for _, key := range slices.Sorted(maps.Keys(r.Secrets)) {
		sealed += r.Secrets[key]
		if !known[key] {
			lost += r.Secrets[key]
			missing = append(missing, key)
		}
	}
	switch {
	case len(servers) == 0:
		return Finding{"webhooks", statusSkip, "no server is alive", ""}
	case lost > 0:
		return Finding{
			"webhooks",
			statusFail,
			fmt.Sprintf(
				"%s sealed with %s, which no server has",
				output.Count(lost, "secret"),
				strings.Join(missing, ", "),
			),
			"set that key as the second of PETSTORE_SECRETS_KEY on each server; if it is lost, these endpoints wait " +
				"until their owners rotate the secret",
		}
	case len(servers) > 1:
		var each []string
		for _, keys := range slices.Sorted(maps.Keys(servers)) {
			each = append(each, fmt.Sprintf("%s: %s", output.Count(servers[keys], "server"), keys))
		}
		return Finding{"webhooks", statusWarn, "the keys of the servers differ: " + strings.Join(each, "; "),
			"set the same PETSTORE_SECRETS_KEY on each server"}
	case len(known) == 0:
		return Finding{"webhooks", statusOK, "off: no server has a key (PETSTORE_SECRETS_KEY)", ""}
	}
	f := Finding{"webhooks", statusOK, "the servers open " + output.Count(sealed, "secret"), ""}
	for _, key := range slices.Sorted(maps.Keys(known)) {
		if len(known) > 1 && r.Secrets[key] == 0 {
			f.detail += "; no secret needs " + key
		}
	}
	return f
}

// keysText is how the keys of a server are shown.
func keysText(keys []string) string {
	if len(keys) == 0 {
		return "no key"
	}
	return strings.Join(keys, ", ")
}
