package contract

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/net/http/httpguts"
)

// requests makes requests of an operation, from nothing but the document and a few identifiers that exist.
type requests struct {
	*values
	operation *Operation
	params    []parameter
	body      map[string]any // the schema, nil for none
	schema    *jsonschema.Schema
	made      int
	remote    bool // they are sent over a connection
}

type parameter struct {
	name, in string
	required bool
	raw      map[string]any
	schema   *jsonschema.Schema
}

// sketch is a request before it is made.
type sketch struct {
	path   map[string]string
	query  [][2]string
	header http.Header
	body   any // nil for none
	text   *string
}

func newRequests(d *Document, o *Operation, existing map[string][]string) (*requests, error) {
	c, err := newCompiler(d.raw)
	if err != nil {
		return nil, err
	}
	r := &requests{values: newValues(o.ID, c), operation: o}
	r.existing = existing
	at := []string{"paths", o.Path, strings.ToLower(o.Method)}
	for _, list := range [][]string{at[:2], at} {
		node, where, err := c.find(list)
		if err != nil {
			return nil, err
		}
		all, _ := node["parameters"].([]any)
		for i, p := range all {
			if err := r.addParameter(where, i, p.(map[string]any)); err != nil {
				return nil, err
			}
		}
	}
	body := append(slices.Clone(at), "requestBody", "content", "application/json", "schema")
	if node, where, err := c.find(body); err == nil {
		r.body = node
		if r.schema, err = c.schema(where); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// addParameter reads a parameter, which is the i-th of the list there, or what that refers to.
func (r *requests) addParameter(there []string, i int, p map[string]any) (err error) {
	where := append(slices.Clone(there), "parameters", strconv.Itoa(i))
	if ref, ok := p["$ref"].(string); ok {
		if p, where, err = r.find(strings.Split(strings.TrimPrefix(ref, "#/"), "/")); err != nil {
			return err
		}
	}
	schema, err := r.compiler.schema(append(slices.Clone(where), "schema"))
	required, _ := p["required"].(bool)
	r.params = append(r.params, parameter{p["name"].(string), p["in"].(string), required, r.resolve(members(p, "schema")), schema})
	return err
}

// accepts tells whether a text is a value of the parameter.
func (p parameter) accepts(text string) bool {
	// A month to come is refused, which no schema can say.
	if p.name == "month" && text > time.Now().UTC().Format("2006-01") {
		return false
	}
	switch p.raw["type"] {
	case "integer":
		return wholeNumber.MatchString(text) && p.schema.Validate(json.Number(text)) == nil
	case "array":
		var items []any
		for item := range strings.SplitSeq(text, ",") {
			if !wholeNumber.MatchString(item) {
				return false
			}
			items = append(items, json.Number(item))
		}
		return p.schema.Validate(items) == nil
	}
	return p.schema.Validate(text) == nil
}

var wholeNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// free are headers whose every value is taken.
var free = map[string][]string{
	"Accept":        {"*/*", "application/json", "text/html;q=0.5, application/json", "rubbish", ""},
	"If-Match":      {"*", " *\t"},
	"If-None-Match": {`*`, `"x"`, `W/"x", "y"`, `rubbish`, `"unclosed`, ``, `"x", *`},
	"Prefer":        {"handling=lenient", "respond-async", "handling=strict; x=y", "handling=strictly", `rubbish="`, "wait=10, handling=lenient", ""},
}

// good makes a request that the document allows.
func (r *requests) good() sketch {
	s := sketch{path: map[string]string{}, header: http.Header{}}
	for _, p := range r.params {
		switch {
		case p.in == "path":
			s.path[p.name] = r.identifier(p)
		case !p.required && r.chance(50):
		case p.in == "query":
			s.query = append(s.query, [2]string{p.name, r.textOf(p)})
		case free[p.name] != nil:
			s.header.Set(p.name, pick(r.values, free[p.name]))
		default:
			s.header.Set(p.name, r.unique(p))
		}
	}
	if r.chance(15) {
		s.query = append(s.query, [2]string{pick(r.values, []string{"page", "LIMIT", "x y", "ä"}), "ü&=" + strconv.Itoa(r.IntN(9))})
	}
	r.Shuffle(len(s.query), func(i, j int) { s.query[i], s.query[j] = s.query[j], s.query[i] })
	if r.body != nil {
		s.body = r.bodyThat(true, r.valid)
	}
	if strings.HasPrefix(s.header.Get("Prefer"), "handling=strict;") {
		s.query = slices.DeleteFunc(s.query, func(q [2]string) bool { return !r.has("query", q[0]) })
		if body, ok := s.body.(object); ok {
			s.body = r.known(body)
		}
	}
	return s
}

// has reports whether the operation has a parameter of that name in that place.
func (r *requests) has(in, name string) bool {
	return slices.ContainsFunc(r.params, func(p parameter) bool { return p.in == in && p.name == name })
}

// known leaves out the members that the document does not name.
func (r *requests) known(o object) object {
	properties := members(r.resolve(r.body), "properties")
	return slices.DeleteFunc(o, func(m member) bool { return properties[m.name] == nil })
}

// bodyThat makes bodies until one is valid, or is not.
func (r *requests) bodyThat(valid bool, from func(map[string]any) any) any {
	for {
		body := from(r.body)
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(r.json(body)))
		if err == nil && (r.schema.Validate(value) == nil) == valid {
			return body
		}
	}
}

// identifier is mostly one that exists.
func (r *requests) identifier(p parameter) string {
	return fmt.Sprint(r.memberValue(p.name, p.raw))
}

// textOf writes a list with commas.
func (r *requests) textOf(p parameter) string {
	value := r.valid(p.raw)
	for p.name == "month" && !p.accepts(value.(string)) {
		value = r.valid(p.raw)
	}
	items, ok := value.([]any)
	if !ok {
		return fmt.Sprint(value)
	}
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = fmt.Sprint(item)
	}
	return strings.Join(texts, ",")
}

