package contract

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Base is the path under which the document's paths are served.
const Base = "/v1"

// Document is a compiled OpenAPI document. It is safe for concurrent use.
type Document struct {
	// Operations are in the order of their paths and methods.
	Operations []*Operation

	spec *openapi3.T
	raw  map[string]any
	// published says that the document is checked without promises.yaml.
	published bool
	// shared are the responses to requests for no operation, by status.
	shared map[int]*response
	// events are the bodies of webhooks, by type.
	events  map[string]*jsonschema.Schema
	allowed memory
}

// Operation is one operation of the document.
type Operation struct {
	ID, Method string
	// Path is a template, below Base.
	Path string
	// Open operations need no key.
	Open bool
	// Stability is the X-Stability of its answers; empty for a stable operation.
	Stability string
	// Sunset is the Sunset of its answers; empty unless it is deprecated.
	Sunset string

	responses map[int]*response
	item      *openapi3.PathItem
	operation *openapi3.Operation
}

// response is the document's description of one status.
type response struct {
	// headers are indexed by their canonical names.
	headers map[string]header
	// content is indexed by media type.
	content map[string]*jsonschema.Schema
	// codes are the codes of its examples, none if it is not an error.
	codes []string
	good  memory
}

type header struct {
	name     string
	required bool
	integer  bool
	schema   *jsonschema.Schema
}

// notOperations are the document's responses to requests for no operation, or that concern none.
var notOperations = map[int]string{
	http.StatusNoContent:           "Options",
	http.StatusNotFound:            "RouteNotFound",
	http.StatusMethodNotAllowed:    "MethodNotAllowed",
	http.StatusRequestURITooLong:   "URITooLong",
	http.StatusTooManyRequests:     "TooManyRequests",
	http.StatusInternalServerError: "InternalError",
	http.StatusServiceUnavailable:  "Unavailable",
}

//go:embed promises.yaml
var promises []byte

// Load reads a document in YAML, to check our own server against it and promises.yaml. It fails if
// the document is not valid OpenAPI.
func Load(text []byte) (*Document, error) { return load(text, false) }

// LoadPublished reads a document in YAML, to check what clients get through a proxy. It checks
// against the document alone, as a generated client does. A proxy may add headers.
func LoadPublished(text []byte) (*Document, error) { return load(text, true) }

func load(text []byte, published bool) (*Document, error) {
	spec, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, fmt.Errorf("load document: %w", err)
	}
	if err := spec.Validate(context.Background()); err != nil {
		return nil, fmt.Errorf("validate document: %w", err)
	}
	raw, err := rawOf(text)
	if err != nil {
		return nil, fmt.Errorf("convert document: %w", err)
	}
	if !published {
		own, err := rawOf(promises)
		if err != nil {
			return nil, fmt.Errorf("convert promises: %w", err)
		}
		if err := overlay(raw, own); err != nil {
			return nil, fmt.Errorf("lay promises over the document: %w", err)
		}
		visit(raw, closeEnum)
		visit(raw["webhooks"], closeObject)
	}
	d := &Document{
		spec:      spec,
		raw:       raw,
		published: published,
		shared:    map[int]*response{},
		events:    map[string]*jsonschema.Schema{},
	}
	c, err := newCompiler(raw)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(d.compileEvents(c), d.compile(c)); err != nil {
		return nil, fmt.Errorf("compile document: %w", err)
	}
	return d, nil
}

func rawOf(text []byte) (map[string]any, error) {
	inJSON, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, err
	}
	raw, err := jsonschema.UnmarshalJSON(bytes.NewReader(inJSON))
	if err != nil {
		return nil, err
	}
	object, ok := raw.(map[string]any)
	if !ok {
		return nil, errors.New("it is no object")
	}
	return object, nil
}

// overlay sets the components of promises in raw. A replaced component must exist, and an added one
// must not: a promise for a misspelt name, or for a name that was changed in the document alone,
// would have no effect.
func overlay(raw, promised map[string]any) error {
	for part, replaced := range map[string]bool{"replaced": true, "added": false} {
		for kind, named := range members(promised, part) {
			into := child(child(raw, "components"), kind)
			for name, object := range named.(map[string]any) {
				if _, there := into[name]; there != replaced {
					return fmt.Errorf("%s %s is %s, and in the document: %t", kind, name, part, there)
				}
				into[name] = object
			}
		}
	}
	return nil
}

// child returns the object at name, and makes it if it is missing.
func child(object map[string]any, name string) map[string]any {
	if _, ok := object[name].(map[string]any); !ok {
		object[name] = map[string]any{}
	}
	return object[name].(map[string]any)
}

// closeEnum closes an open list of values: our own server sends no others.
func closeEnum(schema map[string]any) {
	if values, ok := schema["x-extensible-enum"]; ok {
		schema["enum"] = values
	}
}

// closeObject is that for members: our own server sends no others in an event.
func closeObject(schema map[string]any) {
	if _, ok := schema["properties"]; ok && schema["type"] == "object" {
		schema["additionalProperties"] = false
	}
}

