// Package assert has what most tests end with. What follows the values says what they are, and
// begins the message.
package assert

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// NoError ends the test if there is an error. The other functions let it go on.
func NoError(t testing.TB, err error, what ...any) {
	if err != nil {
		t.Helper()
		t.Fatalf("%s%v", about(what), err)
	}
}

// True fails the test with these words unless it is so.
func True(t testing.TB, ok bool, what ...any) {
	if !ok {
		t.Helper()
		t.Error(what...)
	}
}

// ErrorIs wants an error that is target, as errors.Is has it.
func ErrorIs(t testing.TB, err, target error, what ...any) {
	if !errors.Is(err, target) {
		t.Helper()
		t.Errorf("%serror %v, want %v", about(what), err, target)
	}
}

// Equal compares with ==.
func Equal[T comparable](t testing.TB, got, want T, what ...any) {
	if got != want {
		t.Helper()
		form := "%s%+v, want %+v"
		if _, ok := any(got).(string); ok {
			form = "%s%q, want %q"
		}
		t.Errorf(form, about(what), got, want)
	}
}

// DeepEqual compares with cmp.Diff.
func DeepEqual(t testing.TB, got, want any, what ...any) {
	if diff := cmp.Diff(want, got); diff != "" {
		t.Helper()
		t.Errorf("%s-want +got:\n%s", about(what), diff)
	}
}

// Result compares what a call returned, as DeepEqual does, and wants no error of it.
func Result[T any](t testing.TB, got T, err error, want T, what ...any) {
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Helper()
		t.Errorf("%serror %v, -want +got:\n%s", about(what), err, diff)
	}
}

// Contains wants part within text.
func Contains(t testing.TB, text, part string, what ...any) {
	if !strings.Contains(text, part) {
		t.Helper()
		t.Errorf("%s%q, want %q in it", about(what), text, part)
	}
}

func about(what []any) string {
	if len(what) == 0 {
		return ""
	}
	for i, w := range what {
		if b, ok := w.([]byte); ok {
			what[i] = string(b)
		}
	}
	return strings.TrimSuffix(fmt.Sprintln(what...), "\n") + ": "
}
