package catalog_test

import (
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"
	_ "github.com/lib/pq" // the driver of sqlx.Open

	"petstore.example/internal/catalog"
	catalogstore "petstore.example/internal/store/catalog"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
)

// TestBoundedPages: whatever animals there are and whichever filters a page has, Postgres reads a
// bounded number of buffers for it, whether it plans for these values or for any.
func TestBoundedPages(t *testing.T) {
	t.Parallel()
	const last, maxBuffers = 60_000, 4_000
	db := storetest.New(t)
	owner, api := sqlx.MustOpen("postgres", db.URL), sqlx.MustOpen("postgres", db.APIURL)
	defer func() { _ = errors.Join(owner.Close(), api.Close()) }()
	owner.MustExec(`select test_tenant('acme', 'pro')`)
	// so that whoever reads the whole table reads more than maxBuffers
	owner.MustExec("alter table pets set (fillfactor = 10)")
	// Animals called Ann are at the end and all of category 2. Animals called Cleo are few enough
	// to be found by name.
	owner.MustExec(`
		insert into pets (tenant_id, name, category_id, status, created_at)
		select 1, case when n > 50000 then 'Ann ' when n % 50 = 0 then 'Cleo ' else 'Bea ' end || n, case when n >
			50000 then 2 else 1 end,
		  (array['available', 'pending', 'sold'])[1 + n % 3], now()
		from generate_series(1, $1) n`, last)
	owner.MustExec("vacuum analyze pets")
	api.SetMaxOpenConns(1) // for the settings and the prepared statements
	var ids []int64
	for id := int64(1); id <= last; id += last / 100 {
		ids = append(ids, id)
	}
	most, tried, fields := 0, map[string]bool{}, reflect.VisibleFields(reflect.TypeFor[catalog.Page]())
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		api.MustExec("set plan_cache_mode = " + mode)
		for _, filter := range []catalog.Page{
			{CategoryID: new(int64(1))}, {CategoryID: new(int64(2))}, {CategoryID: new(int64(3))}, {IDs: ids},
			{NamePrefix: "Ann"}, {NamePrefix: "Bea"},
			{NamePrefix: "Cleo"}, {NamePrefix: "Cleo", CategoryID: new(int64(2))}, {NamePrefix: "Dan"},
			{NamePrefix: "Bea 123"},
		} {
			for bits := range 8 { // the other filters
				p := filter
				if bits&1 != 0 {
					p.Status = catalog.Sold
				}
				if bits&2 != 0 && p.CategoryID == nil {
					p.CategoryID = new(int64(1))
				}
				if bits&4 != 0 && p.IDs == nil {
					p.IDs = ids
				}
				for _, p.After = range []int64{0, last / 2, last - 1} {
					p.Limit = 100
					for _, f := range fields {
						tried[f.Name] = tried[f.Name] || !reflect.ValueOf(p).FieldByIndex(f.Index).IsZero()
					}
					buffers, plan := explain(t, api, p)
					if most = max(most, buffers); buffers > maxBuffers {
						t.Errorf("%s: %+v: %d buffers:\n%s", mode, p, buffers, plan)
					}
				}
			}
		}
	}
	for _, f := range fields {
		assert.True(t, tried[f.Name], "no page has a", f.Name)
	}
	t.Logf("at most %d buffers", most)
}

// explain returns how many buffers Postgres reads for a page, and its plan.
func explain(t *testing.T, api *sqlx.DB, p catalog.Page) (buffers int, plan string) {
	t.Helper()
	query, args := catalogstore.FilterPetsQuery(1, p)
	api.MustExec("prepare page as " + query)
	var lines []string
	err := api.Select(
		&lines,
		"explain (analyze, buffers, costs off, timing off, summary off) execute page ("+strings.Join(args, ", ")+")",
	)
	api.MustExec("deallocate page")
	assert.NoError(t, err)
	plan = strings.Join(lines, "\n")
	for _, line := range lines { // The first with buffers is that of the whole plan.
		if _, counts, ok := strings.Cut(line, "Buffers: shared "); ok {
			for _, count := range strings.Fields(counts) {
				if kind, number, _ := strings.Cut(count, "="); kind == "hit" || kind == "read" {
					n, err := strconv.Atoi(number)
					assert.NoError(t, err)
					buffers += n
				}
			}
			return buffers, plan
		}
	}
	return 0, plan // No ID is after the cursor.
}