func (d *Document) compile(c *compiler) error {
	for status, name := range notOperations {
		if d.published {
			break
		}
		r, err := c.response("components", "responses", name)
		if err != nil {
			return err
		}
		d.shared[status] = r
	}
	for path, item := range d.spec.Paths.Map() {
		for method, operation := range item.Operations() {
			o := &Operation{
				ID:        operation.OperationID,
				Method:    method,
				Path:      path,
				item:      item,
				operation: operation,
				responses: map[int]*response{},
			}
			o.Open = operation.Security != nil && len(*operation.Security) == 0
			o.Stability, _ = operation.Extensions["x-stability"].(string)
			if date, ok := operation.Extensions["x-sunset"].(string); ok {
				day, err := time.Parse(time.DateOnly, date)
				if err != nil {
					return fmt.Errorf("%s: x-sunset: %w", o.ID, err)
				}
				o.Sunset = day.Format(http.TimeFormat)
			}
			for text := range operation.Responses.Map() {
				status, err := strconv.Atoi(text)
				if err != nil {
					return fmt.Errorf("%s: status %s", o.ID, text)
				}
				if o.responses[status], err = c.response(
					"paths",
					path,
					strings.ToLower(method),
					"responses",
					text,
				); err != nil {
					return err
				}
			}
			d.Operations = append(d.Operations, o)
		}
	}
	slices.SortFunc(
		d.Operations,
		func(a, b *Operation) int { return strings.Compare(a.Path+" "+a.Method, b.Path+" "+b.Method) },
	)
	return nil
}

func (d *Document) compileEvents(c *compiler) (err error) {
	for kind := range members(c.raw, "webhooks") {
		at := []string{"webhooks", kind, "post", "requestBody", "content", "application/json", "schema"}
		if d.events[kind], err = c.schema(at); err != nil {
			return err
		}
	}
	return nil
}

// match returns the operations of a path, below Base, and the values of its parameters.
func (d *Document) match(path string) (found []*Operation, params map[string]string) {
	for _, o := range d.Operations {
		if p, ok := matchTemplate(o.Path, path); ok {
			found, params = append(found, o), p
		}
	}
	return found, params
}

func matchTemplate(template, path string) (map[string]string, bool) {
	want, have := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return nil, false
	}
	params := map[string]string{}
	for i, w := range want {
		if name, ok := strings.CutPrefix(w, "{"); ok && have[i] != "" {
			params[strings.TrimSuffix(name, "}")] = have[i]
		} else if w != have[i] {
			return nil, false
		}
	}
	return params, true
}

// compiler finds objects in the document and compiles their schemas.
type compiler struct {
	raw     map[string]any
	schemas *jsonschema.Compiler
}

// location is absolute. A relative one would be resolved against the test's folder, whose name is
// not a URL.
const location = "https://api.example.com/openapi.json"

func newCompiler(raw map[string]any) (*compiler, error) {
	c := &compiler{raw: raw, schemas: jsonschema.NewCompiler()}
	c.schemas.DefaultDraft(jsonschema.Draft2020)
	c.schemas.AssertFormat()
	c.schemas.UseRegexpEngine(compileECMA)
	for _, f := range integerFormats {
		c.schemas.RegisterFormat(f)
	}
	return c, c.schemas.AddResource(location, raw)
}

func (c *compiler) response(at ...string) (*response, error) {
	node, at, err := c.find(at)
	if err != nil {
		return nil, err
	}
	r := &response{headers: map[string]header{}, content: map[string]*jsonschema.Schema{}}
	for name := range members(node, "headers") {
		h, where, err := c.find(append(slices.Clone(at), "headers", name))
		if err != nil {
			return nil, err
		}
		required, _ := h["required"].(bool)
		kind := members(h, "schema")["type"]
		schema, err := c.schema(append(where, "schema"))
		if err != nil {
			return nil, err
		}
		r.headers[http.CanonicalHeaderKey(name)] = header{name, required, kind == "integer", schema}
	}
	for media, content := range members(node, "content") {
		for _, example := range members(content.(map[string]any), "examples") {
			if code, ok := members(example.(map[string]any), "value")["code"].(string); ok {
				r.codes = append(r.codes, code)
			}
		}
		if r.content[media], err = c.schema(append(slices.Clone(at), "content", media, "schema")); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// find follows references, and returns the object and its location.
func (c *compiler) find(at []string) (map[string]any, []string, error) {
	node := c.raw
	for i := 0; node != nil; i++ {
		if ref, ok := node["$ref"].(string); ok {
			return c.find(append(strings.Split(strings.TrimPrefix(ref, "#/"), "/"), at[i:]...))
		}
		if i == len(at) {
			return node, at, nil
		}
		node = members(node, at[i])
	}
	return nil, nil, fmt.Errorf("%v: nothing there", at)
}

// schema compiles the schema at a location.
func (c *compiler) schema(at []string) (*jsonschema.Schema, error) {
	var pointer strings.Builder
	for _, name := range at {
		name = strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		pointer.WriteString("/" + url.PathEscape(name))
	}
	return c.schemas.Compile(location + "#" + pointer.String())
}

func members(object map[string]any, name string) map[string]any {
	m, _ := object[name].(map[string]any)
	return m
}

// integerFormats are the formats of OpenAPI's registry that the document uses.
var integerFormats = []*jsonschema.Format{
	{Name: "int32", Validate: func(v any) error { return checkInteger(v, 32) }},
	{Name: "int64", Validate: func(v any) error { return checkInteger(v, 64) }},
}
