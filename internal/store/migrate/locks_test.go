package migrate_test

import (
	"io/fs"
	"strings"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/migrations"
)

// TestDropIndexComesLast: it blocks whoever reads the table until the migration ends, so no index
// is made after it.
func TestDropIndexComesLast(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(migrations.FS, "*.sql")
	assert.NoError(t, err)
	for _, name := range names {
		text, err := fs.ReadFile(migrations.FS, name)
		assert.NoError(t, err)
		_, after, _ := strings.Cut("\n"+string(text), "\ndrop index")
		if strings.Contains(after, "create index") {
			t.Errorf("%s makes an index after it has dropped one", name)
		}
	}
}
