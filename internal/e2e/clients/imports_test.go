package clients_test

import (
	"bufio"
	"fmt"
	"iter"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	petstore "petstore.example/client"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// importedRows is how many rows the programs import.
const importedRows = 600

// importers are programs that import so many rows from a source, and print a line for each.
var importers = map[string]func(t *testing.T, args ...string) *exec.Cmd{
	"TypeScript": func(t *testing.T, args ...string) *exec.Cmd {
		cmd := sandbox.Command(t, "node", append([]string{"test/import.mjs"}, args...)...)
		cmd.Dir = typescript
		return cmd
	},
	"Python": func(t *testing.T, args ...string) *exec.Cmd {
		cmd := sandbox.Command(t, pythonToolsVenv(t), append([]string{"tests/importing.py"}, args...)...)
		cmd.Dir, cmd.Env = python, append(cmd.Env, "PYTHONPATH=src", "PYTHONDONTWRITEBYTECODE=1")
		return cmd
	},
}

// TestKilledImportsGoOn kills an import in each language. That of Go goes on with it, and then that
// language again: each row is added once.
func TestKilledImportsGoOn(t *testing.T) {
	t.Parallel()
	buildTypeScript(t)
	database := storetest.New(t)
	server := programs.Serve(t, programs.Path(t, "petstore"), "PETSTORE_DATABASE_URL="+database.APIURL)
	staff := storetest.Open(t, database.URL, store.Options{})
	for language := range importers {
		t.Run(language, func(t *testing.T) {
			key := storetest.IssueKey(t, staff, unlimited(language))
			runImport(t, language, server.URL, key, importedRows/3)

			shop, err := petstore.New(server.URL, key)
			assert.NoError(t, err)
			replayed, created := importGo(t, shop)
			if replayed < importedRows/3 || replayed+created != importedRows {
				t.Errorf("Go: %d rows replayed, %d created", replayed, created)
			}
			t.Logf("killed after %d rows: Go found %d, and added %d", importedRows/3, replayed, created)

			for _, line := range runImport(t, language, server.URL, key, importedRows) {
				assert.Equal(t, strings.Fields(line)[1], "replayed", line)
			}
			checkAnimals(t, shop)
		})
	}
}

// importGo imports the rows with the client for Go, and returns how many were there already.
func importGo(t *testing.T, shop *petstore.Client) (replayed, created int) {
	t.Helper()
	assert.NoError(t, shop.ImportPets(t.Context(), rows, petstore.Import{
		Source: "animals.csv",
		Each: func(row petstore.ImportedRow) {
			if row.Replayed {
				replayed++
			} else {
				created++
			}
		},
	}))
	return replayed, created
}

// checkAnimals checks that each row is there once.
func checkAnimals(t *testing.T, shop *petstore.Client) {
	t.Helper()
	names := map[string]int{}
	for pet, err := range shop.Pets(t.Context(), petstore.ListPetsParams{}) {
		assert.NoError(t, err)
		names[pet.Name]++
	}
	assert.Equal(t, len(names), importedRows, "animals by name")
	for name, n := range names {
		assert.Equal(t, n, 1, name)
	}
}

// TestLanguagesImportAtOnce: the three languages import the same rows at the same time. Each row is
// added by one of them, and the others get its animal.
func TestLanguagesImportAtOnce(t *testing.T) {
	t.Parallel()
	buildTypeScript(t)
	pythonToolsVenv(t)
	database := storetest.New(t)
	server := programs.Serve(t, programs.Path(t, "petstore"), "PETSTORE_DATABASE_URL="+database.APIURL)
	key := storetest.IssueKey(t, storetest.Open(t, database.URL, store.Options{}), unlimited("acme"))
	shop, err := petstore.New(server.URL, key)
	assert.NoError(t, err)
	added := map[string]*atomic.Int64{"Go": {}, "TypeScript": {}, "Python": {}}
	var all sync.WaitGroup
	for language := range importers {
		all.Go(func() {
			lines := runImport(t, language, server.URL, key, importedRows)
			added[language].Add(int64(strings.Count(strings.Join(lines, "\n"), " created ")))
		})
	}
	all.Go(func() {
		wait.Until(t, "another has begun", func() bool {
			page, err := shop.ListPets(t.Context(), petstore.ListPetsParams{Limit: 1})
			return err == nil && len(page.Pets) > 0
		})
		_, created := importGo(t, shop)
		added["Go"].Add(int64(created))
	})
	all.Wait()
	created := int64(0)
	for language, n := range added {
		t.Logf("%s has added %d", language, n.Load())
		created += n.Load()
	}
	assert.Equal(t, created, importedRows, "rows that one of them has added")
	checkAnimals(t, shop)
}

// TestImportsTakeAsLongAsTheLimit: a language alone imports 600 rows on Pro, 300 a minute, in a
// minute and 5 s at most, begun at the beginning of one. Without promised times nobody waits: then
// there is no limit.
func TestImportsTakeAsLongAsTheLimit(t *testing.T) {
	t.Parallel()
	buildTypeScript(t)
	pythonToolsVenv(t)
	database := storetest.New(t)
	server := programs.Serve(t, programs.Path(t, "petstore"), "PETSTORE_DATABASE_URL="+database.APIURL)
	staff := storetest.Open(t, database.URL, store.Options{})
	for _, language := range []string{"Go", "TypeScript", "Python"} {
		account := unlimited(language)
		if wait.Bounds() {
			account.Plan, account.Own = plans.Pro, nil
		}
		key := storetest.IssueKey(t, staff, account)
		shop, err := petstore.New(server.URL, key)
		assert.NoError(t, err)
		ideal := time.Duration(0)
		if wait.Bounds() {
			usage, err := shop.GetUsage(t.Context())
			assert.NoError(t, err)
			time.Sleep(time.Until(usage.Windows.Minute.Reset)) // The ideal is known from the beginning of a minute.
			ideal = time.Minute
		}
		began := time.Now()
		if language == "Go" {
			importGo(t, shop)
		} else {
			runImport(t, language, server.URL, key, importedRows)
		}
		wait.Bound(t, "600 rows with "+language, time.Since(began), ideal+5*time.Second)
	}
}

// unlimited is a tenant whose limit no test reaches.
func unlimited(name string) tenancy.NewTenant {
	own := &plans.Quota{PerMinute: 1_000_000, PerDay: 1_000_000}
	return tenancy.NewTenant{Name: strings.ToLower(name), Plan: plans.Enterprise, Own: own}
}

// runImport runs the importer of a language, and returns its lines. It kills it after so many, if
// that is not all.
func runImport(t *testing.T, language, url, key string, most int) (lines []string) {
	t.Helper()
	cmd := importers[language](t, "animals.csv", strconv.Itoa(importedRows))
	cmd.Env = append(cmd.Env, "PETSTORE_URL="+url, "PETSTORE_API_KEY="+key)
	var trouble strings.Builder
	cmd.Stderr = &trouble
	out, err := cmd.StdoutPipe()
	assert.NoError(t, err)
	assert.NoError(t, cmd.Start())
	for said := bufio.NewScanner(out); len(lines) < most && said.Scan(); {
		lines = append(lines, said.Text())
	}
	killed := most < importedRows
	if killed {
		assert.NoError(t, cmd.Process.Kill())
	}
	if err := cmd.Wait(); len(lines) != most || (err != nil) != killed {
		t.Fatalf("%s: %d lines, %v\n%s", language, len(lines), err, trouble.String())
	}
	return lines
}

// rows are those of all programs.
var rows iter.Seq[petstore.NewPet] = func(yield func(petstore.NewPet) bool) {
	for i := range importedRows {
		if !yield(petstore.NewPet{Name: fmt.Sprintf("Rex %d", i+1), CategoryID: 7}) {
			return
		}
	}
}
