package clients_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
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

// importers are programs that import the animals whose names they read from a source, and print a
// line for each.
var importers = map[string]func(t *testing.T, source string) *exec.Cmd{
	"Go": func(t *testing.T, source string) *exec.Cmd {
		self, err := os.Executable()
		assert.NoError(t, err)
		return sandbox.Command(t, self, "import", source)
	},
	"TypeScript": func(t *testing.T, source string) *exec.Cmd {
		buildTypeScript(t)
		cmd := sandbox.Command(t, "node", "test/import.mjs", source)
		cmd.Dir = typescript
		return cmd
	},
	"Python": func(t *testing.T, source string) *exec.Cmd {
		cmd := sandbox.Command(t, pythonToolsVenv(t), "tests/importing.py", source)
		cmd.Dir, cmd.Env = python, append(cmd.Env, "PYTHONPATH=src", "PYTHONDONTWRITEBYTECODE=1")
		return cmd
	},
}

var languages = []string{"Go", "TypeScript", "Python"}

// importGo is the importer of Go. TestMain runs it in a process of its own.
func importGo(source string) error {
	shop, err := petstore.New(os.Getenv("PETSTORE_URL"), os.Getenv("PETSTORE_API_KEY"))
	if err != nil {
		return err
	}
	names := bufio.NewScanner(os.Stdin)
	rows := func(yield func(petstore.NewPet) bool) {
		for names.Scan() && yield(petstore.NewPet{Name: names.Text(), CategoryID: 7}) {
		}
	}
	return shop.ImportPets(context.Background(), rows, petstore.Import{
		Source: source,
		Each: func(row petstore.ImportedRow) {
			did := "created"
			if row.Replayed {
				did = "replayed"
			}
			fmt.Println(row.Row, did, row.Pet.ID)
		},
	})
}

// pairs returns which language is killed and which one goes on: each is killed once, in make soak
// each pair is tried.
func pairs() (all [][2]string) {
	for i, killed := range languages {
		all = append(all, [2]string{killed, languages[(i+1)%len(languages)]})
		if os.Getenv("PETSTORE_SOAK") != "" {
			all = append(all, [2]string{killed, languages[(i+2)%len(languages)]})
		}
	}
	return all
}

// TestKilledImportsGoOn kills an import in each language. Another one goes on with it: each row is
// added once.
func TestKilledImportsGoOn(t *testing.T) {
	t.Parallel()
	database := storetest.New(t)
	server := programs.Serve(t, programs.Path(t, "petstore"), "PETSTORE_DATABASE_URL="+database.APIURL)
	staff := storetest.Open(t, database.URL, store.Options{})
	for _, pair := range pairs() {
		t.Run(pair[0]+" to "+pair[1], func(t *testing.T) {
			key := storetest.IssueKey(t, staff, unlimited(strings.Join(pair[:], "")))
			runImport(t, pair[0], server.URL, key, importedRows/2, importedRows/3)
			lines := runImport(t, pair[1], server.URL, key, importedRows, importedRows)
			replayed := strings.Count(strings.Join(lines, "\n"), " replayed ")
			assert.True(t, replayed >= importedRows/3 && replayed < importedRows, replayed, "rows replayed")
			t.Logf("killed after %d rows: %d were there", importedRows/3, replayed)
			checkAnimals(t, server.URL, key, importedRows)
		})
	}
}

// checkAnimals checks that each of so many rows is there once.
func checkAnimals(t *testing.T, url, key string, rows int) {
	t.Helper()
	shop, err := petstore.New(url, key)
	assert.NoError(t, err)
	names := map[string]int{}
	for pet, err := range shop.Pets(t.Context(), petstore.ListPetsParams{}) {
		assert.NoError(t, err)
		names[pet.Name]++
	}
	assert.Equal(t, len(names), rows, "animals by name")
	for name, n := range names {
		assert.Equal(t, n, 1, name)
	}
}

