package cputime

import (
	"os"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/wait"
)

// A child's CPU time counts for its parent while the child runs and after it was waited for, unless
// it is skipped.
func TestOfCountsChildren(t *testing.T) {
	t.Parallel()
	before := read(t, nil)
	busy := sandbox.Command(t, "sh", "-c", "while :; do :; done")
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the time of the running child", func() bool {
		all := read(t, nil)
		own := read(t, func(line string) bool { return strings.HasPrefix(line, "sh -c while") })
		return all-own >= 100*time.Millisecond
	})
	_ = busy.Process.Kill()
	_ = busy.Wait()
	if got := read(t, nil); got < before+100*time.Millisecond {
		t.Errorf("after the child's end %v were used, want at least %v", got, before+100*time.Millisecond)
	}
}

func TestOfNamesWhatIsGone(t *testing.T) {
	t.Parallel()
	const none = 1 << 30
	if _, err := Of(none, nil); err == nil {
		t.Error("no error for a process that is not there")
	}
}

func read(t *testing.T, skip func(string) bool) time.Duration {
	t.Helper()
	used, err := Of(os.Getpid(), skip)
	if err != nil {
		t.Fatal(err)
	}
	return used
}
