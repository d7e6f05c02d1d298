//go:build linux

package running_test

import (
	"bytes"
	"database/sql"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/lib/pq"

	"petstore.example/internal/e2e/programs"
	"petstore.example/internal/store/storetest"
	"petstore.example/internal/test/sandbox"
)

// release is the programs of one version. The present one's commit is empty.
type release struct{ petstore, petstorectl, commit string }

func current(t testing.TB) release {
	t.Helper()
	return release{programs.Path(t, "petstore"), programs.Path(t, "petstorectl"), ""}
}

// lastRelease builds the programs of the commit in testdata/last-release.
func lastRelease(t testing.TB) release {
	t.Helper()
	commit := strings.TrimSpace(programs.Read(t, "testdata/last-release"))
	source, dir := t.TempDir(), t.TempDir()
	unpack := sandbox.Command(t, "tar", "-x", "-C", source)
	unpack.Stdin = archive(t, commit)
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("unpack the last release: %v\n%s", err, out)
	}
	if err := programs.Build(source, dir, "./cmd/petstore", "./cmd/petstorectl"); err != nil {
		t.Fatalf("commit %s: %v", commit, err)
	}
	return release{filepath.Join(dir, "petstore"), filepath.Join(dir, "petstorectl"), commit}
}

// archive returns the source of a commit as a tar archive. A clone that does not have it, or a folder that is no clone, has no last release.
func archive(t testing.TB, commit string) io.Reader {
	t.Helper()
	cmd := sandbox.Command(t, "git", "archive", commit)
	cmd.Dir = "../../.."
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages
	if err := cmd.Run(); err != nil {
		t.Fatalf("the source of the last release, commit %s, is not in this folder: use a clone, and in a shallow one: git fetch --unshallow (%v: %s)",
			commit, err, strings.TrimSpace(messages.String()))
	}
	return &out
}

// ctl runs petstorectl of a release on a database, and returns what it prints.
func (r release) ctl(t testing.TB, databaseURL string, args ...string) string {
	t.Helper()
	cmd := sandbox.Command(t, r.petstorectl, args...)
	cmd.Env = append(cmd.Env, "PETSTORE_ACTOR=e2e", "PETSTORE_DATABASE_URL="+databaseURL)
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages
	if err := cmd.Run(); err != nil {
		t.Fatalf("petstorectl %s: %v: %s", strings.Join(args, " "), err, messages.String())
	}
	return strings.TrimSpace(out.String())
}

// emptyDatabase makes a database without tables in a cluster that has the roles.
func emptyDatabase(t testing.TB) *storetest.Database {
	t.Helper()
	cluster := storetest.New(t).URL
	admin, err := sql.Open("postgres", cluster)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admin.Close() })
	const name = "empty"
	if _, err := admin.ExecContext(t.Context(), "create database "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := admin.Exec("drop database " + name + " with (force)"); err != nil {
			t.Error(err)
		}
	})
	u, err := url.Parse(cluster)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	owner := u.String()
	return &storetest.Database{URL: owner, APIURL: storetest.AsServer(t, owner), SupportURL: storetest.As(t, owner, storetest.SupportLogin),
		BillingURL: storetest.As(t, owner, storetest.BillingLogin)}
}
