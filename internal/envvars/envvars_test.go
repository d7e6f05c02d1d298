package envvars

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"petstore.example/internal/test/assert"
	_ "petstore.example/internal/test/sandbox"
)

func TestUnknown(t *testing.T) {
	t.Parallel()
	for variable, want := range map[string]string{
		"PETSTORE_DATABSE_URL=x":           "PETSTORE_DATABASE_URL",
		"PETSTORE_DATABASE_URI=x":          "PETSTORE_DATABASE_URL",
		"PETSTORE_DATABASE=x":              "PETSTORE_DATABASE_URL",
		"PETSTORE_database_url=x":          "PETSTORE_DATABASE_URL",
		"PETSTORE_DATABASE_URL_FIEL=x":     "PETSTORE_DATABASE_URL_FILE",
		"PETSTORE_DATABASE_FILE=x":         "PETSTORE_DATABASE_URL_FILE",
		"PETSTORE_REDIS=":                  "PETSTORE_REDIS_URL",
		"PETSTORE_ADDRSS_LIMIT=1":          "PETSTORE_ADDRESS_LIMIT",
		"PETSTORE_TRUSTED_PROXY=10.0.0.1":  "PETSTORE_TRUSTED_PROXIES",
		"PETSTORE_ADDRESS=:80":             "PETSTORE_ADDR",
		"PETSTORE_ADDRSS=:80":              "PETSTORE_ADDR",
		"PETSTORE_ADMINADDR=:80":           "PETSTORE_ADMIN_ADDR",
		"PETSTORE_ENV=staging":             "PETSTORE_ENVIRONMENT",
		"PETSTORE_SOAK=1":                  "",
		"PETSTORE_PORT=8080":               "",
		"PETSTORE_=":                       "",
		"PETSTORE_SERVICE_TIMEOUT=tcp://x": "PETSTORE_REDIS_TIMEOUT",
	} {
		name, _, _ := strings.Cut(variable, "=")
		sentence := name + " is no variable of petstore"
		if want != "" {
			sentence += ": did you mean " + want + "?"
		}
		assert.DeepEqual(t, Unknown([]string{"HOME=/", variable}), []string{sentence}, variable)
	}
}

// What is known, of others, or set by Kubernetes for a service named petstore, petstore-2 or
// petstore-redis.
func TestKnown(t *testing.T) {
	t.Parallel()
	environ := []string{
		"PATH=/bin",
		"PETSTORE=1",
		"XPETSTORE_DATABSE_URL=x",
		"PETSTORE_DATABASE_URL=x",
		"PETSTORE_ACTOR=jo",
		"PETSTORE_API_KEY=x",
		"PETSTORE_STOP_TIMEOUT=",
		"PETSTORE_SERVICE_HOST=10.0.0.1",
		"PETSTORE_SERVICE_PORT=80",
		"PETSTORE_SERVICE_PORT_HTTP=80",
		"PETSTORE_PORT=tcp://10.0.0.1:80",
		"PETSTORE_PORT_80_TCP=tcp://10.0.0.1:80",
		"PETSTORE_PORT_80_TCP_PROTO=tcp",
		"PETSTORE_PORT_80_TCP_PORT=80",
		"PETSTORE_PORT_80_TCP_ADDR=10.0.0.1",
		"PETSTORE_2_SERVICE_HOST=10.0.0.1",
		"PETSTORE_REDIS_PORT=tcp://10.0.0.1:6379",
		"PETSTORE_REDIS_PORT_6379_TCP_ADDR=10.0.0.1",
	}
	for _, name := range Names() {
		environ = append(environ, name+"=x")
	}
	got := Unknown(environ)
	assert.True(t, len(got) == 0, "refused", got)
}

func TestReadSecret(t *testing.T) {
	t.Parallel()
	const variable, value = "PETSTORE_DATABASE_URL", "postgres://jo:hunter2@db/petstore"
	dir := t.TempDir()
	file := func(content string, mode os.FileMode) string {
		path := filepath.Join(dir, "secret")
		_ = os.Remove(path)
		assert.NoError(t, os.WriteFile(path, []byte(content), mode))
		return path
	}
	for _, test := range []struct {
		name, value, content string
		mode                 os.FileMode
		path                 string // in place of a file
		want, warning, error string
	}{
		{name: "neither"},
		{name: "value", value: value, want: value},
		{name: "file", content: value, mode: 0o600, want: value},
		{name: "newline", content: value + "\n", mode: 0o640, want: value},
		{name: "newline of Windows", content: value + "\r\n", mode: 0o400, want: value},
		{name: "open to others", content: value, mode: 0o644, want: value,
			warning: "every user of this machine can read "},
		{name: "both", value: value, content: value, mode: 0o600,
			error: "PETSTORE_DATABASE_URL and PETSTORE_DATABASE_URL_FILE are both set"},
		{name: "empty", content: "\n", mode: 0o600, error: " is empty"},
		{name: "blanks around", content: "\ufeff\n " + value + "\n\n", mode: 0o600, want: value},
		{name: "two lines", content: value + "\n\n" + value, mode: 0o600, error: " has more than one line"},
		{name: "UTF-16", content: "\xff\xfep\x00o\x00", mode: 0o600, error: " is UTF-16: save it as UTF-8"},
		{name: "UTF-16 without its mark", content: "\x00p\x00o", mode: 0o600, error: " is UTF-16: save it as UTF-8"},
		{name: "NUL", content: value + "\x00", mode: 0o600, error: " is not UTF-8 text"},
		{name: "Latin-1", content: "\xe4" + value, mode: 0o600, error: " is not UTF-8 text"},
		{name: "a value with blanks around", value: "\ufeff" + value + "\r\n", want: value},
		{name: "blanks", value: " \n", error: "PETSTORE_DATABASE_URL has only blanks"},
		{name: "a text without a scheme", path: "jo:hunter2@db/petstore", error: "_FILE has the value itself"},
		{name: "large", content: strings.Repeat(value, 4000), mode: 0o600, error: " is too large"},
		{name: "no file", path: filepath.Join(dir, "none"), error: "no such file"},
		{name: "folder", path: dir, error: "is a directory"},
		{name: "words", path: "host=db password=hunter2", error: "PETSTORE_DATABASE_URL_FILE has the value itself"},
		{name: "a URL", path: value, error: "PETSTORE_DATABASE_URL_FILE has the value itself: want the name of a file"},
	} {
		path := test.path
		if test.content != "" {
			path = file(test.content, test.mode)
		}
		got, err := ReadSecret(func(name string) string {
			return map[string]string{variable: test.value, variable + "_FILE": path}[name]
		}, variable)
		if got.Value != test.want || (test.warning == "") != (got.Warning == "") ||
			!strings.Contains(got.Warning, test.warning) {
			t.Errorf("%s: %+v, want %q, warning %q", test.name, got, test.want, test.warning)
		}
		if (err == nil) != (test.error == "") || err != nil && !strings.Contains(err.Error(), test.error) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.error)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") || strings.Contains(got.Warning, "hunter2") {
			t.Errorf("%s: a secret in %v, %q", test.name, err, got.Warning)
		}
		if setBy := variable + map[bool]string{true: FileSuffix}[path != ""]; err == nil && got.SetBy != setBy {
			t.Errorf("%s: set by %s, want %s", test.name, got.SetBy, setBy)
		}
	}
}
