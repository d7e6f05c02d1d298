package cputime

import (
	"os"
	"testing"
	"time"

	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/wait"
)

func TestParse(t *testing.T) {
	t.Parallel()
	const stat = "4711 (a) b (c) S 12 4711 4711 0 -1 4194560 901 7 0 0 150 50 20 10 20 0 11 0 12345 1 2 3"
	got, err := parse(stat)
	want := process{pid: 4711, parent: 12, used: 2300 * time.Millisecond}
	if err != nil || got != want {
		t.Errorf("parse = %+v, %v, want %+v", got, err, want)
	}
	for _, bad := range []string{"", "1 x 2", "1 (x) S 2 3", "x (y) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15"} {
		if _, err := parse(bad); err == nil {
			t.Errorf("parse(%q) has no error", bad)
		}
	}
}

// A child's CPU time counts for its parent while the child runs and after it was waited for.
func TestOfTreesCountsChildren(t *testing.T) {
	t.Parallel()
	before := read(t)
	busy := sandbox.Command(t, "sh", "-c", "while :; do :; done")
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the time of the running child", func() bool { return read(t) >= before+100*time.Millisecond })
	_ = busy.Process.Kill()
	_ = busy.Wait()
	if got := read(t); got < before+100*time.Millisecond {
		t.Errorf("after the child's end %v were used, want at least %v", got, before+100*time.Millisecond)
	}
	all, err := OfMachine()
	if err != nil || all < read(t) {
		t.Errorf("OfMachine = %v, %v, want at least what this process used", all, err)
	}
}

func TestOfTreesNamesWhatIsGone(t *testing.T) {
	t.Parallel()
	const none = 1 << 30
	if _, err := OfTrees(os.Getpid(), none); err == nil {
		t.Error("no error for a process that is not there")
	}
}

func read(t *testing.T) time.Duration {
	t.Helper()
	used, err := OfTree(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return used
}
