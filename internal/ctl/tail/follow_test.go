package tail

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	_ "petstore.example/internal/test/sandbox" // the environment of the tests
)

func TestOutageIsSaidOnce(t *testing.T) {
	t.Parallel()
	said := 0
	f := &follower{say: func(string, ...any) { said++ }}
	down := fmt.Errorf("list: %w", store.ErrUnavailable)
	for i, err := range []error{nil, down, down, nil, down} {
		got := f.outage(err, false)
		assert.True(t, got == nil, "poll", i, got)
	}
	assert.Equal(t, said, 2, "said times")
	if !errors.Is(f.outage(down, true), store.ErrUnavailable) ||
		!errors.Is(f.outage(context.Canceled, false), context.Canceled) {
		t.Error("the last poll, or another error, does not end it")
	}
}