// unique makes a key that was not there before: with another body it would be another request's.
func (r *requests) unique(p parameter) string {
	for {
		r.made++
		text := r.textOf(p)
		end := 0
		if strings.HasSuffix(text, `"`) {
			end = 1
		}
		text = text[:len(text)-end] + "-" + strconv.Itoa(r.made) + text[len(text)-end:]
		if p.accepts(text) {
			return text
		}
	}
}

// fault makes a good request bad, and says which statuses it is answered with. It reports false where it does not apply.
type fault struct {
	name  string
	weigh int
	wants []int
	make  func(*requests, *sketch) bool
}

var faults = []fault{
	{"a query parameter out of its schema", 10, []int{400}, func(r *requests, s *sketch) bool {
		p, ok := r.parameter("query")
		if !ok {
			return false
		}
		for {
			text := fmt.Sprint(r.invalid(p.raw))
			if r.chance(30) {
				text = pick(r.values, []string{"", "+5", "05", "1.0", "1e1", "5 ", "٣", "99999999999999999999", "Available", "0X0000000000002A", "1,,2", "1, 2", strings.Repeat("7,", 100) + "7"})
			}
			if !p.accepts(text) && !strings.Contains(text, "map[") {
				s.query = append(without(s.query, p.name), [2]string{p.name, text})
				return true
			}
		}
	}},
	{"a query parameter twice", 3, []int{400}, func(r *requests, s *sketch) bool {
		p, ok := r.parameter("query")
		s.query = append(without(s.query, p.name), [2]string{p.name, "1"}, [2]string{p.name, "1"})
		return ok && p.raw["type"] != "array" // An array may be written so.
	}},
	{"a header out of its schema", 4, []int{400}, func(r *requests, s *sketch) bool {
		p, ok := r.parameter("header")
		if !ok || free[p.name] != nil {
			return false
		}
		for {
			text := pick(r.values, []string{"", `""`, `"`, "two words", "ключ", "tab\there", `"unclosed`, `"a" b`, `"a"b"`, `"a\b"`, "\x7f", strings.Repeat("k", 256+r.IntN(50)), `"` + strings.Repeat("k", 256) + `"`})
			// Go's client sends no control characters.
			if !p.accepts(text) && (!r.remote || httpguts.ValidHeaderFieldValue(text)) {
				s.header[http.CanonicalHeaderKey(p.name)] = []string{text}
				return true
			}
		}
	}},
	{"a precondition that does not hold", 4, []int{404, 412}, func(r *requests, s *sketch) bool {
		if !slices.ContainsFunc(r.params, func(p parameter) bool { return p.name == "If-Match" }) {
			return false
		}
		s.header.Set("If-Match", pick(r.values, []string{"", `"x"`, `W/"x", "y"`, "rubbish", `"unclosed`, `"x", *`}))
		return true
	}},
	{"an identifier that is none", 10, []int{404}, func(r *requests, s *sketch) bool {
		p, ok := r.parameter("path")
		if !ok {
			return false
		}
		for {
			text := pick(r.values, []string{"abc", "1.0", "+1", "01", "-", "--1", "1e3", "9223372036854775808", "-9223372036854775809", "0x10", "٣", "1 ", " ", "null", ":id", "'", "1;", strings.Repeat("9", 300), r.text(map[string]any{})})
			if !p.accepts(text) && text != "" && !strings.ContainsAny(text, "/\x00") && text != "." && text != ".." {
				s.path[p.name] = text
				return true
			}
		}
	}},
	{"a body out of its schema", 20, []int{400}, func(r *requests, s *sketch) bool {
		if r.body == nil {
			return false
		}
		s.body = r.bodyThat(false, r.badBody)
		return true
	}},
	{"a body that is no JSON", 8, []int{400}, func(r *requests, s *sketch) bool {
		if r.body == nil {
			return false
		}
		text := r.broken(strings.TrimSpace(r.json(s.body)))
		s.text = &text
		return true
	}},
	{"another type of body", 3, []int{415}, func(r *requests, s *sketch) bool {
		name, value := "Content-Type", pick(r.values, []string{"", "text/plain", "application/xml", "application/json; charset=latin1", "application/json; a=b; c=d", "application/jsonp", "*/*", "rubbish"})
		if r.chance(30) {
			name, value = "Content-Encoding", pick(r.values, []string{"gzip", "br", "deflate, gzip"})
		}
		s.header[name] = []string{value}
		return r.body != nil
	}},
	{"a body too long", 1, []int{413}, func(r *requests, s *sketch) bool {
		text := r.json(s.body) + strings.Repeat(" ", 1<<20)
		s.text = &text
		return r.body != nil
	}},
	{"a URI too long", 2, []int{414}, func(r *requests, s *sketch) bool {
		s.query = append(s.query, [2]string{"x", strings.Repeat("y", 8<<10+r.IntN(4<<10))})
		return true
	}},
	{"an unknown parameter in a strict query", 3, []int{400}, func(r *requests, s *sketch) bool {
		if !r.has("header", "Prefer") {
			return false
		}
		s.header.Set("Prefer", "handling=strict")
		s.query = append(s.query, [2]string{pick(r.values, []string{"stauts", "LIMIT", "x y", "ä", "a,b"}), "1"})
		if body, ok := s.body.(object); ok {
			s.body = r.known(body)
		}
		return true
	}},
	{"unknown members in a strict body", 3, []int{400}, func(r *requests, s *sketch) bool {
		if r.body == nil {
			return false
		}
		s.header.Set("Prefer", "handling=strict")
		s.body = append(r.known(s.body.(object)), member{"colour", "red"})
		return true
	}},
}

