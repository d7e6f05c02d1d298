// Package wait has the one way in which tests wait for something: until it is so, however slow the
// machine.
package wait

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// Limit is how long tests wait for what comes at once unless the machine is busy. A bound on how
// long something may take is no matter of waiting: it is measured.
const Limit = 3 * time.Minute

// Until polls until the condition is true, every 5 ms at first and then every 20 ms, and fails the
// test after Limit. What the condition looks at is given as pointers, or as functions without
// arguments: the failure prints their last state.
func Until(t testing.TB, what string, condition func() bool, state ...any) {
	t.Helper()
	Within(t, Limit, what, condition, state...)
}

// Within is Until with another limit.
func Within(t testing.TB, limit time.Duration, what string, condition func() bool, state ...any) {
	t.Helper()
	const first, later = 5 * time.Millisecond, 20 * time.Millisecond
	for begun, end := time.Now(),
		time.Now().Add(limit); !condition(); time.Sleep(min(later, max(first, time.Since(begun)/10))) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s%s", limit, what, describe(state))
		}
	}
}

func describe(state []any) string {
	var text strings.Builder
	for _, s := range state {
		switch v := reflect.ValueOf(s); v.Kind() {
		case reflect.Pointer:
			fmt.Fprintf(&text, "; %+v", v.Elem())
		case reflect.Func:
			fmt.Fprintf(&text, "; %+v", v.Call(nil))
		default:
			fmt.Fprintf(&text, "; %+v", s)
		}
	}
	return text.String()
}
