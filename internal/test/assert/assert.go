// Package assert has the assertions with which most tests end. The arguments after the values
// describe the values, and begin the failure's message.
package assert

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// NoError ends the test if there is an error. After a failure of any other function the test goes
// on.
func NoError(t testing.TB, err error, what ...any) {
	if err != nil {
		t.Helper()
		t.Fatalf("%s%v", about(what), err)
	}
}

// True fails the test with the message what unless ok is true.
func True(t testing.TB, ok bool, what ...any) {
	if !ok {
		t.Helper()
		t.Error(what...)
	}
}

// ErrorIs fails the test unless err is target, by errors.Is.
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

// Result compares the result of a call, as DeepEqual does, and fails the test if there is an error.
func Result[T any](t testing.TB, got T, err error, want T, what ...any) {
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Helper()
		t.Errorf("%serror %v, -want +got:\n%s", about(what), err, diff)
	}
}

// Contains fails the test unless text contains part.
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
