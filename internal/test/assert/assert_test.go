package assert_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"petstore.example/internal/test/assert"
)

// record is a test that keeps what is said of it.
type record struct {
	testing.TB
	said string
}

func (r *record) Helper() {}

func (r *record) Error(args ...any) { r.said = fmt.Sprintln(args...) }

func (r *record) Errorf(format string, args ...any) { r.said = fmt.Sprintf(format, args...) }

func (r *record) Fatalf(format string, args ...any) { r.said = "ends: " + fmt.Sprintf(format, args...) }

func TestAssertions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		check func(*record)
		says  string
	}{
		"no error":   {func(r *record) { assert.NoError(r, nil, "read", 7) }, ""},
		"an error":   {func(r *record) { assert.NoError(r, io.EOF, "read", 7) }, "ends: read 7: EOF"},
		"true":       {func(r *record) { assert.True(r, true, "no", 7) }, ""},
		"not true":   {func(r *record) { assert.True(r, false, "no", 7) }, "no 7"},
		"is":         {func(r *record) { assert.ErrorIs(r, fmt.Errorf("read: %w", io.EOF), io.EOF) }, ""},
		"is not":     {func(r *record) { assert.ErrorIs(r, errors.New("x"), io.EOF) }, "error x, want EOF"},
		"equal":      {func(r *record) { assert.Equal(r, 1, 1) }, ""},
		"other":      {func(r *record) { assert.Equal(r, 1, 2, "rows of", []byte("acme")) }, "rows of acme: 1, want 2"},
		"other text": {func(r *record) { assert.Equal(r, "a ", "a") }, `"a ", want "a"`},
		"deep":       {func(r *record) { assert.DeepEqual(r, []int{1}, []int{1}) }, ""},
		"not deep":   {func(r *record) { assert.DeepEqual(r, []int{1}, []int{2}, "IDs") }, "IDs: -want +got:"},
		"result":     {func(r *record) { assert.Result(r, []int{1}, nil, []int{1}) }, ""},
		"no result": {func(r *record) { assert.Result(r, []int{1}, io.EOF, []int{1}, "IDs") },
			"IDs: error EOF, -want +got:"},
		"another":    {func(r *record) { assert.Result(r, []int{1}, nil, []int{2}) }, "error <nil>, -want +got:"},
		"within":     {func(r *record) { assert.Contains(r, "abc", "b") }, ""},
		"not within": {func(r *record) { assert.Contains(r, "abc", "d") }, `"abc", want "d" in it`},
	} {
		r := record{TB: t}
		if c.check(&r); !strings.HasPrefix(r.said, c.says) || (r.said == "") != (c.says == "") {
			t.Errorf("%s: %q, want %q", name, r.said, c.says)
		}
	}
}
