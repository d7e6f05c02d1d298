//go:build linux

package running_test

import (
	"crypto/sha256"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/contract"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/storetest"
)

// compressing are the changes of the configuration by which a proxy compresses all that it passes
// on: the server sees no Accept-Encoding.
var compressing = map[string][]string{
	"nginx": {
		"proxy_http_version 1.1;", "proxy_http_version 1.1; proxy_set_header Accept-Encoding \"\";",
		"server_tokens off;", "server_tokens off; gzip on; gzip_types *; gzip_proxied any; gzip_min_length 1;",
	},
	"haproxy": {
		"backend petstore\n",
		"backend petstore\n    compression algo gzip\n    compression type application/json application/yaml\n    " +
			"compression offload\n",
	},
	"caddy": {
		"\tlog\n",
		"\tencode {\n\t\tgzip\n\t\tminimum_length 1\n\t}\n\tlog\n",
		"\t\tlb_policy round_robin\n",
		"\t\tlb_policy round_robin\n\t\theader_up -Accept-Encoding\n",
	},
}

// TestContractThroughProxies holds what a client gets through each proxy to the OpenAPI document as
// it is published: with the configuration of deploy/proxy, and if the proxy compresses.
func TestContractThroughProxies(t *testing.T) {
	t.Parallel()
	document, err := contract.LoadPublished([]byte(programs.Read(t, "../../api/openapi.yaml")))
	assert.NoError(t, err)
	database := storetest.New(t)
	staff := storetest.Open(t, database.SupportURL, store.Options{MaxConns: 2})
	f := newPair(t, programs.Path(t, "petstore"), database.APIURL, newRedis(t), "PETSTORE_DRAIN_DELAY=0s")
	for _, kind := range []proxyKind{nginx, haproxy, caddy} {
		for name, changes := range map[string][]string{"plain": nil, "compressing": compressing[kind.program]} {
			t.Run(kind.program+" "+name, func(t *testing.T) {
				client := kind.start(t, f, changes...).client(t, "127.0.0.1")
				client.Transport = document.Transport(client.Transport, func(err error) { t.Error(err) })
				tenant := kind.program + "-" + name
				c := customer{
					t,
					client,
					storetest.IssueKey(t, staff, tenancy.NewTenant{Name: tenant, Plan: plans.Business}),
				}
				t.Logf("the tag of a compressed list: %s", c.readsAndWrites())
				c.meetsErrors()
				c.getsPackages(name == "plain")
				c.key = storetest.IssueKey(
					t,
					staff,
					tenancy.NewTenant{
						Name: tenant + "-small",
						Plan: plans.Enterprise,
						Own:  &plans.Quota{PerMinute: 1, PerDay: 10},
					},
				)
				c.send(http.StatusOK, "GET /pets", "")
				for range 4 { // a response may be 503, or the tenant's minute may have ended after the first
					if res := c.sendOnce("GET /pets", ""); res.StatusCode == http.StatusTooManyRequests {
						return
					}
				}
				t.Error("five requests of a tenant that has one a minute, and no 429")
			})
		}
	}
}

// customer sends requests with a key.
type customer struct {
	t      *testing.T
	client *http.Client
	key    string
}

// send sends a request, whose response must have the status. headers are names and values. On a
// busy machine a key may not be looked up in time: the response is 503, and the request is sent
// again.
func (c customer) send(want int, line, body string, headers ...string) response {
	c.t.Helper()
	res := c.sendOnce(line, body, headers...)
	for tries := 1; res.StatusCode == http.StatusServiceUnavailable && tries < 5; tries++ {
		time.Sleep(time.Second) // as Retry-After says
		res = c.sendOnce(line, body, headers...)
	}
	if res.StatusCode != want {
		c.t.Errorf("%s: %s, want %d: %.200s", line, res.Status, want, res.body)
	}
	return res
}

func (c customer) sendOnce(line, body string, headers ...string) response {
	c.t.Helper()
	method, path, _ := strings.Cut(line, " ")
	req, err := http.NewRequestWithContext(c.t.Context(), method, base+path, strings.NewReader(body))
	assert.NoError(c.t, err)
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	for pair := range slices.Chunk(headers, 2) {
		req.Header.Add(pair[0], pair[1])
	}
	if body != "" && req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	return exchange(c.t, c.client, req)
}

// getsPackages reads the packages for customers. Their bytes have their digests, and no proxy packs
// them again unless it packs everything.
func (c customer) getsPackages(asTheyAre bool) {
	c.t.Helper()
	get := func(name string, headers ...string) response {
		url := strings.TrimSuffix(base, "v1") + "docs/clients/" + name
		req, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, url, http.NoBody)
		assert.NoError(c.t, err)
		for pair := range slices.Chunk(headers, 2) {
			req.Header.Add(pair[0], pair[1])
		}
		res := exchange(c.t, c.client, req)
		assert.Equal(c.t, res.StatusCode, http.StatusOK, name)
		return res
	}
	for line := range strings.Lines(get("SHA256SUMS").body) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		body := get(name).body
		assert.Equal(c.t, fmt.Sprintf("%x", sha256.Sum256([]byte(body))), sum, name)
		if !asTheyAre {
			continue
		}
		res := get(name, "Accept-Encoding", "gzip")
		assert.Equal(c.t, res.Header.Get("Content-Encoding"), "", "Content-Encoding of", name)
		assert.Equal(c.t, res.ContentLength, int64(len(body)), "Content-Length of", name)
		assert.Equal(c.t, res.Header.Get("Cache-Control"), "public, max-age=31536000, immutable, no-transform",
			"Cache-Control of", name)
		c.t.Logf("%d bytes of %s, %s", len(body), res.Header.Get("Content-Type"), name)
	}
}

