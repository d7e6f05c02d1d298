//go:build unix

package localpg

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSweepTakesWhatTheKilledLeft(t *testing.T) {
	t.Parallel()
	a, err := accountFor("")
	if err != nil {
		t.Fatal(err)
	}
	parent := folder(t)
	makeOne := func(age time.Duration) (dir string, remove func()) {
		dir, remove, err := tempDirIn(parent, a)
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
		kept := dir + "-kept"
		if err := os.Rename(dir, kept); err != nil { // remove frees the lock and finds nothing to remove
			t.Fatal(err)
		}
		remove()
		return kept
	}
	old, young := leave(time.Hour), leave(0)

	sweep(parent)
	got := map[string]bool{}
	for _, dir := range []string{used, old, young} {
		_, err := os.Stat(dir)
		got[dir] = err == nil
	}
	if diff := cmp.Diff(map[string]bool{used: true, old: false, young: true}, got); diff != "" {
		t.Errorf("which are left: %s", diff)
	}
}
