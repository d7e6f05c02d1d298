package envvars

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"petstore.example/internal/spelling"
)

// Prefix begins the names of all variables.
const Prefix = "PETSTORE_"

// known are the names, without prefix, of the variables of the server, of petstorectl, and of the
// examples for customers. Tests compare the list with the variables that the programs read.
var known = []string{
	"DATABASE_URL",
	"DATABASE_URL_FILE",
	"REDIS_URL",
	"REDIS_URL_FILE",
	"REDIS_TIMEOUT",
	"SECRETS_KEY",
	"SECRETS_KEY_FILE",
	"WEBHOOK_DENY",
	"WEBHOOK_PORTS",
	"SMTP_URL",
	"SMTP_URL_FILE",
	"MAIL_FROM",
	"ADDR",
	"ADMIN_ADDR",
	"ENVIRONMENT",
	"BASE_URL",
	"SUPPORT_URL",
	"SUPPORT_EMAIL",
	"TRUSTED_PROXIES",
	"ADDRESS_LIMIT",
	"MAX_CONNECTIONS",
	"MAX_CONNECTIONS_PER_ADDRESS",
	"LIST_CACHE_BYTES",
	"BODY_BYTES",
	"UNSENT_BYTES",
	"HTTP_FAST_PATH",
	"LOG_LEVEL",
	"LOG_FORMAT",
	"PPROF",
	"DRAIN_DELAY",
	"STOP_TIMEOUT",
	"ALLOW_OWNER",
	"PROFILE",
	"ACTOR",
	"PAGER",
	"URL",
	"API_KEY",
	"TEST_API_KEY",
}

// Names returns the names of all variables.
func Names() []string {
	names := slices.Clone(known)
	for i, name := range names {
		names[i] = Prefix + name
	}
	return names
}

// serviceLink matches the variables that Kubernetes sets in every pod for a service whose name
// begins with petstore, unless enableServiceLinks is false.
var serviceLink = regexp.MustCompile(
	`^PETSTORE_(?:[A-Z0-9_]+_)?` +
		`(?:SERVICE_HOST=|SERVICE_PORT(?:_[A-Z0-9_]+)?=|PORT=[a-z]+://|PORT_[0-9]+_[A-Z]+(?:_PROTO|_PORT|_ADDR)?=)`,
)

// Unknown returns a sentence for each variable in the environment that begins with the prefix but
// is read by no program. The environment has the form of os.Environ.
func Unknown(environ []string) []string {
	var found []string
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		rest, ours := strings.CutPrefix(name, Prefix)
		if !ours || slices.Contains(known, rest) || serviceLink.MatchString(variable) {
			continue
		}
		sentence := name + " is no variable of petstore"
		if meant := nearest(rest); meant != "" {
			sentence += fmt.Sprintf(": did you mean %s%s?", Prefix, meant)
		}
		found = append(found, sentence)
	}
	slices.Sort(found)
	return found
}

// nearest returns the known name that was probably meant, "" for none. Up to a third of the given
// name may be wrong, or the end or some parts of the known one may be missing in it.
func nearest(name string) string {
	best, smallest := "", (len(name)+2)/3+1
	for _, k := range known {
		d := spelling.Distance(strings.ToUpper(name), k)
		if k == "ADDR" {
			d = min(d, spelling.Distance(strings.ToUpper(name), "ADDRESS"))
		}
		if len(name) >= 3 && strings.HasPrefix(k, name) || hasParts(k, name) {
			d = min(d, 1)
		}
		if d < smallest {
			best, smallest = k, d
		}
	}
	return best
}

// hasParts reports whether a name consists of some of the parts of a longer one, in order, as REDIS
// and DATABASE_FILE do.
func hasParts(long, name string) bool {
	parts := strings.Split(long, "_")
	for part := range strings.SplitSeq(name, "_") {
		i := slices.Index(parts, part)
		if i < 0 {
			return false
		}
		parts = parts[i+1:]
	}
	return true
}
