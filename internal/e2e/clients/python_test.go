package clients_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/storetest"
)

const (
	// python is the folder of the package. pythonTools has what pip and npm install for its tests.
	python      = "../../../clients/python"
	pythonTools = "../../../bin/python"
)

// pythonVersions are those that the package promises. make check runs its tests with each that is
// found, and checks its types for all.
var pythonVersions = []string{"3.10", "3.11", "3.12", "3.13"}

// variants reports whether to try each version of a language and a compiler. make check and make
// soak do, make test-all tries one.
func variants() bool { return os.Getenv("PETSTORE_SOAK") != "" }

// TestPythonClient runs all vectors and the package's own tests.
func TestPythonClient(t *testing.T) {
	t.Parallel()
	for version, interpreter := range pythons(t) {
		if version != toolsVersion(t) && !variants() {
			continue
		}
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			env := []string{"PYTHONPATH=src:" + pythonPackages(t, version)}
			args := strings.Fields("-s -m pytest -q -p no:cacheprovider tests")
			said := runPython(t, python, env, interpreter, args...)
			t.Logf("Python %s: %s", version, said[strings.LastIndexByte(said, '\n')+1:])
		})
	}
}

// TestPythonTypes holds the types of the package to the OpenAPI document, and to mypy for the oldest
// Python. Those of all variants are held to mypy and pyright for each version.
func TestPythonTypes(t *testing.T) {
	t.Parallel()
	venv := pythonToolsVenv(t)
	t.Run("document", func(t *testing.T) {
		t.Parallel()
		document, written := "../../api/openapi.yaml", filepath.Join(python, "src/petstore/_types.py")
		programs.Read(t, document)
		made := runPython(t, ".", nil, venv, filepath.Join(python, "scripts/generate.py"), document) + "\n"
		if os.Getenv("UPDATE_DOCS") != "" {
			assert.NoError(t, os.WriteFile(written, []byte(made), 0o644)) // #nosec G306 -- a source
		}
		stands, err := os.ReadFile(written)
		assert.NoError(t, err)
		assert.True(t, made == string(stands), written,
			"is not what scripts/generate.py makes of the document: run this test with UPDATE_DOCS=1")
	})
	printed := filepath.Join(t.TempDir(), "readme.py")
	assert.NoError(t, os.WriteFile(printed, bytes.Join(pythonBlocks(t), []byte("\n")), 0o600))
	files := []string{printed}
	for i, program := range guides["Python"].printed(t, "python") {
		printed := filepath.Join(t.TempDir(), fmt.Sprint("guide", i, ".py"))
		assert.NoError(t, os.WriteFile(printed, []byte(program), 0o600))
		files = append(files, printed)
	}
	checked := pythonVersions[:1]
	if variants() {
		checked = pythonVersions
	}
	for _, version := range checked {
		t.Run("mypy "+version, func(t *testing.T) {
			t.Parallel()
			cache := absolute(t, filepath.Join(pythonTools, "mypy-"+version))
			args := strings.Fields("-m mypy --strict --python-version " + version + " src tests scripts")
			runPython(t, python, nil, venv, append(append(args, files...), "--cache-dir", cache)...)
		})
	}
	if variants() {
		npmInstall(t, filepath.Join(python, "tests"))
		for _, version := range pythonVersions {
			t.Run("pyright "+version, func(t *testing.T) {
				t.Parallel()
				args := strings.Fields("--no-install pyright -p .. --pythonversion " + version + " --pythonpath")
				cmd := sandbox.Command(t, "npx", append(args, venv)...)
				cmd.Dir = filepath.Join(python, "tests")
				out, err := cmd.CombinedOutput()
				assert.NoError(t, err, string(out))
			})
		}
	}
}

// TestPythonPackage builds the wheel, holds the released one to it, installs it without an index
// into an empty environment, and runs the program of its README against a server.
func TestPythonPackage(t *testing.T) {
	t.Parallel()
	tools := pythonToolsVenv(t)
	dir := t.TempDir()
	runPython(t, python, nil, tools, "-m", "hatchling", "build", "-t", "wheel", "-d", dir)
	wheels, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	assert.NoError(t, err)
	assert.Equal(t, len(wheels), 1, "wheels")
	t.Log(runPython(t, dir, nil, tools, "-m", "twine", "check", "--strict", wheels[0]))
	released := filepath.Join(python, "../released", filepath.Base(wheels[0]))
	assert.DeepEqual(t, unzipped(t, released), unzipped(t, wheels[0]), "the released wheel (make clients)")

	runPython(t, dir, nil, tools, "-m", "venv", "--without-pip", "venv")
	installed := filepath.Join(dir, "venv/bin/python")
	args := []string{"--python", installed, "install", "--quiet", "--no-index", "--find-links", pythonWheels(t)}
	runPython(t, dir, nil, tools, append(append([]string{"-m", "pip"}, args...), wheels[0])...)

	database := storetest.New(t)
	server := programs.Serve(t, programs.Path(t, "petstore"), "PETSTORE_DATABASE_URL="+database.APIURL)
	staff := storetest.Open(t, database.URL, store.Options{})
	key := storetest.IssueKey(t, staff, tenancy.NewTenant{Name: "acme", Plan: plans.Pro})
	env := []string{"PETSTORE_URL=" + server.URL, "PETSTORE_API_KEY=" + key}
	said := runPython(t, dir, env, installed, "-c", string(pythonBlocks(t)[0]))
	if !regexp.MustCompile(`^1 created Pet\(.*\n?$`).MatchString(said) {
		t.Errorf("the program of the README says\n%s", said)
	}
	stored, err := os.ReadFile(filepath.Join(dir, "petstore.key"))
	assert.NoError(t, err)
	if len(stored) != len(key) || string(stored) == key {
		t.Error("the program of the README has stored no new key")
	}
}

