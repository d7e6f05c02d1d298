package api

import (
	"strings"
	"testing"
)

// TestStrict: who asks for it hears of members that would be ignored, and that this was done.
func TestStrict(t *testing.T) {
	t.Parallel()
	allowed := "want only " + strings.Join(petMembers, ", ")
	for _, c := range []struct {
		name, method, target, body, prefer string
		status                             int
		saying                             string
	}{
		{"unknown members", "POST", "/v1/pets", `{"id":9,"name":"Rex","categoryId":7,"x":null}`, "handling=strict", 400,
			`unknown members "id", "x": ` + allowed + `.`},
		{"and all else that is wrong", "POST", "/v1/pets", `{"NAME":"Rex","categoryId":"7"}`, "handling=strict", 400,
			`unknown members "NAME": ` + allowed + `; name is required; categoryId must be`},
		{"in a change", "PATCH", "/v1/pets/1", `{"nom":"Rex"}`, "handling=strict", 400, `unknown members "nom": `},
		{"in an order", "POST", "/v1/store/orders", `{"petId":1,"status":"placed"}`, "handling=strict", 400,
			`"status": want only petId, quantity`},
		{"all known", "POST", "/v1/pets", `{"name":"Rex","categoryId":7}`, "handling=strict", 201, `"id":2`},
		{"all known in a change", "PATCH", "/v1/pets/1", `{"name":"Mia"}`, "handling=strict", 200, `"name":"Mia"`},
		{"lenient", "POST", "/v1/pets", `{"id":9,"name":"Rex","categoryId":7,"x":null}`, "handling=lenient", 201,
			`"id":2`},
		{"no body to read", "GET", "/v1/pets", "", "handling=strict", 200, "Rex"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.addPet(t, "available")
			r := w.request(c.method, c.target, c.body, "Prefer", c.prefer)
			rec := w.do(r)
			checkAnswer(t, r, rec)
			if plain := strings.ReplaceAll(
				rec.Body.String(),
				`\"`,
				`"`,
			); rec.Code != c.status ||
				!strings.Contains(plain, c.saying) {
				t.Errorf("%d %s, want %d saying %s", rec.Code, rec.Body, c.status, c.saying)
			}
			want := ""
			if c.prefer == "handling=strict" && c.method != "GET" {
				want = "handling=strict"
			}
			if got := header(rec, "Preference-Applied"); got != want {
				t.Errorf("Preference-Applied %q, want %q", got, want)
			}
		})
	}
}
