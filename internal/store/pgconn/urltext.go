package pgconn

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/lib/pq"

	"petstore.example/internal/envvars"
	"petstore.example/internal/spelling"
)

// The driver reads any text that is not a URL as key/value pairs, uses this machine if no host is
// given, and sends an unknown name to the server as a parameter, in the clear. So a text that is
// not understood is refused first. No error here holds a part of the text that may be a password.
var (
	errUnreadable = errors.New(
		"the database URL can't be read: want postgres://user:password@host:5432/name?sslmode=…")
	errNotSettings = errors.New("the text is no connection string of Postgres: write a URL, " +
		"postgres://user:password@host:5432/name?sslmode=…")
	errUnknown = errors.New(
		"the query of the database URL has a name that is no setting: want sslmode=… and the like",
	)
	errMisplaced = errors.New(
		"a part of the database URL is no login, host, name or setting: check its separators, and " +
			"percent-encode all but letters and digits in the password",
	)
)

// schemes are the schemes of Postgres URLs.
var schemes = []string{"postgres", "postgresql"}

// isURL reports whether a text that has passed checkText is a URL.
func isURL(text string) bool {
	scheme, _, ok := strings.Cut(text, "://")
	return ok && slices.Contains(schemes, scheme)
}

// checkText checks a given text before the driver reads it.
func checkText(text string) error {
	if err := envvars.CheckURL(text, schemes...); err != nil {
		return fmt.Errorf("the database URL %w", err)
	}
	if !isURL(text) {
		return nil // checkSettings checks its names.
	}
	u, err := url.Parse(text)
	if err != nil {
		return errUnreadable
	}
	if _, err := url.ParseQuery(u.RawQuery); err != nil {
		return errUnreadable
	}
	for setting := range strings.SplitSeq(u.RawQuery, "&") {
		if setting != "" && !parameter.MatchString(setting) {
			return errUnknown
		}
	}
	if strayed.MatchString(text) {
		return errMisplaced
	}
	return nil
}

var (
	// parameter matches the beginning of a setting in a query. The driver would ignore one without
	// =.
	parameter = regexp.MustCompile(`^[a-z_][a-z0-9_.]{0,62}=`)
	// strayed finds a character after which part of a password may follow: a second @ after the
	// login, a :, / or @ after the name of the database, or the # of a fragment.
	strayed = regexp.MustCompile(`#|^[a-z]+://(?:[^/?:]*@[^/?]*@|[^/?]*/[^?]*(?:[/:@]|%40))`)
	// wrongName finds names that are not parameters of a server: secrets that libpq knows and the
	// driver does not, and other words for the password or the host.
	wrongName = regexp.MustCompile(`pass|pwd?$|secret|token|credential|_key$|^(host|server$|user|login|port|db)`)
	// inPassword and inOptions find a stray setting inside the password and the options, which may
	// have any characters.
	inPassword = regexp.MustCompile(`(?i)(host|port|user|dbname)\s*=.`)
	inOptions  = regexp.MustCompile(`(?i)[;,&?]\s*[a-z_]+\s*=|password\s*=`)
	// address finds a login and a password before a host.
	address = regexp.MustCompile(`:\S*@`)
)

// ofLibpq are the settings of libpq that the driver does not know, except secrets.
var ofLibpq = []string{
	"channel_binding", "gssdelegation", "gssencmode", "gsslib", "keepalives", "keepalives_count", "keepalives_idle",
	"keepalives_interval", "oauth_client_id", "oauth_issuer", "oauth_scope", "replication", "require_auth",
	"requirepeer", "requiressl", "servicefile", "sslcertmode", "sslcompression", "sslcrl", "sslcrldir",
	"sslkeylogfile", "tcp_user_timeout",
}

// checkSettings checks what the driver read. If the text is not a URL, all names must be the
// driver's or libpq's.
func checkSettings(cfg pq.Config, fromURL bool) error {
	for name := range cfg.Runtime {
		switch {
		case !fromURL && !slices.Contains(ofLibpq, name):
			return errNotSettings
		case isMisspelt(name):
			return errUnknown
		}
	}
	hosts := []string{cfg.Host}
	for _, one := range cfg.Multi {
		hosts = append(hosts, one.Host)
	}
	values := slices.Concat(hosts, slices.Collect(maps.Values(cfg.Runtime)), []string{cfg.User, cfg.Database,
		cfg.ApplicationName, cfg.FallbackApplicationName, cfg.Service})
	if slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, "=") || address.MatchString(v) }) ||
		inPassword.MatchString(cfg.Password) || inOptions.MatchString(cfg.Options) ||
		!cfg.SSLInline && strings.Contains(cfg.SSLKey+cfg.SSLCert+cfg.SSLRootCert, "-----BEGIN") ||
		strings.ContainsAny(cfg.User, ":;,&?") || strings.ContainsAny(cfg.Database, ";&?") ||
		slices.ContainsFunc(hosts, isNoHost) {
		return errMisplaced
	}
	return nil
}

// most are the settings that decide who gets the password, and how many letters of each may be
// wrong.
var most = map[string]int{"password": 3, "host": 2, "port": 2, "user": 2, "dbname": 2, "hostaddr": 2, "sslmode": 2,
	"sslrootcert": 2, "service": 2}

// isMisspelt reports whether the name of a server's parameter is probably a misspelt setting.
func isMisspelt(name string) bool {
	for right, wrong := range most {
		if spelling.Distance(name, right) <= wrong {
			return true
		}
	}
	return wrongName.MatchString(name) && name != "password_encryption"
}

func isNoHost(host string) bool {
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err != nil && !isSocket(host) && strings.ContainsAny(host, ":;@&?/\\\"' \t\r\n")
}

// ofEnvironment finds the variable that an error of the driver names.
var ofEnvironment = regexp.MustCompile(`^pq: (environment variable|wrong value for) \$(\w+)`)

// environmentError names the variable in an error of the driver, whose text may have its value.
func environmentError(err error) error {
	found := ofEnvironment.FindStringSubmatch(err.Error())
	switch {
	case found == nil:
		return errors.New("the variables PG… of the environment can't be used")
	case found[1] == "wrong value for":
		return fmt.Errorf("environment variable $%s has a value that can't be used", found[2])
	}
	return fmt.Errorf("environment variable $%s is not supported", found[2])
}
