//go:build linux

package running_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/lib/pq"

	"petstore.example/internal/e2e/programs"
	"petstore.example/internal/store/storetest"
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
	var archive bytes.Buffer
	if err := git(&archive, commit); err != nil {
		t.Fatal(err)
	}
	unpack := exec.CommandContext(t.Context(), "tar", "-x", "-C", source)
	unpack.Stdin = &archive
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("unpack the last release: %v\n%s", err, out)
	}
	if err := programs.Build(source, dir, "./cmd/petstore", "./cmd/petstorectl"); err != nil {
		t.Fatalf("commit %s: %v", commit, err)
	}
	return release{filepath.Join(dir, "petstore"), filepath.Join(dir, "petstorectl"), commit}
}

// git writes the source of a commit, as a tar archive. A shallow clone fetches the commit first.
func git(archive *bytes.Buffer, commit string) error {
	if exec.Command("git", "cat-file", "-e", commit+"^{commit}").Run() != nil {
		if exec.Command("git", "fetch", "--quiet", "origin", commit).Run() != nil && exec.Command("git", "fetch", "--quiet", "--unshallow").Run() != nil {
			return fmt.Errorf("commit %s, the last release, is not in this clone and cannot be fetched: run git fetch --unshallow", commit)
		}
	}
	top, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return fmt.Errorf("find the repository: %w", err)
	}
	cmd := exec.Command("git", "archive", commit)
	cmd.Dir, cmd.Stdout = strings.TrimSpace(string(top)), archive
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("git archive %s: %w", commit, err)
	}
	return nil
}

// ctl runs petstorectl of a release on a database, and returns what it prints.
func (r release) ctl(t testing.TB, databaseURL string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), r.petstorectl, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "PETSTORE_ACTOR=e2e", "PETSTORE_DATABASE_URL=" + databaseURL}
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
