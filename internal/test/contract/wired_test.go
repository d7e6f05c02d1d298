package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"petstore.example/internal/store"
)

// call sends a request with a JSON body, "" for none, and returns the response's body and header.
func (d *deployment) call(t *testing.T, want int, method, path, body string) ([]byte, http.Header) {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, Base+path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+d.key)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	rec := httptest.NewRecorder()
	d.ServeHTTP(rec, req)
	if rec.Code != want {
		t.Fatalf("%s %s %s: %d %s, want %d", method, path, body, rec.Code, rec.Body, want)
	}
	return rec.Body.Bytes(), rec.Header()
}

var firstLink = regexp.MustCompile(`<([^>]*)>; rel="first"`)

// firstQuery returns the query of the link to the first page.
func firstQuery(t *testing.T, h http.Header) url.Values {
	t.Helper()
	m := firstLink.FindStringSubmatch(h.Get("Link"))
	if m == nil {
		t.Fatalf("no link to the first page in %q", h.Get("Link"))
	}
	u, err := url.Parse(m[1])
	if err != nil {
		t.Fatal(err)
	}
	return u.Query()
}

// TestEachParameterSelectsAPage: a list with a query parameter that the document has is another page than the one without, also when the
// other one was served before, and the links of the page keep the parameter. A parameter that the document gets is tried by itself.
func TestEachParameterSelectsAPage(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	tried := 0
	for _, o := range d.document.Operations {
		r := d.requests(t, o)
		if o.Method != http.MethodGet || !r.has("query", "cursor") {
			continue
		}
		for _, p := range r.params {
			if p.in != "query" {
				continue
			}
			tried++
			value := fmt.Sprintf("%016x", 300) // a cursor, which the links to the first page do not have
			if p.name != "cursor" {
				value = r.textOf(p)
			}
			with := o.Path + "?" + p.name + "=" + url.QueryEscape(value)
			for range 2 { // the second time both are in memory
				all, h := d.call(t, http.StatusOK, http.MethodGet, o.Path, "")
				if q := firstQuery(t, h); q.Has(p.name) {
					t.Errorf("%s links to %s after a list with it", o.Path, p.name)
				}
				some, h := d.call(t, http.StatusOK, http.MethodGet, with, "")
				switch linked := firstQuery(t, h).Get(p.name); {
				case p.name == "cursor" && bytes.Equal(all, some):
					t.Errorf("%s is the page without %s", with, p.name)
				case p.name != "cursor" && !sameItems(linked, value):
					t.Errorf("%s links to %s=%q", with, p.name, linked)
				}
			}
		}
	}
	if tried < 8 {
		t.Errorf("only %d parameters of lists were tried", tried)
	}
}

// sameItems compares values; of lists with commas the items, in any order and each once.
func sameItems(a, b string) bool {
	items := func(s string) []string { return slices.Compact(slices.Sorted(strings.SplitSeq(s, ","))) }
	return slices.Equal(items(a), items(b))
}

// TestEachMemberOfAnAnimalIsWritten: each member that the document lets customers write is stored by POST and by PATCH, and then the same in
// the response, in GET, in a list and in the export of the tenant. A member that the document gets is tried by itself.
func TestEachMemberOfAnAnimalIsWritten(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	made, changed := d.writer(t, "createPet"), d.writer(t, "updatePet")
	for name := range members(made.resolve(made.body), "properties") {
		t.Run("POST "+name, func(t *testing.T) {
			want := made.memberOf(name)
			body := map[string]any{"name": "Rex", "categoryId": json.Number("7"), name: want}
			d.checkEverywhere(t, d.add(t, body), name, want)
		})
	}
	for name := range members(changed.resolve(changed.body), "properties") {
		t.Run("PATCH "+name, func(t *testing.T) {
			id := d.add(t, map[string]any{"name": "Rex", "categoryId": json.Number("7"), "status": "available"})
			want := changed.memberOf(name)
			for want == "available" || want == "sold" { // as it is, or a step that is not allowed
				want = changed.memberOf(name)
			}
			got, _ := d.call(t, http.StatusOK, http.MethodPatch, "/pets/"+id, asJSON(t, map[string]any{name: want}))
			checkMember(t, "the response", got, name, want)
			d.checkEverywhere(t, id, name, want)
		})
	}
}

// writer makes bodies of the operation.
func (d *deployment) writer(t *testing.T, operation string) *requests {
	t.Helper()
	i := slices.IndexFunc(d.document.Operations, func(o *Operation) bool { return o.ID == operation })
	if i < 0 {
		t.Fatalf("the document has no operation %s", operation)
	}
	return d.requests(t, d.document.Operations[i])
}

// memberOf makes a valid value of a member.
func (r *requests) memberOf(name string) any {
	for {
		for _, m := range r.bodyThat(true, r.valid).(object) {
			if m.name == name {
				return m.value
			}
		}
	}
}

func (d *deployment) add(t *testing.T, body map[string]any) (id string) {
	t.Helper()
	got, _ := d.call(t, http.StatusCreated, http.MethodPost, "/pets", asJSON(t, body))
	var pet struct{ ID json.Number }
	if err := json.Unmarshal(got, &pet); err != nil {
		t.Fatal(err)
	}
	for name, want := range body {
		checkMember(t, "the response", got, name, want)
	}
	return pet.ID.String()
}

// checkEverywhere checks a member of an animal where customers and staff read it.
func (d *deployment) checkEverywhere(t *testing.T, id, name string, want any) {
	t.Helper()
	one, _ := d.call(t, http.StatusOK, http.MethodGet, "/pets/"+id, "")
	checkMember(t, "GET", one, name, want)
	list, _ := d.call(t, http.StatusOK, http.MethodGet, "/pets?ids="+id, "")
	checkMember(t, "a list", bytes.Trim(list, "[]\n"), name, want)
	var pets bytes.Buffer
	_, err := d.staff.TenantData.Export(t.Context(), "acme", func(store.TenantExport) error { return nil }, func(f store.ExportFile) (io.Writer, error) {
		if strings.HasPrefix(f.Name, "pets") {
			return &pets, nil
		}
		return io.Discard, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	column := regexp.MustCompile(`[A-Z]`).ReplaceAllStringFunc(name, func(s string) string { return "_" + strings.ToLower(s) })
	for line := range bytes.Lines(pets.Bytes()) {
		if bytes.Contains(line, []byte(`"id":`+id+`,`)) {
			checkMember(t, "the export", line, column, want)
			return
		}
	}
	t.Errorf("the export does not have animal %s", id)
}

func checkMember(t *testing.T, where string, text []byte, name string, want any) {
	t.Helper()
	var got map[string]any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&got); err != nil || fmt.Sprint(got[name]) != fmt.Sprint(want) {
		t.Errorf("%s has the %s %v, want %v: %v", where, name, got[name], want, err)
	}
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
