package webhooks

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"code.dny.dev/ssrf"
	"golang.org/x/net/idna"
)

// maxURL is the most bytes of an endpoint's URL.
const maxURL = 2048

// hostNames are the names that can be looked up: idna.Lookup does not look at their length.
var hostNames = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.VerifyDNSLength(true))

// InvalidURLError is why a URL can't be an endpoint's. It completes "the URL …".
type InvalidURLError string

// The reasons of InvalidURLError.
const (
	NotAURL        InvalidURLError = "is not a URL such as https://example.com/webhooks"
	TooLong        InvalidURLError = "is longer than 2,048 bytes"
	NotHTTPS       InvalidURLError = "does not begin with https://"
	HasUser        InvalidURLError = "has a user name or password"
	HasFragment    InvalidURLError = "has a fragment (#)"
	HasZone        InvalidURLError = "has an address with a zone (%)"
	BadHost        InvalidURLError = "has no valid host name"
	RefusedAddress InvalidURLError = "has an address that is not public"
	RefusedPort    InvalidURLError = "has a port that is not allowed: use 443"
)

// Error implements error.
func (e InvalidURLError) Error() string { return "the URL " + string(e) }

// Rules say where requests may go.
type Rules struct {
	ports []uint16
	guard *ssrf.Guardian
	local bool
}

// NewRules returns rules that allow these ports, and public addresses that are not in denied.
func NewRules(ports []uint16, denied []netip.Prefix) *Rules {
	var v4, v6 []netip.Prefix
	for _, p := range denied {
		if p.Addr().Is4() {
			v4 = append(v4, p)
		} else {
			v6 = append(v6, p)
		}
	}
	return &Rules{ports: ports, guard: ssrf.New(
		ssrf.WithPorts(ports...), ssrf.WithDeniedV4Prefixes(v4...), ssrf.WithDeniedV6Prefixes(v6...),
	)}
}

// LocalRules are those of `petstore dev`: they allow http, any port, and the addresses of this
// machine too.
func LocalRules() *Rules {
	return &Rules{local: true, guard: ssrf.New(
		ssrf.WithAnyPort(),
		ssrf.WithAllowedV4Prefixes(netip.MustParsePrefix("127.0.0.0/8")),
		ssrf.WithAllowedV6Prefixes(netip.MustParsePrefix("::1/128")),
	)}
}

// CheckURL returns the URL in the form in which it is stored, with its host name as A-labels, or an
// InvalidURLError. It resolves no name: an address is judged at each connection.
func CheckURL(raw string, r *Rules) (string, error) {
	if len(raw) > maxURL {
		return "", TooLong
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Scheme == "" || u.Opaque != "":
		return "", NotAURL
	case u.Scheme != "https" && (u.Scheme != "http" || !r.local):
		return "", NotHTTPS
	case u.User != nil:
		return "", HasUser
	case strings.Contains(raw, "#"):
		return "", HasFragment
	}
	host, err := r.checkHost(u.Hostname())
	if err != nil {
		return "", err
	}
	port, err := r.checkPort(u)
	if err != nil {
		return "", err
	}
	u.Host = host + port
	if raw = u.String(); len(raw) > maxURL {
		return "", TooLong
	}
	return raw, nil
}

// checkHost returns the host as a URL has it.
func (r *Rules) checkHost(host string) (string, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		switch {
		case addr.Zone() != "":
			return "", HasZone
		case r.guard.SafeAddr(addr) != nil:
			return "", RefusedAddress
		case addr.Is6():
			return "[" + addr.String() + "]", nil
		}
		return addr.String(), nil
	}
	name, err := hostNames.ToASCII(strings.TrimSuffix(host, "."))
	if err != nil {
		return "", BadHost
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	if _, err := strconv.ParseUint(last, 0, 64); err == nil || strings.Trim(last, "0123456789") == "" {
		return "", RefusedAddress // Libraries take 2130706433, 0x7f000001, 0177.0.0.1 or 127.1 as 127.0.0.1.
	}
	return name, nil
}

// checkPort returns the port as a URL has it, "" for the scheme's own.
func (r *Rules) checkPort(u *url.URL) (string, error) {
	own := map[string]uint64{"https": 443, "http": 80}[u.Scheme]
	port := own
	if p := u.Port(); p != "" {
		var err error
		if port, err = strconv.ParseUint(p, 10, 16); err != nil {
			return "", RefusedPort
		}
	}
	switch {
	case port == 0 || !r.local && !slices.Contains(r.ports, uint16(port)):
		return "", RefusedPort
	case port == own:
		return "", nil
	}
	return ":" + strconv.FormatUint(port, 10), nil
}
