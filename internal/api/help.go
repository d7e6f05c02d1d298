package api

import (
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"petstore.example/internal/api/httpfield"
	"petstore.example/internal/api/problem"
	"petstore.example/internal/spelling"
)

// helpLinks returns the Link of an error, by the number of its code. It leads to the code's
// explanation in the documentation; for a 403 or 429 it also leads to the caller's list of such
// requests. The Link begins with before. root is the base URL without its /v1.
func helpLinks(root, before string) [][]string {
	all := make([][]string, len(problem.Codes))
	for i, c := range problem.Codes {
		link := before + "<" + root + "/docs/errors#" + c.Name + `>; rel="help"`
		if c.Status == http.StatusForbidden || c.Status == http.StatusTooManyRequests {
			link += ", <" + root + "/v1/requests?code=" + c.Name + `>; rel="describedby"`
		}
		all[i] = []string{link}
	}
	return all
}

// routeNotFound redirects a reader of the documentation whose path only has a slash too many at its
// end, and tells others the existing paths. A browser gets a page, except below /v1, where every
// error has the contract's form.
func routeNotFound(a *api, x *exchange) error {
	asked := x.Request.URL.Path
	if page := strings.TrimRight(asked, "/"); page != asked && x.isRead() && slices.Contains(a.pages, page) {
		x.redirect(http.StatusPermanentRedirect, a.prefix+page)
		return nil
	}
	sent, decoded := sentPath(x.Request.URL)
	var b strings.Builder
	b.WriteString(clean(x.Request.Method, maxMethod) + " " + clean(sent, maxShown) + ": there is no such path.")
	before, _, _ := strings.Cut(decoded, "?")
	meant := clean(before, maxShown)
	if before == asked || !a.isKnown(before) {
		meant = a.nearestPath(before)
	}
	if meant != "" {
		b.WriteString(" Did you mean " + meant + "?")
	}
	b.WriteString(" See " + a.root + "/docs.")
	e := problem.RouteNotFound.WithMessage(b.String())
	if strings.HasPrefix(asked, "/v1/") || !x.isRead() || !httpfield.PrefersHTML(x.Request.Header["Accept"]) {
		return e
	}
	page, header, err := a.site.NotFound(clean(sent, maxShown), meant)
	if err != nil {
		return err
	}
	x.setPageHeaders(header)
	e.Body = page
	return e
}

// sentPath returns a path as it was sent, and decoded. If the path contains a key in any encoding,
// both results are decoded, so that clean finds the key.
func sentPath(u *url.URL) (sent, decoded string) {
	if sent = u.RawPath; sent == "" { // it is the path in its usual encoding
		sent = u.EscapedPath()
	}
	decoded, err := url.PathUnescape(sent)
	if err != nil {
		return u.Path, u.Path
	}
	if keyLike.MatchString(decoded) {
		return decoded, decoded
	}
	return sent, decoded
}

// isKnown reports whether a path leads to an operation or a page.
func (a *api) isKnown(asked string) bool {
	return slices.ContainsFunc(a.paths, func(path string) bool { return matches(path, asked) }) ||
		slices.Contains(a.pages, asked)
}

// aboutQuery adds to a 404, if the client encoded a question mark, that it probably meant a query.
func (x *exchange) aboutQuery(e *problem.Error) *problem.Error {
	if e.Code.Status != http.StatusNotFound || e.Body != nil {
		return e
	}
	if _, decoded := sentPath(x.Request.URL); !strings.Contains(decoded, "?") {
		return e
	}
	hinted := *e
	hinted.Message += " A query begins with ?, not with %3F."
	return &hinted
}

// redirect sends a reader to a page of the documentation.
func (x *exchange) redirect(status int, location string) {
	x.set("Location", location)
	x.set("Content-Length", "0")
	x.write(status, nil)
}

// nearestPath returns the path of an operation or a page that the client probably meant, "" for
// none. It may be the same path with other slashes, case, version or folder, a guide under another
// name, or a path with a similar spelling.
func (a *api) nearestPath(asked string) string {
	if len(asked) > maxCompared {
		return ""
	}
	cleaned := path.Clean("/" + strings.ToLower(asked))
	if guide := a.site.OtherNames[cleaned]; guide != "" {
		return guide
	}
	_, rest, _ := strings.Cut(cleaned[1:], "/")
	rest = "/" + rest
	candidates := []string{
		cleaned, "/v1" + cleaned, "/v1" + rest, rest, "/v1/store" + cleaned, "/v1/store" + rest, "/docs" + cleaned,
	}
	for _, candidate := range candidates {
		candidate = path.Clean(candidate)
		if candidate != asked && candidate != "/" && a.isKnown(candidate) {
			return clean(candidate, maxShown)
		}
	}
	for _, candidate := range candidates {
		for _, of := range a.paths {
			if meant := resembling(of, path.Clean(candidate)); meant != "" {
				return clean(meant, maxShown)
			}
		}
	}
	return nearest(cleaned, slices.Concat(a.pages, a.paths))
}

// matches reports whether a path fits a path of the contract, with any parameters.
func matches(template, asked string) bool {
	want, have := strings.Split(template, "/"), strings.Split(asked, "/")
	return slices.EqualFunc(
		want,
		have,
		func(w, h string) bool { return w == h || strings.HasPrefix(w, "{") && h != "" },
	)
}

// resembling returns the template, a path of the contract, with the parameters of the asked path.
// It returns "" if a segment of the two differs by more than one character.
func resembling(template, asked string) string {
	want, have := strings.Split(template, "/"), strings.Split(asked, "/")
	if len(want) != len(have) || !strings.Contains(template, "{") {
		return ""
	}
	for i, w := range want {
		switch {
		case strings.HasPrefix(w, "{") && have[i] != "":
		case w != have[i] && spelling.Distance(w, have[i]) > 1:
			return ""
		default:
			have[i] = w
		}
	}
	return strings.Join(have, "/")
}

// methodNotAllowed responds 405. Gin has set Allow.
func methodNotAllowed(_ *api, x *exchange) error {
	return problem.MethodNotAllowed.WithMessage("This path supports only the methods " + x.headers.Get("Allow") + ".")
}

// announce sets the headers of a route's deprecation.
func (a *api) announce(r *route) {
	r.links = []string{r.deprecated.links(a.prefix)}
	r.help = helpLinks(a.root, r.links[0]+", ")
}

// gone returns the 410 of an operation that was removed.
func (d *deprecation) gone() error { return problem.EndpointRemoved.WithMessage(d.message) }
