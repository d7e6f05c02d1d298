package clients_test

import (
	"database/sql"
	"encoding/csv"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	petstore "petstore.example/client"
	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/storetest"
)

// guide is what docs/clients.md prints for a language.
type guide struct {
	block string // the language of its programs
	// install follows the page in an empty folder, against a server, and returns how a program of
	// the page is run there.
	install func(t *testing.T, dir, url string) func(program string) *exec.Cmd
}

var guides = map[string]guide{
	"JavaScript": {"js", installJavaScript},
	"Python":     {"python", installPython},
	"Go":         {"go", installGo},
}

// printed returns the commands and the programs of a language.
func (g guide) printed(t *testing.T, block string) (texts []string) {
	t.Helper()
	for _, m := range regexp.MustCompile("(?s)```"+block+"\n(.*?)```").
		FindAllStringSubmatch(programs.Read(t, "../../../docs/clients.md"), -1) {
		texts = append(texts, m[1])
	}
	return texts
}

// command returns the command of the page that begins so, for this server.
func command(t *testing.T, begin, url string) string {
	t.Helper()
	for _, text := range (guide{}).printed(t, "sh") {
		if strings.HasPrefix(text, begin) {
			return strings.ReplaceAll(text, "https://api.example.com", strings.TrimSuffix(url, "/v1"))
		}
	}
	t.Fatalf("the page has no command %s", begin)
	return ""
}

func shell(t *testing.T, dir, script string, env ...string) {
	t.Helper()
	cmd := sandbox.Command(t, "sh", "-euc", script)
	cmd.Dir, cmd.Env = dir, append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	assert.NoError(t, err, script, string(out))
}

func installJavaScript(t *testing.T, dir, url string) func(program string) *exec.Cmd {
	shell(t, dir, command(t, "npm install", url))
	return func(program string) *exec.Cmd {
		assert.NoError(t, os.WriteFile(filepath.Join(dir, "program.mjs"), []byte(program), 0o600))
		return sandbox.Command(t, "node", "program.mjs")
	}
}

// installPython has pip take httpx from a folder in place of the customer's index.
func installPython(t *testing.T, dir, url string) func(program string) *exec.Cmd {
	tools := pythonToolsVenv(t)
	runPython(t, dir, nil, tools, "-m", "venv", "--without-pip", "venv")
	python := filepath.Join(dir, "venv/bin/python")
	pip := tools + " -m pip --python " + python + " install --quiet --no-index --find-links " + pythonWheels(t)
	shell(t, dir, strings.Replace(command(t, "pip install", url), "pip install", pip, 1))
	return func(program string) *exec.Cmd { return sandbox.Command(t, python, "-c", program) }
}

func installGo(t *testing.T, dir, url string) func(program string) *exec.Cmd {
	shell(t, dir, "go mod init example.com/shop\n"+command(t, "export GOPROXY", url),
		"GOFLAGS=-modcacherw", "GOMODCACHE="+filepath.Join(dir, "modules"))
	return func(program string) *exec.Cmd {
		formatted, err := format.Source([]byte(program))
		assert.NoError(t, err)
		assert.Equal(t, program, string(formatted), "the program")
		assert.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600))
		shell(t, dir, "go build -o program main.go", "GOFLAGS=-modcacherw", "GOMODCACHE="+filepath.Join(dir, "modules"))
		return sandbox.Command(t, filepath.Join(dir, "program"))
	}
}

// customer is a tenant with a key, and an empty folder with the package.
type customer struct {
	t        *testing.T
	dir      string
	url, key string
	command  func(program string) *exec.Cmd
	database *storetest.Database
}

func newCustomer(t *testing.T, g guide) *customer {
	t.Helper()
	database := storetest.New(t)
	server := programs.Serve(t, programs.Path(t, "petstore"), "PETSTORE_DATABASE_URL="+database.APIURL)
	staff := storetest.Open(t, database.URL, store.Options{})
	url := "http://" + startNginx(t, server.Addr) + "/v1"
	key := storetest.IssueKey(t, staff, unlimited("acme"))
	dir := t.TempDir()
	return &customer{t, dir, url, key, g.install(t, dir, url), database}
}

