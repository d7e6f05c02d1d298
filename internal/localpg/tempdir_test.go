//go:build unix

package localpg

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestTempDirInMemory: where memory has room the directory is there, and elsewhere it is on a disk.
func TestTempDirInMemory(t *testing.T) {
	t.Parallel()
	want := append(roomyMemory(), os.TempDir())[0]
	dir, remove, err := TempDir(true)
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	if got := filepath.Dir(dir); got != want {
		t.Errorf("the directory is in %s, want %s", got, want)
	}
}

func TestRemoveStale(t *testing.T) {
	t.Parallel()
	u, err := userFor("")
	if err != nil {
		t.Fatal(err)
	}
	parent := tempDir(t)
	makeOne := func(age time.Duration) (dir string, remove func()) {
		dir, remove, err := tempDirIn(parent, u)
		if err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(dir, then, then); err != nil {
			t.Fatal(err)
		}
		return dir, remove
	}
	used, remove := makeOne(time.Hour)
	defer remove()
	leave := func(age time.Duration) string {
		dir, remove := makeOne(age)
		moved := dir + "-moved"
		if err := os.Rename(dir, moved); err != nil { // remove unlocks it and finds nothing to remove
			t.Fatal(err)
		}
		remove()
		return moved
	}
	old, young := leave(time.Hour), leave(0)

	removeStale(parent)
	got := map[string]bool{}
	for _, dir := range []string{used, old, young} {
		_, err := os.Stat(dir)
		got[dir] = err == nil
	}
	if diff := cmp.Diff(map[string]bool{used: true, old: false, young: true}, got); diff != "" {
		t.Errorf("directories that are left: %s", diff)
	}
}
