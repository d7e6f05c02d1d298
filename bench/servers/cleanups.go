package servers

import (
	"context"
	"errors"
	"slices"
)

// Cleanups are what is to be done in the end.
type Cleanups struct{ all []func(context.Context) error }

// Cleanup has TearDown call f.
func (c *Cleanups) Cleanup(f func(context.Context) error) { c.all = append(c.all, f) }

// TearDown calls all functions once, the last one first.
func (c *Cleanups) TearDown(ctx context.Context) error {
	var errs []error
	for _, f := range slices.Backward(c.all) {
		errs = append(errs, f(ctx))
	}
	c.all = nil
	return errors.Join(errs...)
}