// run runs a program of the page, with these files there, and returns what it prints.
func (c *customer) run(program string, env ...string) string {
	c.t.Helper()
	cmd := c.command(program)
	cmd.Dir, cmd.Env = c.dir, append(append(cmd.Env, "PETSTORE_URL="+c.url), env...)
	out, err := cmd.CombinedOutput()
	assert.NoError(c.t, err, string(out))
	return string(out)
}

func (c *customer) write(name, text string) {
	c.t.Helper()
	assert.NoError(c.t, os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600))
}

// TestGuideCalls follows docs/clients.md in each language, through nginx: the package is installed
// as it says, and its ten calls print the same.
func TestGuideCalls(t *testing.T) {
	t.Parallel()
	const want = "available: Rex\nRex II is ordered: placed\norders: 1\nrequests a minute: 1000000\n" +
		"plan: free\nplan: pro\nplan: business\nplan: enterprise\nscope: write\n"
	for language, g := range guides {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			c := newCustomer(t, g)
			assert.Equal(t, c.run(g.printed(t, g.block)[0], "PETSTORE_API_KEY="+c.key), want)
		})
	}
}

// badRows is what a sync says of a repeated row, a new one that is bad, and a bad change.
var badRows = regexp.MustCompile(`^SKU-1: repeated\nSKU-X: .+\n0 added\nSKU-0: .+\n60 changed\n$`)

// TestGuideSync runs the nightly sync of docs/clients.md, night after night, past the end of the
// first key.
func TestGuideSync(t *testing.T) {
	t.Parallel()
	for language, g := range guides {
		if language == "Go" {
			continue // The page prints none.
		}
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			c := newCustomer(t, g)
			sync := g.printed(t, g.block)[1]
			// Every tenth has the name.
			animals := func(name string, n int, more ...[]string) {
				var text strings.Builder
				rows := csv.NewWriter(&text)
				assert.NoError(t, rows.Write([]string{"sku", "name", "category"}))
				for i := range n {
					row := []string{"SKU-" + strconv.Itoa(i), "Rex", "7"}
					if i%10 == 0 {
						row[1] = name
					}
					assert.NoError(t, rows.Write(row))
				}
				assert.NoError(t, rows.WriteAll(more))
				c.write("animals.csv", text.String())
			}
			c.write("petstore.key", c.key+"\n")
			animals("Tom", importedRows)
			assert.Equal(t, c.run(sync), "600 added\n0 changed\n", "the first night")
			assert.Equal(t, c.run(sync), "0 added\n0 changed\n", "the second night")
			animals("Max", importedRows+1)
			c.age("31 days")
			assert.Equal(t, c.run(sync), "the key is replaced\n1 added\n60 changed\n", "a month later")

			first, err := petstore.New(c.url, c.key)
			assert.NoError(t, err)
			_, err = first.RevokeKey(t.Context(), petstore.SelfKey, petstore.KeyRevocation{})
			assert.NoError(t, err, "the end of the first key")
			assert.Equal(t, c.run(sync), "0 added\n0 changed\n", "with the new key")
			animals("Moritz", importedRows+1, []string{"SKU-1", "Kim", "7"}, []string{"SKU-X", "Tim", "abc"})
			text, err := os.ReadFile(filepath.Join(c.dir, "animals.csv"))
			assert.NoError(t, err)
			c.write("animals.csv", strings.Replace(string(text), "SKU-0,Moritz", "SKU-0,", 1))
			said := c.run(sync)
			assert.True(t, badRows.MatchString(said), "with bad rows, and a bad change", said)
			info, err := os.Stat(filepath.Join(c.dir, "petstore.key"))
			assert.NoError(t, err)
			assert.Equal(t, info.Mode().Perm(), 0o600, "rights of the file with the key")
			_, err = os.Stat(filepath.Join(c.dir, "import.started"))
			assert.ErrorIs(t, err, os.ErrNotExist)
			table, err := os.ReadFile(filepath.Join(c.dir, "ids.csv"))
			assert.NoError(t, err)
			lines := slices.Sorted(strings.Lines(string(table)))
			assert.Equal(t, len(slices.Compact(lines)), importedRows+1, "rows of the table")
		})
	}
}

// age makes all keys older.
func (c *customer) age(by string) {
	c.t.Helper()
	db, err := sql.Open("postgres", c.database.URL)
	assert.NoError(c.t, err)
	defer db.Close()
	_, err = db.ExecContext(c.t.Context(), "update api_keys set created_at = created_at - $1::interval", by)
	assert.NoError(c.t, err)
}
