// Package wait has the only way in which tests wait: until a condition holds, however slow the
// machine. Bound checks how long something may take.
package wait

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	_ "petstore.example/internal/test/sandbox" // passes PETSTORE_BOUNDS on
)

// Limit is how long tests wait for something that takes no time unless the machine is busy. It does
// not bound how long something may take: see Bound.
const Limit = 3 * time.Minute

// Until polls until the condition is true, every 5 ms at first and then every 20 ms. After Limit it
// fails the test. state has what the condition depends on, as pointers or as functions without
// arguments: the failure prints its last values.
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

// Bounds reports whether promised times are checked, as in make soak PARTS=bounds.
func Bounds() bool { return os.Getenv("PETSTORE_BOUNDS") != "" }

// Bound fails the test if something took longer than the promised limit, but only if Bounds is
// true. Otherwise it logs the time, because the machine may be busy with other tests. It must be
// called in the test function itself, because tools/soak.sh looks for it there.
func Bound(t testing.TB, what string, took, limit time.Duration) {
	t.Helper()
	if test, by := strings.Split(t.Name(), "/")[0], caller(); !isIn(by, test) {
		t.Fatalf("wait.Bound is called by %s: call it in %s itself", by, test)
	}
	text := fmt.Sprintf("%s: %v; the bound is %v", what, took.Round(10*time.Microsecond), limit)
	if Bounds() && took > limit {
		t.Error(text)
		return
	}
	t.Log(text)
}

// caller returns the name of the function that called Bound.
func caller() string {
	pcs := make([]uintptr, 1)
	runtime.Callers(3, pcs)
	frame, _ := runtime.CallersFrames(pcs).Next()
	return frame.Function
}

// isIn reports whether the function is that test, or a function literal inside it.
func isIn(function, test string) bool {
	return regexp.MustCompile(`\.` + regexp.QuoteMeta(test) + `\b`).MatchString(function)
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