// readsAndWrites lists animals and orders, adds and changes some, and returns the tag of a list
// that is long enough to be compressed.
func (c customer) readsAndWrites() string {
	c.t.Helper()
	var location string
	for range 21 {
		location = c.send(http.StatusCreated, "POST /pets", `{"name":"Rex","categoryId":7}`).Header.Get("Location")
	}
	page := c.send(http.StatusOK, "GET /pets", "")
	tag := page.Header.Get("Etag")
	assert.True(c.t, page.Uncompressed, "a list of", len(page.body), "bytes came uncompressed")
	c.send(http.StatusNotModified, "GET /pets", "", "If-None-Match", tag)
	c.send(http.StatusOK, "GET /pets?cursor="+page.Header.Get("X-Next-Cursor"), "")
	id := strings.TrimPrefix(location, base+"/pets/")
	c.send(http.StatusOK, "GET /pets/"+id, "")
	// Link has a hundred IDs twice, more than nginx's buffer for headers holds by default.
	second := strings.TrimPrefix(
		c.send(http.StatusCreated, "POST /pets", `{"name":"Tom","categoryId":7}`).Header.Get("Location"),
		base+"/pets/",
	)
	ids := id + "," + second
	for i := range 98 {
		ids += "," + strconv.Itoa(math.MaxInt64-i)
	}
	many := c.send(http.StatusOK, "GET /pets?limit=1&ids="+ids, "")
	if many.StatusCode == http.StatusOK && len(many.Header.Get("Link")) < 4000 {
		c.t.Errorf("Link has %d bytes", len(many.Header.Get("Link")))
	}
	c.send(http.StatusOK, "PATCH /pets/"+id, `{"name":"Mia"}`)
	c.changesIfUnchanged(id)
	order := c.send(http.StatusCreated, "POST /store/orders", `{"petId":`+id+`}`)
	c.send(http.StatusOK, "GET /store/orders", "")
	c.send(http.StatusOK, "PATCH "+strings.TrimPrefix(order.Header.Get("Location"), base), `{"status":"approved"}`)
	c.send(http.StatusConflict, "POST /store/orders", `{"petId":`+id+`}`)
	c.send(http.StatusOK, "GET /usage", "")
	c.send(http.StatusOK, "GET /openapi.yaml", "")
	document := c.send(http.StatusOK, "GET /openapi.json", "")
	c.send(http.StatusNotModified, "GET /openapi.json", "", "If-None-Match", document.Header.Get("Etag"))
	return tag
}

// changesIfUnchanged changes an animal by If-Match: with the tag of an uncompressed list, once. A
// tag that a proxy made weak works without W/ only.
func (c customer) changesIfUnchanged(id string) {
	c.t.Helper()
	read := func(encoding string) string {
		return c.send(http.StatusOK, "GET /pets?ids="+id, "", "Accept-Encoding", encoding).Header.Get("Etag")
	}
	tag := read("identity")
	c.send(http.StatusOK, "PATCH /pets/"+id, `{"name":"Luna"}`, "If-Match", tag)
	c.send(http.StatusPreconditionFailed, "PATCH /pets/"+id, `{"name":"Lost"}`, "If-Match", tag)
	tag = read("gzip")
	c.t.Logf("the tag of a compressed animal: %s", tag)
	if strong, weak := strings.CutPrefix(tag, "W/"); weak {
		c.send(http.StatusPreconditionFailed, "PATCH /pets/"+id, `{"name":"Lost"}`, "If-Match", tag)
		c.send(http.StatusOK, "PATCH /pets/"+id, `{"name":"Mia"}`, "If-Match", strong)
	}
}

// meetsErrors gets errors of most kinds.
func (c customer) meetsErrors() {
	c.t.Helper()
	const pet = `{"name":"Rex","categoryId":7}`
	c.send(http.StatusBadRequest, "GET /pets?limit=0", "")
	c.send(http.StatusBadRequest, "POST /pets", `{`)
	c.send(http.StatusNotFound, "GET /pets/"+strconv.Itoa(1<<40), "")
	c.send(http.StatusRequestEntityTooLarge, "POST /pets", strings.Repeat(" ", 1<<20)+pet)
	c.send(http.StatusRequestURITooLong, "GET /pets?x="+strings.Repeat("x", 8<<10), "")
	c.send(http.StatusUnsupportedMediaType, "POST /pets", pet, "Content-Type", "text/plain")
	c.send(http.StatusCreated, "POST /pets", pet, "Idempotency-Key", "one")
	c.send(http.StatusUnprocessableEntity, "POST /pets", `{"name":"Mia","categoryId":7}`, "Idempotency-Key", "one")
	c.key = ""
	c.send(http.StatusUnauthorized, "GET /pets", "")
}
