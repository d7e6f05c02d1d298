package structure_test

import (
	"fmt"
	"io/fs"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/migrations"
)

// TestMigrationsAreNumbered: one after the other without a gap, each with a way back. Two of one
// number stop every program.
func TestMigrationsAreNumbered(t *testing.T) {
	t.Parallel()
	all, err := fs.Glob(migrations.FS, "*.sql")
	assert.NoError(t, err)
	for number := 1; number <= (len(all)+1)/2; number++ {
		names, err := fs.Glob(migrations.FS, fmt.Sprintf("%04d_*.sql", number))
		assert.Result(t, len(names), err, 2, "migration", number, "has the files", names)
	}
}