// TestLanguagesImportAtOnce: the three languages import the same rows at the same time. Each row is
// added by one of them, and the others get its animal.
func TestLanguagesImportAtOnce(t *testing.T) {
	t.Parallel()
	database := storetest.New(t)
	server := programs.Serve(t, programs.Path(t, "petstore"), "PETSTORE_DATABASE_URL="+database.APIURL)
	key := storetest.IssueKey(t, storetest.Open(t, database.URL, store.Options{}), unlimited("acme"))
	buildTypeScript(t)
	pythonToolsVenv(t)
	var created atomic.Int64
	var all sync.WaitGroup
	for _, language := range languages {
		all.Go(func() {
			lines := runImport(t, language, server.URL, key, importedRows, importedRows)
			n := strings.Count(strings.Join(lines, "\n"), " created ")
			t.Logf("%s has added %d", language, n)
			created.Add(int64(n))
		})
	}
	all.Wait()
	assert.Equal(t, created.Load(), importedRows, "rows that one of them has added")
	checkAnimals(t, server.URL, key, importedRows)
}

// TestImportsTakeAsLongAsTheLimit: a language alone imports 600 rows on Pro, 300 a minute, in a
// minute and 5 s at most, begun at the beginning of one. Without promised times nobody waits: then
// it imports a tenth, and there is no limit.
func TestImportsTakeAsLongAsTheLimit(t *testing.T) {
	t.Parallel()
	database := storetest.New(t)
	server := programs.Serve(t, programs.Path(t, "petstore"), "PETSTORE_DATABASE_URL="+database.APIURL)
	staff := storetest.Open(t, database.URL, store.Options{})
	buildTypeScript(t)
	pythonToolsVenv(t)
	for _, language := range languages {
		account, rows, ideal := unlimited(language), importedRows/10, time.Duration(0)
		if wait.Bounds() {
			account.Plan, account.Own = plans.Pro, nil
			rows, ideal = importedRows, time.Minute
		}
		key := storetest.IssueKey(t, staff, account)
		if wait.Bounds() {
			shop, err := petstore.New(server.URL, key)
			assert.NoError(t, err)
			usage, err := shop.GetUsage(t.Context())
			assert.NoError(t, err)
			time.Sleep(time.Until(usage.Windows.Minute.Reset)) // The ideal is known from the beginning of a minute.
		}
		began := time.Now()
		runImport(t, language, server.URL, key, rows, rows)
		wait.Bound(t, fmt.Sprint(rows, " rows with ", language), time.Since(began), ideal+5*time.Second)
	}
}

// unlimited is a tenant whose limit no test reaches.
func unlimited(name string) tenancy.NewTenant {
	own := &plans.Quota{PerMinute: 1_000_000, PerDay: 1_000_000}
	return tenancy.NewTenant{Name: strings.ToLower(name), Plan: plans.Enterprise, Own: own}
}

// runImport runs the importer of a language for so many rows, and returns its lines. It kills it
// after most of them, if that is not all; by itself it would wait for more rows.
func runImport(t *testing.T, language, url, key string, rows, most int) (lines []string) {
	t.Helper()
	cmd := importers[language](t, "animals.csv")
	cmd.Env = append(cmd.Env, "PETSTORE_URL="+url, "PETSTORE_API_KEY="+key)
	var trouble strings.Builder
	cmd.Stderr = &trouble
	out, err := cmd.StdoutPipe()
	assert.NoError(t, err)
	in, err := cmd.StdinPipe()
	assert.NoError(t, err)
	assert.NoError(t, cmd.Start())
	for i := range rows {
		_, err := fmt.Fprintf(in, "Rex %d\n", i+1)
		assert.NoError(t, err)
	}
	killed := most < rows
	if !killed {
		assert.NoError(t, in.Close())
	}
	for said := bufio.NewScanner(out); len(lines) < most && said.Scan(); {
		lines = append(lines, said.Text())
	}
	if killed {
		assert.NoError(t, cmd.Process.Kill())
	}
	if err := cmd.Wait(); len(lines) != most || (err != nil) != killed {
		t.Fatalf("%s: %d lines, %v\n%s", language, len(lines), err, trouble.String())
	}
	return lines
}