// bad makes a request that the document forbids, and says how.
func (r *requests) bad() (sketch, fault) {
	total := 0
	for _, f := range faults {
		total += f.weigh
	}
	for {
		n := r.IntN(total)
		i := slices.IndexFunc(faults, func(f fault) bool { n -= f.weigh; return n < 0 })
		if s := r.good(); faults[i].make(r, &s) {
			return s, faults[i]
		}
	}
}

// parameter picks one of those in that place.
func (r *requests) parameter(in string) (parameter, bool) {
	some := slices.DeleteFunc(slices.Clone(r.params), func(p parameter) bool { return p.in != in })
	if len(some) == 0 {
		return parameter{}, false
	}
	return pick(r.values, some), true
}

func without(query [][2]string, name string) [][2]string {
	return slices.DeleteFunc(query, func(p [2]string) bool { return p[0] == name })
}

// badBody is no object, or lacks a member, or has one that it must not have.
func (r *requests) badBody(s map[string]any) any {
	s = r.resolve(s)
	if r.chance(10) {
		return r.invalid(s)
	}
	o := r.object(s)
	names := slices.Sorted(maps.Keys(members(s, "properties")))
	name := pick(r.values, names)
	o = slices.DeleteFunc(o, func(m member) bool { return m.name == name })
	if r.chance(80) {
		o = append(o, member{name, r.invalid(members(s, "properties")[name].(map[string]any))})
	}
	return o
}

// broken makes text that no reader of JSON takes (RFC 8259, RFC 7493).
func (r *requests) broken(text string) string {
	inside := text[1:]
	return pick(r.values, []string{
		"", " ", text[:len(text)-1], text + "x", text + text, "\ufeff" + text, "{'name':1}", "{" + `"a":1,"a":2,` + inside,
		`{"a":"` + "\xff" + `",` + inside, `{"a":"\ud800",` + inside, `{"a":01,` + inside, `{"a":+1,` + inside, `{"a":NaN,` + inside, `{,` + inside,
		`{"a":"` + "\n" + `",` + inside, `{"a":` + strings.Repeat("[", 32) + strings.Repeat("]", 32) + "," + inside, "null", "{" + "/* */" + inside,
	})
}

// request makes it.
func (r *requests) request(ctx context.Context, s sketch, key string) (*http.Request, []byte) {
	path := Base + r.operation.Path
	for name, value := range s.path {
		path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(value))
	}
	var query []string
	for _, p := range s.query {
		query = append(query, url.QueryEscape(p[0])+"="+url.QueryEscape(p[1]))
	}
	if len(query) > 0 {
		path += "?" + strings.Join(query, "&")
	}
	body := ""
	switch {
	case s.text != nil:
		body = *s.text
	case r.body != nil:
		body = r.json(s.body)
	}
	req := httptest.NewRequestWithContext(ctx, r.operation.Method, path, strings.NewReader(body))
	if r.body != nil {
		req.Header.Set("Content-Type", pick(r.values, []string{"application/json", "application/json", "application/json; charset=utf-8", "Application/JSON;charset=UTF-8"}))
	}
	for name, list := range s.header {
		req.Header[name] = list
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	return req, []byte(body)
}
