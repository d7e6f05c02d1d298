// Package must ends a benchmark at its first error, because nothing can be measured after that. It
// panics, and Recover returns the error. Goroutines must not use it.
package must

// failure is an error on its way to Recover.
type failure struct{ error }

// Do panics if there is an error.
func Do(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Get returns the value, and panics if there is an error.
func Get[T any](v T, err error) T {
	Do(err)
	return v
}

// Recover sets err to the error of a panic of this package. It must be deferred. Other panics go
// on.
func Recover(err *error) {
	switch p := recover().(type) {
	case nil:
	case failure:
		*err = p.error
	default:
		panic(p)
	}
}
