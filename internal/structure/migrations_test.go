package structure_test

import (
	"fmt"
	"io/fs"
	"testing"

	"petstore.example/migrations"
)

// TestMigrationsAreNumbered: one after the other, each with a way back. Two of one number stop every program.
func TestMigrationsAreNumbered(t *testing.T) {
	t.Parallel()
	for number := 1; ; number++ {
		names, err := fs.Glob(migrations.FS, fmt.Sprintf("%04d_*.sql", number))
		if err != nil {
			t.Fatal(err)
		}
		switch later, err := fs.Glob(migrations.FS, fmt.Sprintf("%04d_*.sql", number+1)); {
		case err != nil:
			t.Fatal(err)
		case len(names) == 0 && len(later) == 0:
			return
		case len(names) != 2:
			t.Errorf("migration %d has the files %q, want one up and one down", number, names)
		}
	}
}
