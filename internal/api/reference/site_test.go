package reference_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"petstore.example/docs"
	"petstore.example/internal/api/reference"
	"petstore.example/internal/test/assert"
)

// site makes the pages of a deployment, by their paths.
func site(t testing.TB, baseURL string) map[string]*reference.Page {
	t.Helper()
	text, err := os.ReadFile("../openapi.yaml")
	assert.NoError(t, err)
	s, err := reference.New(baseURL, reference.Support{}, text)
	assert.NoError(t, err)
	pages := map[string]*reference.Page{}
	for _, p := range s.Pages {
		pages[p.Path] = p
	}
	return pages
}

// now is when the tests look.
var now = time.Date(2026, 11, 22, 23, 59, 59, 0, time.UTC)

func bodyOf(t testing.TB, p *reference.Page) []byte {
	t.Helper()
	v, err := p.For(nil, now)
	assert.NoError(t, err)
	return v.Body
}

// The deployments of the tests: at a host of its own, and below a path of another.
var deployments = []struct{ baseURL, root, prefix string }{
	{"https://store.test/v1", "https://store.test", ""},
	{"http://gateway.test:8080/animal's/v1", "http://gateway.test:8080/animal%27s", "/animal%27s"},
}

func TestDocumentNamesItsServer(t *testing.T) {
	t.Parallel()
	for _, d := range deployments {
		pages := site(t, d.baseURL)
		inYAML, inJSON := bodyOf(t, pages["/v1/openapi.yaml"]), bodyOf(t, pages["/v1/openapi.json"])
		var fromYAML, fromJSON struct {
			OpenAPI string
			Servers []struct{ URL string }
		}
		assert.NoError(t, yaml.Unmarshal(inYAML, &fromYAML))
		assert.NoError(t, json.Unmarshal(inJSON, &fromJSON))
		assert.DeepEqual(t, fromJSON, fromYAML)
		if len(fromJSON.Servers) != 1 || fromJSON.Servers[0].URL != d.root+"/v1" || fromJSON.OpenAPI != "3.1.0" {
			t.Errorf("%+v", fromJSON)
		}
		for _, body := range [][]byte{inYAML, inJSON} {
			if bytes.Contains(body, []byte("api.example.com")) {
				t.Errorf("%s: the document names another server", d.baseURL)
			}
		}
	}
}

// TestJSONIsTheSameDocument: converting loses and changes nothing. Dates stay text.
func TestJSONIsTheSameDocument(t *testing.T) {
	t.Parallel()
	pages := site(t, "https://store.test/v1")
	var fromYAML, fromJSON any
	inJSON := bodyOf(t, pages["/v1/openapi.json"])
	assert.NoError(t, json.Unmarshal(inJSON, &fromJSON))
	assert.NoError(t, yaml.Unmarshal(bodyOf(t, pages["/v1/openapi.yaml"]), &fromYAML))
	text, err := json.Marshal(fromYAML)
	assert.NoError(t, err)
	var again any
	assert.NoError(t, json.Unmarshal(text, &again))
	assert.DeepEqual(t, fromJSON, again)
	if !bytes.Contains(inJSON, []byte(`"x-sunset": "2030-12-05"`)) {
		t.Error("the date of the removal is no text in JSON")
	}
}

// outline is what the tests look at in a page.
type outline struct {
	lang, title string
	links       []string // where its links lead
	loads       []string // what a browser loads for it
	ids         []string
	tags        []string
}

func outlineOf(t *testing.T, body []byte) (o outline) {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(body))
	assert.NoError(t, err)
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		o.tags = append(o.tags, n.Data)
		if n.Data == "title" {
			o.title = n.FirstChild.Data
		}
		for _, a := range n.Attr {
			switch {
			case a.Key == "lang":
				o.lang = a.Val
			case a.Key == "id":
				o.ids = append(o.ids, a.Val)
			case a.Key == "href" && n.Data == "a":
				o.links = append(o.links, a.Val)
			case a.Key == "href" && slices.Contains(n.Attr, html.Attribute{Key: "rel", Val: "alternate"}):
				o.links = append(o.links, a.Val)
			case a.Key == "href", a.Key == "src":
				o.loads = append(o.loads, a.Val)
			}
		}
	}
	return o
}

// TestPages holds what all pages promise: they say what they are, load only what is theirs, and
// lead nowhere else.
func TestPages(t *testing.T) {
	t.Parallel()
	for _, d := range deployments {
		pages := site(t, d.baseURL)
		outlines, titles := map[string]outline{}, map[string]string{}
		for _, p := range pages {
			if strings.HasPrefix(p.ContentType, "text/html") {
				outlines[p.Path] = outlineOf(t, bodyOf(t, p))
			}
		}
		for name, o := range outlines {
			if other, taken := titles[o.title]; taken || o.lang != "en" {
				t.Errorf("%s: title %q, as %s; language %q", name, o.title, other, o.lang)
			}
			titles[o.title] = name
			if name != "/docs" && (!slices.Contains(o.tags, "main") || !slices.Contains(o.tags, "h1")) {
				t.Errorf("%s: its elements are %v", name, o.tags)
			}
			if !slices.Contains(o.ids, "content") || !slices.Contains(o.links, "#content") ||
				o.tags[slices.Index(o.tags, "body")+1] != "a" {
				t.Errorf("%s: nothing skips to the content", name)
			}
			if !slices.Contains(o.links, d.prefix+account) {
				t.Errorf("%s: no link to the account", name)
			}
			for _, l := range o.loads {
				if local, ok := strings.CutPrefix(
					l,
					d.prefix+"/docs/assets/",
				); !ok ||
					pages["/docs/assets/"+local] == nil {
					t.Errorf("%s loads %s", name, l)
				}
			}
			for _, l := range o.links {
				checkLink(t, outlines, pages, d.prefix, d.root, name, l)
			}
		}
	}
}

