package api

import (
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"petstore.example/internal/api/httpfield"
	"petstore.example/internal/spelling"
)

// helpLinks returns the Link of an error, by the number of its code: before, where the
// documentation explains the code, and of a 403 or 429 where its caller finds such requests. root
// is the base URL without its /v1.
func helpLinks(root, before string) [][]string {
	all := make([][]string, len(codes))
	for i, c := range codes {
		link := before + "<" + root + "/docs/errors#" + c.name + `>; rel="help"`
		if c.status == http.StatusForbidden || c.status == http.StatusTooManyRequests {
			link += ", <" + root + "/v1/requests?code=" + c.name + `>; rel="describedby"`
		}
		all[i] = []string{link}
	}
	return all
}

// routeNotFound leads a reader of the documentation to its page without a slash at the end, and
// anybody else to the paths that there are. A browser gets a page, except below /v1: every error
// there is the contract's.
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
	e := codeRouteNotFound.withMessage(b.String())
	if strings.HasPrefix(asked, "/v1/") || !x.isRead() || !httpfield.PrefersHTML(x.Request.Header["Accept"]) {
		return e
	}
	page, header, err := a.site.NotFound(clean(sent, maxShown), meant)
	if err != nil {
		return err
	}
	x.setPageHeaders(header)
	e.body = page
	return e
}

// sentPath returns a path as it was sent, and decoded. If a key is in it, however encoded, both are
// decoded, so that clean finds the key.
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

// isKnown reports whether a path is that of an operation or a page.
func (a *api) isKnown(asked string) bool {
	return slices.ContainsFunc(routes, func(r route) bool { return matches(r.path, asked) }) ||
		slices.Contains(a.pages, asked)
}

// aboutQuery adds to a 404 that a query was meant, if its question mark was encoded.
func (x *exchange) aboutQuery(e *Error) *Error {
	if e.code.status != http.StatusNotFound || e.body != nil {
		return e
	}
	if _, decoded := sentPath(x.Request.URL); !strings.Contains(decoded, "?") {
		return e
	}
	hinted := *e
	hinted.message += " A query begins with ?, not with %3F."
	return &hinted
}

// redirect leads a reader to a page of the documentation.
func (x *exchange) redirect(status int, location string) {
	x.set("Location", location)
	x.set("Content-Length", "0")
	x.write(status, nil)
}

const (
	// maxMethod and maxShown are how much of a method and of a path or name an error repeats, in
	// bytes.
	maxMethod = 20
	maxShown  = 100
	// maxCompared is the longest path or name, in bytes, to which a known one is sought that is
	// spelled alike.
	maxCompared = 40
)

// keyLike is a key, or the beginning of one, which somebody may have put into a path.
var keyLike = regexp.MustCompile(`pst_(?:live|test)_[0-9A-Za-z]+`)

// clean returns the beginning of what a client wrote, with everything percent-encoded that is no
// visible ASCII, and without keys.
func clean(text string, most int) string {
	const digits = "0123456789ABCDEF"
	text = keyLike.ReplaceAllLiteralString(text, "pst_***")
	var b strings.Builder
	for i := range len(text) {
		if b.Len() >= most {
			return b.String() + "..."
		}
		if c := text[i]; c > ' ' && c <= '~' {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}

// nearestPath returns the path of an operation or a page that somebody may have meant, "" for none:
// one without a mistake in its slashes, its case, its version or its folder, a guide under another
// name, or what is spelled alike.
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
		for _, r := range routes {
			if meant := resembling(r.path, path.Clean(candidate)); meant != "" {
				return clean(meant, maxShown)
			}
		}
	}
	paths := slices.Clone(a.pages)
	for _, r := range routes {
		paths = append(paths, r.path)
	}
	return nearest(cleaned, paths)
}

// matches reports whether a path of the contract stands for a path.
func matches(template, asked string) bool {
	want, have := strings.Split(template, "/"), strings.Split(asked, "/")
	return slices.EqualFunc(
		want,
		have,
		func(w, h string) bool { return w == h || strings.HasPrefix(w, "{") && h != "" },
	)
}

// resembling returns the path that a path of the contract with parameters stands for and that is
// spelled like another one: each of its segments differs by one character at most. It returns "" if
// there is none.
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

// nearest returns the one of the words that is spelled most like a word, "" if none differs by one
// character in ten, or by one.
func nearest(word string, words []string) (found string) {
	if len(word) > maxCompared {
		return ""
	}
	least := len(word)
	for _, w := range words {
		if d := spelling.Distance(word, w); d < least && d <= max(1, len(w)/10) {
			found, least = w, d
		}
	}
	return found
}
