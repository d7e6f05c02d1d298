package catalogue

import (
	"errors"
	"testing"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/test/assert"
)

// When Postgres goes while requests are tried alone, nobody knows of the one that was sent. Those behind it certainly were not made.
func TestTryEach(t *testing.T) {
	t.Parallel()
	tried := 0
	outcomes := tryEach(make([]catalog.Outcome[int], 4), func(i int) (int, error) {
		tried++
		if i == 1 {
			return 0, pgconn.ErrUnavailable
		}
		return i, nil
	})
	assert.Equal(t, tried, 2, "tried")
	assert.NoError(t, outcomes[0].Err)
	for i, o := range outcomes[1:] {
		assert.ErrorIs(t, o.Err, pgconn.ErrUnavailable, i)
		assert.Equal(t, errors.Is(o.Err, catalog.ErrNotMade), i > 0, "certain", i)
	}
}
