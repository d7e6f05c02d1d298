package structure_test

import (
	"fmt"
	"io/fs"
	"testing"

	"petstore.example/migrations"
)

// TestMigrationsAreNumbered: one after the other without a gap, each with a way back. Two of one number stop every program.
func TestMigrationsAreNumbered(t *testing.T) {
	t.Parallel()
	all, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for number := 1; number <= (len(all)+1)/2; number++ {
		names, err := fs.Glob(migrations.FS, fmt.Sprintf("%04d_*.sql", number))
		if err != nil || len(names) != 2 {
			t.Errorf("migration %d has the files %q (%v), want one up and one down", number, names, err)
		}
	}
}
