package cputime

import (
	"os"
	"testing"
	"time"

	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/wait"
)

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
	if _, _, err := OfTrees(nil, os.Getpid(), none); err == nil {
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
