package contract

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Exchange is a request and its response.
type Exchange struct {
	// The body of Request is not read.
	Request     *http.Request
	RequestBody []byte

	Status int
	Header http.Header
	Body   []byte
	// Uncompressed says that http.Transport has decompressed the body and removed Content-Encoding.
	Uncompressed bool
}

// Check returns how the exchange violates the contract, or nil.
func (d *Document) Check(x Exchange) error {
	err := d.CheckAnswer(x)
	if o, _ := d.operation(x.Request); o != nil && x.Status < http.StatusBadRequest {
		err = errors.Join(err, d.allows(o, x))
	}
	return err
}

// CheckAnswer returns how the response violates the contract, or nil. It does not check the
// request.
func (d *Document) CheckAnswer(x Exchange) error {
	r, o, err := d.expected(x)
	if err != nil || r == nil {
		return err
	}
	header := x.Header
	if o == nil && x.Status != http.StatusMethodNotAllowed && x.Status != http.StatusNoContent {
		// A response of higher precedence than "method not allowed" may list the allowed methods
		// too.
		header = header.Clone()
		header.Del("Allow")
	}
	problems := []error{r.checkHeaders(header, d.published), r.checkBody(x, d.published)}
	if !d.published {
		problems = append(problems, r.checkEncoding(x, o))
	}
	if o != nil && !d.published {
		problems = append(problems, o.checkLife(x.Header))
	}
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf(
			"%s %s: status %d breaks the contract: %w",
			x.Request.Method,
			x.Request.URL.Path,
			x.Status,
			err,
		)
	}
	return nil
}

// Events are the types of events, in order.
func (d *Document) Events() []string { return slices.Sorted(maps.Keys(d.events)) }

// CheckEvent returns how the body of an event violates the contract, or nil.
func (d *Document) CheckEvent(kind string, body []byte) error {
	schema := d.events[kind]
	if schema == nil {
		return fmt.Errorf("the document has no event %s", kind)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		return fmt.Errorf("event %s: %w", body, err)
	}
	return nil
}

// expected returns the document's response and its operation. Both are nil for pages that are not
// in the document: those of the account and the documentation, and the one that a browser gets for
// an unknown path.
func (d *Document) expected(x Exchange) (*response, *Operation, error) {
	_, ours := below(x.Request)
	missingPage := x.Status == http.StatusNotFound && strings.HasPrefix(x.Header.Get("Content-Type"), "text/html")
	o, operations := d.operation(x.Request)
	switch {
	case o != nil:
		if r := o.responses[x.Status]; r != nil {
			return r, o, nil
		}
		return nil, nil, fmt.Errorf("%s has no status %d: %s", o.ID, x.Status, x.Body)
	case strings.HasPrefix(x.Request.URL.Path+"/", "/account/"):
		return nil, nil, nil
	case !ours && (x.Status < http.StatusBadRequest || x.Status == http.StatusMethodNotAllowed || missingPage):
		return nil, nil, nil
	case len(operations) > 0 && x.Status == http.StatusNotFound,
		len(operations) == 0 && x.Request.URL.Path != "*" && x.Status < http.StatusNotFound:
		return nil, nil, fmt.Errorf(
			"%s %s: status %d, where the document has %d operations",
			x.Request.Method,
			x.Request.URL.Path,
			x.Status,
			len(operations),
		)
	}
	r := d.shared[x.Status]
	if r == nil {
		return nil, nil, fmt.Errorf(
			"%s %s: status %d, which the document does not name for what is no operation",
			x.Request.Method,
			x.Request.URL.Path,
			x.Status,
		)
	}
	return r, nil, checkAllow(x, operations)
}

// below returns the request's path relative to Base, and whether it is below Base. Base itself is
// the path /, with or without a slash at its end. A percent-encoded slash separates nothing, so a
// path with one is unchanged.
func below(r *http.Request) (path string, ours bool) {
	path = r.URL.Path
	if strings.Contains(strings.ToLower(r.URL.RawPath), "%2f") {
		path = r.URL.RawPath
	}
	if path == Base {
		return "/", true
	}
	if path, ours = strings.CutPrefix(path, Base); !ours || path[0] != '/' {
		return "", false
	}
	return path, true
}

// operation returns the requested operation, or nil, and all operations of its path. HEAD counts as
// GET.
func (d *Document) operation(r *http.Request) (asked *Operation, all []*Operation) {
	path, _ := below(r)
	all, _ = d.match(path)
	for _, o := range all {
		if o.Method == r.Method || o.Method == http.MethodGet && r.Method == http.MethodHead {
			asked = o
		}
	}
	return asked, all
}

