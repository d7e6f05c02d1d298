package e2e_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"petstore.example/internal/plans"
	"petstore.example/internal/store/storetest"
)

type pet struct {
	ID         int64
	Name       string
	CategoryID int64
	Status     string
}

// TestTenantsNeverMeet: over every operation, whatever a tenant asks, it gets its own animals and no others.
func TestTenantsNeverMeet(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	h := newHouseOn(t, db.URL, "")
	s := h.serve()
	var tenants []*tenant
	owner := map[int64]int{} // pet → index of its tenant
	for i := range 3 {
		tenants = append(tenants, h.tenant(plans.Business, nil, 1))
		for n := range 25 {
			a := h.client.post(s, tenants[i].keys[0].token, fmt.Sprintf("%d of tenant %d", n, i))
			var p pet
			if err := json.Unmarshal(a.body, &p); err != nil || a.status != 201 {
				t.Fatalf("create: %v", a)
			}
			owner[p.ID] = i
		}
	}
	checks := 0
	for i, tn := range tenants {
		token := tn.keys[0].token
		for _, query := range []string{"?limit=100", "?limit=7", "?limit=100&status=available", "?limit=100&cursor=0000000000000000"} {
			seen := h.listAll(s, token, "/pets"+query)
			for _, p := range seen {
				checks++
				if owner[p.ID] != i {
					t.Errorf("tenant %d sees animal %d of tenant %d in %s", i, p.ID, owner[p.ID], query)
				}
			}
			if len(seen) != 25 {
				t.Errorf("tenant %d sees %d animals in %s, want its 25", i, len(seen), query)
			}
		}
		for id, whose := range owner {
			checks++
			a := h.client.get(s, token, fmt.Sprintf("/pets/%d", id))
			if whose == i && a.status != 200 || whose != i && a.code != "pet_not_found" {
				t.Errorf("tenant %d asks for animal %d of tenant %d: %v", i, id, whose, a)
			}
			if whose != i && strings.Contains(string(a.body), fmt.Sprintf("of tenant %d", whose)) {
				t.Errorf("a 404 tells of another tenant's animal: %v", a)
			}
		}
	}
	t.Logf("list by 4 queries, add, get of every animal by each of 3 tenants: %d answers, none of another's", checks)
	showRowSecurity(t, db.APIURL, tenants, owner)
}

// listAll follows the cursor to the end.
func (h *house) listAll(s *server, token, path string) (all []pet) {
	h.t.Helper()
	for next := path; next != ""; {
		a := h.client.get(s, token, next)
		var page []pet
		if err := json.Unmarshal(a.body, &page); err != nil || a.status != 200 {
			h.t.Fatalf("list: %v", a)
		}
		all = append(all, page...)
		next = ""
		if cursor := a.header.Get("X-Next-Cursor"); cursor != "" {
			bare, _, _ := strings.Cut(path, "&cursor=")
			next = bare + "&cursor=" + cursor
		}
	}
	return all
}

// showRowSecurity: in the API's role, a query that forgets the tenant sees nothing, and no query can touch another's.
func showRowSecurity(t *testing.T, url string, tenants []*tenant, owner map[int64]int) {
	db, err := sql.Open("postgres", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	count := func(q interface {
		QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	}) (n int) {
		t.Helper()
		if err := q.QueryRowContext(t.Context(), `select count(*) from pets`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := count(db); n != 0 {
		t.Errorf("without a tenant the API's role sees %d animals", n)
	}
	for i, tn := range tenants {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(t.Context(), `select set_config('petstore.tenant_id', $1, true)`, fmt.Sprint(tn.ID)); err != nil {
			t.Fatal(err)
		}
		if n := count(tx); n != 25 {
			t.Errorf("with tenant %d set the API's role sees %d animals, want 25", i, n)
		}
		other := tenants[(i+1)%len(tenants)].ID
		if r, err := tx.ExecContext(t.Context(), `update pets set name = 'mine' where tenant_id = $1`, other); err != nil {
			t.Error(err)
		} else if n, _ := r.RowsAffected(); n != 0 {
			t.Errorf("with tenant %d set, %d animals of another were changed", i, n)
		}
		_, err = tx.ExecContext(t.Context(), `insert into pets (tenant_id, name, category_id, status, created_at)
			values ($1, 'intruder', 1, 'available', now())`, other)
		if pq.As(err, pqerror.InsufficientPrivilege) == nil {
			t.Errorf("with tenant %d set, an insert for another: %v, want it refused", i, err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if n := count(db); n != 0 {
			t.Errorf("after tenant %d's transaction the API's role sees %d animals", i, n)
		}
	}
	t.Logf("row-level security: 0 of %d animals without a tenant, 25 with one set, none of another's changed or added", len(owner))
}