// unzipped returns the content of each file of a wheel.
func unzipped(t *testing.T, wheel string) map[string]string {
	t.Helper()
	archive, err := zip.OpenReader(wheel)
	assert.NoError(t, err)
	defer archive.Close()
	files := map[string]string{}
	for _, f := range archive.File {
		content, err := f.Open()
		assert.NoError(t, err)
		text, err := io.ReadAll(content)
		assert.NoError(t, err)
		files[f.Name] = string(text)
	}
	return files
}

// pythonBlocks returns the programs of the README.
func pythonBlocks(t *testing.T) (blocks [][]byte) {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join(python, "README.md"))
	assert.NoError(t, err)
	for _, m := range regexp.MustCompile("(?s)```python\n(.*?)```").FindAllSubmatch(readme, -1) {
		blocks = append(blocks, m[1])
	}
	assert.Equal(t, len(blocks), 2, "programs of the README")
	return blocks
}

// pythons returns the interpreters of this machine, by version: those in PATH, and those that pyenv
// has beside its own.
func pythons(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, version := range pythonVersions {
		name := "python" + version
		for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
			candidates := []string{filepath.Join(dir, name)}
			if filepath.Base(dir) == "shims" {
				candidates, _ = filepath.Glob(filepath.Join(dir, "../versions", version+".*", "bin", name))
			}
			for _, candidate := range candidates {
				if sandbox.Command(t, candidate, "-c", "import ensurepip, venv").Run() == nil {
					found[version] = candidate
				}
			}
		}
	}
	if len(found) == 0 {
		t.Fatalf(
			"no Python of %v is found: install it with tools/install.sh python3 python3-venv, as make test does",
			pythonVersions,
		)
	}
	return found
}

var installing sync.Mutex

// pythonVenv returns the interpreter of a virtual environment with the packages of a lock file of
// the tests.
func pythonVenv(t *testing.T, version, lock string) string {
	t.Helper()
	interpreter := pythons(t)[version]
	dir := prepared(t, version+"-"+strings.TrimSuffix(lock, ".txt"), python+"/tests/"+lock, func(dir string) {
		runPython(t, ".", nil, interpreter, "-m", "venv", dir)
		runPython(t, python, nil, filepath.Join(dir, "bin", "python"), pip("install", lock)...)
	})
	return filepath.Join(dir, "bin", "python")
}

// prepared returns the folder of pythonTools with that name, which install fills. It does so again
// when the lock file has changed, or the Python that the folder names is gone.
func prepared(t *testing.T, name, lock string, install func(dir string)) string {
	t.Helper()
	installing.Lock()
	defer installing.Unlock()
	dir := absolute(t, filepath.Join(pythonTools, name))
	want, err := os.ReadFile(lock)
	assert.NoError(t, err)
	copied, interpreter := filepath.Join(dir, filepath.Base(lock)), filepath.Join(dir, "bin", "python")
	_, named := os.Lstat(interpreter)
	_, there := os.Stat(interpreter)
	if has, err := os.ReadFile(copied); err == nil && bytes.Equal(has, want) && (named != nil || there == nil) {
		return dir
	}
	assert.NoError(t, os.RemoveAll(dir))
	install(dir)
	assert.NoError(t, os.WriteFile(copied, want, 0o600))
	return dir
}

// pip returns the arguments for what a lock file names.
func pip(command, lock string, args ...string) []string {
	return append(strings.Fields("-m pip "+command+
		" --quiet --disable-pip-version-check --only-binary :all: --require-hashes -r tests/"+lock), args...)
}

// pythonWheels returns a folder with what the package needs.
func pythonWheels(t *testing.T) string {
	t.Helper()
	tools := pythonToolsVenv(t)
	return prepared(t, "wheels", python+"/tests/requirements.txt", func(dir string) {
		runPython(t, python, nil, tools, pip("download", "requirements.txt", "-d", dir)...)
	})
}

// pythonToolsVenv returns the interpreter with the tools that check and build the package, by the
// oldest Python that has all of them.
func pythonToolsVenv(t *testing.T) string {
	t.Helper()
	return pythonVenv(t, toolsVersion(t), "tools.txt")
}

func toolsVersion(t *testing.T) string {
	t.Helper()
	found := pythons(t)
	for _, version := range pythonVersions[1:] { // Python 3.10 misses some of them
		if _, ok := found[version]; ok {
			return version
		}
	}
	return pythonVersions[0]
}

// pythonPackages returns the folder with the packages that the tests need. All are written in
// Python, so newer versions share that of the tools. An older one needs more.
func pythonPackages(t *testing.T, version string) string {
	t.Helper()
	lock := "tools.txt"
	if version == pythonVersions[0] {
		lock = "requirements.txt"
	} else {
		version = toolsVersion(t)
	}
	return filepath.Join(pythonVenv(t, version, lock), "../../lib/python"+version+"/site-packages")
}

// runPython runs Python in a folder, and returns what it says.
func runPython(t *testing.T, dir string, env []string, interpreter string, args ...string) string {
	t.Helper()
	cmd := sandbox.Command(t, interpreter, args...)
	cmd.Dir, cmd.Env = dir, append(append(cmd.Env, "PYTHONDONTWRITEBYTECODE=1"), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", interpreter, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	assert.NoError(t, err)
	return path
}
