//go:build linux

package running_test

import (
	"bytes"
	"database/sql"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/lib/pq"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/storetest"
)

// release is the programs of one version. The present one's commit is empty.
type release struct{ petstore, petstorectl, commit string }

func current(t testing.TB) release {
	t.Helper()
	return release{programs.Path(t, "petstore"), programs.Path(t, "petstorectl"), ""}
}

// lastRelease builds the programs of the commit in testdata/last-release, of the sources beside it.
func lastRelease(t testing.TB) release {
	t.Helper()
	commit := strings.TrimSpace(programs.Read(t, "testdata/last-release"))
	archive, err := filepath.Abs("testdata/last-release.tar.gz")
	assert.NoError(t, err)
	unpack, dir := sandbox.Command(t, "tar", "-xzf", archive), t.TempDir()
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("unpack the last release: %v\n%s", err, out)
	}
	assert.NoError(t, programs.Build(unpack.Dir, dir, "./cmd/petstore", "./cmd/petstorectl"), "commit", commit)
	return release{filepath.Join(dir, "petstore"), filepath.Join(dir, "petstorectl"), commit}
}

// ctl runs petstorectl of a release on a database, and returns what it prints.
func (r release) ctl(t testing.TB, databaseURL string, args ...string) string {
	t.Helper()
	printed, said, err := r.try(t, databaseURL, args...)
	if err != nil {
		t.Fatalf("petstorectl %s: %v: %s", strings.Join(args, " "), err, said)
	}
	return printed
}

// try is ctl for a command that may fail. said is what it says on stderr.
func (r release) try(t testing.TB, databaseURL string, args ...string) (printed, said string, err error) {
	t.Helper()
	cmd := sandbox.Command(t, r.petstorectl, args...)
	cmd.Env = append(cmd.Env, "PETSTORE_ACTOR=e2e", "PETSTORE_DATABASE_URL="+databaseURL)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return strings.TrimSpace(out.String()), errs.String(), err
}

// emptyDatabase makes a database without tables in a cluster that has the roles.
func emptyDatabase(t testing.TB) *storetest.Database {
	t.Helper()
	cluster := storetest.New(t).URL
	admin, err := sql.Open("postgres", cluster)
	assert.NoError(t, err)
	t.Cleanup(func() { _ = admin.Close() })
	const name = "empty"
	_, err = admin.ExecContext(t.Context(), "create database "+name)
	assert.NoError(t, err)
	t.Cleanup(func() {
		_, err := admin.Exec("drop database " + name + " with (force)")
		assert.Equal(t, err, nil)
	})
	u, err := url.Parse(cluster)
	assert.NoError(t, err)
	u.Path = "/" + name
	owner := u.String()
	return &storetest.Database{
		URL:        owner,
		APIURL:     storetest.As(t, owner, storetest.APILogin),
		SupportURL: storetest.As(t, owner, storetest.SupportLogin),
		BillingURL: storetest.As(t, owner, storetest.BillingLogin),
	}
}
