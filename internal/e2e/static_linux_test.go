package e2e_test

import (
	"debug/elf"
	"slices"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
)

// TestProgramsAreStatic: what make build makes needs no library of the system, so it runs in an
// empty container and on every distribution. The race detector needs one.
func TestProgramsAreStatic(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"petstore", "petstorectl"} {
		f, err := elf.Open(program(t, name))
		assert.NoError(t, err)
		dynamic := slices.ContainsFunc(
			f.Progs,
			func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC },
		)
		assert.Equal(t, dynamic, programs.UnderRace(), name, "is linked dynamically")
		_ = f.Close()
	}
}
