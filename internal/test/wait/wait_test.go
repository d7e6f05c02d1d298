package wait_test

import (
	"fmt"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/wait"
)

// record is a test that notes how it ended.
type record struct {
	testing.TB
	name           string
	failed, logged string
}

func (r *record) Helper()                      {}
func (r *record) Name() string                 { return r.name }
func (r *record) Log(args ...any)              { r.logged = fmt.Sprint(args...) }
func (r *record) Error(args ...any)            { r.failed = fmt.Sprint(args...) }
func (r *record) Fatalf(f string, args ...any) { panic(fmt.Sprintf(f, args...)) }

// TestBound: a time over the limit fails the test only where promised times are checked.
func TestBound(t *testing.T) {
	for checked, want := range map[string]string{
		"":  "",
		"1": "a look-up: 401ms; the bound is 400ms",
	} {
		t.Setenv("PETSTORE_BOUNDS", checked)
		r := &record{name: "TestBound/sub"}
		wait.Bound(r, "a look-up", 400*time.Millisecond, 400*time.Millisecond)
		assert.Equal(t, r.failed, "", "at the limit")
		assert.Equal(t, r.logged, "a look-up: 400ms; the bound is 400ms")
		func() { wait.Bound(r, "a look-up", 401*time.Millisecond, 400*time.Millisecond) }()
		assert.Equal(t, r.failed, want, "over the limit, checked:", checked)
	}
}

// TestBoundIsFound: make soak finds the tests with bounds by their text, so none may stand in a
// helper.
func TestBoundIsFound(t *testing.T) {
	t.Parallel()
	defer func() {
		assert.Contains(t, fmt.Sprint(recover()), "call it in TestBoundIsFound itself")
	}()
	helper(&record{name: "TestBoundIsFound"})
}

func helper(t testing.TB) { wait.Bound(t, "anything", 0, 0) }