// account is the page of customers who sign in, which package account serves.
const account = "/account"

// checkLink makes sure that a link leads to a page of ours and a place that is there.
func checkLink(
	t *testing.T,
	outlines map[string]outline,
	pages map[string]*reference.Page,
	prefix, root, from, to string,
) {
	t.Helper()
	target, fragment, _ := strings.Cut(to, "#")
	if rest, absolute := strings.CutPrefix(target, root); absolute {
		target = rest
	} else if target != "" {
		target = strings.TrimPrefix(target, prefix)
	} else {
		target = from
	}
	if target == account {
		return
	}
	if pages[target] == nil {
		t.Errorf("%s links to %s, which is no page", from, to)
	} else if fragment != "" && !slices.Contains(outlines[target].ids, fragment) {
		t.Errorf("%s links to %s, where nothing has that name", from, to)
	}
}

// TestEveryErrorHasAnAnchor: programs' codes can be looked up at /docs/errors#code.
func TestEveryErrorHasAnAnchor(t *testing.T) {
	t.Parallel()
	text, err := docs.FS.ReadFile("errors.md")
	assert.NoError(t, err)
	var codes []string
	for _, row := range regexp.MustCompile("(?m)^\\| \\d{3} \\| `([a-z_]+)`").FindAllStringSubmatch(string(text), -1) {
		codes = append(codes, row[1])
	}
	page := outlineOf(t, bodyOf(t, site(t, "https://store.test/v1")["/docs/errors"]))
	var anchors []string
	for _, id := range page.ids {
		if slices.Contains(codes, id) {
			anchors = append(anchors, id)
		}
	}
	if diff := cmp.Diff(codes, anchors); diff != "" || len(codes) < 20 {
		t.Errorf("%d codes (-table +page):\n%s", len(codes), diff)
	}
}

// TestVariants: who takes gzip gets it, everybody else the same content as it is. The tags are the
// strong and the weak form of the same.
func TestVariants(t *testing.T) {
	t.Parallel()
	for name, p := range site(t, "https://store.test/v1") {
		if name == "/.well-known/security.txt" || p.Immutable {
			continue // They have one variant.
		}
		plain, err := p.For(nil, now)
		assert.NoError(t, err)
		packed, err := p.For([]string{"br, GZIP;q=0.5"}, now)
		assert.NoError(t, err)
		if !slices.Contains(p.Header, [2]string{"Vary", "Accept-Encoding"}) || plain.Encoding != "" {
			t.Errorf("%s: encoding %q, headers %v", name, plain.Encoding, p.Header)
		}
		if len(plain.Body) <= 1024 {
			if packed.Encoding != "" || packed.ETag != plain.ETag {
				t.Errorf("%s: %d bytes are compressed", name, len(plain.Body))
			}
			continue
		}
		r, err := gzip.NewReader(bytes.NewReader(packed.Body))
		assert.NoError(t, err, name)
		content, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(content, plain.Body) || packed.Encoding != "gzip" ||
			packed.ETag != "W/"+plain.ETag {
			t.Errorf("%s: encoding %q, tags %s and %s, %v", name, packed.Encoding, packed.ETag, plain.ETag, err)
		}
		if len(packed.Body) > len(plain.Body)*3/5 {
			t.Errorf("%s: %d bytes of %d", name, len(packed.Body), len(plain.Body))
		}
	}
}

// TestScalarIsTheReleasedOne: the embedded script is what docs/dependencies.md says.
func TestScalarIsTheReleasedOne(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256(bodyOf(t, site(t, "https://store.test/v1")["/docs/assets/scalar.js"]))
	text, err := os.ReadFile("../../../docs/dependencies.md")
	assert.NoError(t, err)
	if !bytes.Contains(text, []byte(hex.EncodeToString(sum[:]))) {
		t.Errorf("docs/dependencies.md does not name %x", sum)
	}
}

// TestGuidesAreTheFolders: a guide that is embedded is a page.
func TestGuidesAreTheFolders(t *testing.T) {
	t.Parallel()
	pages := site(t, "https://store.test/v1")
	for _, file := range []string{"clients.md", "deprecations/get-pet.md", "getting-a-key.md", "idempotency.md",
		"pagination.md", "versioning.md"} {
		name := "/docs/" + strings.TrimSuffix(file, path.Ext(file))
		assert.True(t, pages[name] != nil, "no page", name)
	}
	if body := bodyOf(t, pages["/docs/limits"]); bytes.Contains(body, []byte("maxmemory")) {
		t.Error("the page on limits tells how to run the API")
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, baseURL := range []string{"", "https://store.test", "https://store.test/v2", "https://store.test/%zz/v1"} {
		if _, err := reference.New(baseURL, reference.Support{}, nil); err == nil {
			t.Errorf("%q is taken", baseURL)
		}
	}
}