// checkAllow compares Allow with the methods of the document.
func checkAllow(x Exchange, operations []*Operation) error {
	if x.Status != http.StatusMethodNotAllowed && x.Status != http.StatusNoContent {
		return nil
	}
	if got, want := x.Header.Get("Allow"), strings.Join(methods(operations), ", "); got != want {
		return fmt.Errorf("%s %s: Allow is %q, want %q", x.Request.Method, x.Request.URL.Path, got, want)
	}
	return nil
}

// methods returns the methods of a path, including HEAD and OPTIONS, in alphabetical order.
func methods(operations []*Operation) []string {
	all := []string{http.MethodOptions}
	for _, o := range operations {
		all = append(all, o.Method)
		if o.Method == http.MethodGet {
			all = append(all, http.MethodHead)
		}
	}
	slices.Sort(all)
	return all
}

// carrying are HTTP's own headers: about the transfer of the response, and about the host.
var carrying = []string{
	"Connection", "Content-Length", "Content-Type", "Date", "Strict-Transport-Security", "Transfer-Encoding",
}

// checkHeaders refuses headers that the response does not name, unless it came from a proxy.
func (r *response) checkHeaders(h http.Header, proxied bool) error {
	var problems []error
	given := map[string][]string{}
	for name, values := range h {
		name = http.CanonicalHeaderKey(name)
		given[name] = values
		if _, ok := r.headers[name]; !ok && !proxied && !slices.Contains(carrying, name) {
			problems = append(problems, fmt.Errorf("header %s is not in the document: %q", name, values))
		}
	}
	for name, want := range r.headers {
		values := given[name]
		switch {
		case len(values) == 0 && want.required:
			problems = append(problems, fmt.Errorf("header %s is missing", want.name))
		case len(values) > 1 && (!proxied || name != "Vary"):
			// A proxy may add a line to a list (RFC 9110, section 5.3).
			problems = append(problems, fmt.Errorf("header %s comes more than once: %q", want.name, values))
		}
		for _, value := range values {
			if err := want.check(value); err != nil {
				problems = append(problems, fmt.Errorf("header %s is %q: %w", want.name, value, err))
			}
		}
	}
	return errors.Join(problems...)
}

func (h header) check(value string) error {
	if h.integer {
		return h.schema.Validate(json.Number(value))
	}
	return h.schema.Validate(value)
}

func (r *response) checkBody(x Exchange, published bool) error {
	if x.Request.Method == http.MethodHead || len(r.content) == 0 {
		if len(x.Body) > 0 {
			return fmt.Errorf("there is a body: %.200s", x.Body)
		}
		return nil
	}
	media, _, err := mime.ParseMediaType(x.Header.Get("Content-Type"))
	schema, named := r.content[media]
	if err != nil || !named {
		return fmt.Errorf("the Content-Type %q is not in the document", x.Header.Get("Content-Type"))
	}
	if x.Body, err = decoded(x); err != nil {
		return err
	}
	seen := sha256.Sum256(x.Body)
	if r.good.has(seen) {
		return nil
	}
	var value any = string(x.Body)
	if media == "application/json" {
		if value, err = jsonschema.UnmarshalJSON(bytes.NewReader(x.Body)); err != nil {
			return fmt.Errorf("body %.200s: %w", x.Body, err)
		}
	}
	if err := schema.Validate(value); err != nil {
		return fmt.Errorf("body %.200s: %w", x.Body, err)
	}
	object, _ := value.(map[string]any)
	if code, _ := object["code"].(string); !published && len(r.codes) > 0 && !slices.Contains(r.codes, code) {
		return fmt.Errorf("no example of the response has the code %q", code)
	}
	if len(x.Body) >= large {
		r.good.add(seen)
	}
	return nil
}

// large is the size in bytes above which valid bodies are remembered.
const large = 4 << 10

// checkLife checks that the responses of unstable and deprecated operations say so, and no others.
func (o *Operation) checkLife(h http.Header) error {
	switch got, links := h.Get("Sunset"), h.Get("Link"); {
	case h.Get("X-Stability") != o.Stability:
		return fmt.Errorf("header X-Stability is %q, want %q", h.Get("X-Stability"), o.Stability)
	case got != o.Sunset:
		return fmt.Errorf("header Sunset is %q, want %q", got, o.Sunset)
	case (h.Get("Deprecation") != "") != (o.Sunset != ""):
		return fmt.Errorf("header Deprecation is %q, and Sunset is %q", h.Get("Deprecation"), got)
	case strings.Contains(links, `rel="deprecation"`) != (o.Sunset != ""):
		return fmt.Errorf("header Link is %q, and Sunset is %q", links, got)
	}
	return nil
}
