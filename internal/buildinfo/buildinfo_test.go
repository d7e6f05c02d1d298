package buildinfo

import (
	"runtime"
	"testing"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for want, i := range map[string]Info{
		"petstore v1.2.3 (go1.26)":               {Version: "v1.2.3", Go: "go1.26"},
		"petstore v1.2.3 (0123456789ab, go1.26)": {Version: "v1.2.3", Commit: "0123456789abcdef", Go: "go1.26"},
	} {
		if got := i.Line("petstore"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A test has no version of its own.
func TestRead(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{"": "(devel)", "v1.2.3": "v1.2.3"} {
		if got := Read(version); got.Version != want || got.Go != runtime.Version() {
			t.Errorf("%+v, want the version %s", got, want)
		}
	}
}
