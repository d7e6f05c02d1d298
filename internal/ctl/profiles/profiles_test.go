package profiles_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/ctl/profiles"
	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	_ "petstore.example/internal/test/sandbox"
)

var (
	target = store.Target{Host: "db.example", Port: 5432, Database: "pet:store", Login: `al\ice`}
	// written is what a person wrote.
	written = "# mine\n[shop]\nhost=shop.example\n\n# another\n[petstore2]\nhost=x\n"
	wild    = "*:*:*:*:guess"
)

func must(t *testing.T, errs ...error) {
	t.Helper()
	assert.NoError(t, errors.Join(errs...))
}

// home makes a folder the one of libpq's files, with these texts.
func home(t *testing.T, services, passwords string) (service, pass string) {
	t.Helper()
	dir := t.TempDir()
	service, pass = filepath.Join(dir, "services"), filepath.Join(dir, "passwords")
	t.Setenv("PGSERVICEFILE", service)
	t.Setenv("PGPASSFILE", pass)
	for path, text := range map[string]string{service: services, pass: passwords} {
		if text != "" {
			must(t, os.WriteFile(path, []byte(text), 0o644))
		}
	}
	must(t, os.Chmod(dir, 0o700))
	return service, pass
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

// TestPutAndRemove: what a person wrote stays, and comes after our line of .pgpass.
func TestPutAndRemove(t *testing.T) {
	for name, texts := range map[string][2]string{"empty": {}, "with others": {written, wild}} {
		t.Run(name, func(t *testing.T) {
			service, pass := home(t, texts[0], texts[1])
			p := profiles.Profile{Name: profiles.Default, Own: true, Settings: []string{"host=old"}}
			must(t, profiles.Put(p, target, "old"))
			p.Settings, p.ExpiresAt = []string{
				"host=db.example",
				"sslmode=verify-full",
			}, time.Date(
				2027,
				2,
				18,
				10,
				30,
				0,
				123456000,
				time.UTC,
			)
			must(t, profiles.Put(p, target, `s3:cr\et`))
			got, err := profiles.Get(profiles.Default)
			assert.Result(t, got, err, p)
			if got := content(
				t,
				pass,
			); !strings.HasPrefix(got, `db.example:5432:pet\:store:al\\ice:s3\:cr\\et`+"\n"+texts[1]) ||
				strings.Contains(got, "old") {
				t.Errorf(".pgpass: %q", got)
			}
			if got := content(
				t,
				service,
			); !strings.HasPrefix(got, texts[0]) || strings.Contains(got, "old") || strings.Contains(got, "et\n[") ||
				strings.Contains(got, "s3") {
				t.Errorf("pg_service.conf: %q", got)
			}
			for _, path := range []string{service, pass} {
				if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s: %v, %v", path, info.Mode(), err)
				}
			}
			must(t, profiles.Remove(profiles.Default, target))
			assert.ErrorIs(t, profiles.Remove(profiles.Default, target), profiles.ErrNotFound, "again")
			if s, p := strings.TrimSpace(content(t, service)), strings.TrimSpace(
				content(t, pass),
			); s != strings.TrimSpace(texts[0]) ||
				p != texts[1] {
				t.Errorf("at last %q and %q", s, p)
			}
		})
	}
}

// TestServicesOfOthers: a service that a person wrote is a profile, and is not replaced or removed.
func TestServicesOfOthers(t *testing.T) {
	service, pass := home(t, written, wild)
	list, err := profiles.List()
	want := []profiles.Profile{
		{Name: "shop", Settings: []string{"host=shop.example"}},
		{Name: "petstore2", Settings: []string{"host=x"}},
	}
	assert.Result(t, list, err, want)
	for what, err := range map[string]error{"put": profiles.Put(profiles.Profile{Name: "shop"}, target, "x"),
		"remove": profiles.Remove("shop", target)} {
		assert.ErrorIs(t, err, profiles.ErrNotOwn, what)
	}
	assert.Equal(t, content(t, service), written, "changed")
	assert.Equal(t, content(t, pass), wild, "changed")
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]profiles.Environment{"production": "production", "staging-eu": "staging",
		"development": "development", "petstore": ""} {
		assert.Equal(t, (profiles.Profile{Name: name}).Environment(), want, name)
	}
}

// TestUntrusted: what another user could have written is neither read nor written.
func TestUntrusted(t *testing.T) {
	for name, mode := range map[string]os.FileMode{"services": 0o666, "passwords": 0o620, ".": 0o777} {
		t.Run(name, func(t *testing.T) {
			service, _ := home(t, written, wild)
			must(t, os.Chmod(filepath.Join(filepath.Dir(service), name), mode))
			err := profiles.Put(profiles.Profile{Name: "new"}, target, "x")
			if err == nil || !strings.Contains(err.Error(), "is not trusted: it can be written to by other users") {
				t.Error(err)
			}
			if strings.Contains(content(t, filepath.Join(filepath.Dir(service), "passwords")), "db.example") {
				t.Error("the secret was stored")
			}
		})
	}
}
