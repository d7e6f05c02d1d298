package api

import (
	"net/url"
	"slices"
	"strings"

	"petstore.example/internal/api/httpfield"
)

// maxIgnored is how many unknown parameters a response names.
const maxIgnored = 10

// The query parameters of the list of orders, and of the list of animals.
var (
	listParams    = []string{"limit", "status", "cursor"}
	petListParams = func() []string {
		known := slices.Clone(listParams)
		for _, f := range petFilters {
			known = append(known, f.name)
		}
		return known
	}()
)

// checkQuery checks the query of an operation without parameters. With strict handling it returns
// an error for an unknown parameter; an operation with a body returns that error only when it has
// the body (see readBody).
func (x *exchange) checkQuery() error {
	var p problems
	x.checkUnknown(&p, nil)
	if len(p) == 0 {
		return nil
	}
	x.unknownParams = p.err()
	return x.unknownParams
}

// checkUnknown names the query's unknown parameters in X-Ignored-Parameters. With strict handling
// it adds them to p instead.
func (x *exchange) checkUnknown(p *problems, known []string) {
	unknown := unknownParams(x.Request.URL.RawQuery, known)
	if len(unknown) == 0 {
		return
	}
	if httpfield.PrefersStrict(x.Request.Header["Prefer"]) {
		x.headers.Header["Preference-Applied"] = handlingStrict
		for _, name := range unknown {
			p.add(showParam(name) + " is not a parameter of this operation" + suggestion(name, known))
		}
		return
	}
	for i, name := range unknown {
		unknown[i] = showParam(name)
	}
	x.set("X-Ignored-Parameters", strings.Join(unknown, ", "))
}

// unknownParams returns the unknown parameters of a query, each once, at most maxIgnored of them.
func unknownParams(raw string, known []string) (unknown []string) {
	for pair := range strings.SplitSeq(raw, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if decoded, err := url.QueryUnescape(name); err == nil {
			name = decoded
		}
		if name != "" && !slices.Contains(known, name) && !slices.Contains(unknown, name) && len(unknown) < maxIgnored {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// showParam returns the beginning of a parameter's name, percent-encoded as in a query: so a comma
// can only separate two names.
func showParam(name string) string {
	name = name[:min(len(name), maxShown)]
	return clean(strings.ReplaceAll(url.QueryEscape(name), "+", "%20"), maxShown)
}

// suggestion returns the known parameter with a similar spelling.
func suggestion(name string, known []string) string {
	if meant := nearest(strings.ToLower(name), known); meant != "" {
		return " (did you mean " + meant + "?)"
	}
	return ""
}
