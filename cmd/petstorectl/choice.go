package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// choice is a flag that takes one of a few words.
type choice[T ~string] struct {
	value   *T
	choices []T
}

func newChoice[T ~string](value *T, choices ...T) pflag.Value { return &choice[T]{value, choices} }

// Set implements pflag.Value.
func (c *choice[T]) Set(text string) error {
	if !slices.Contains(c.choices, T(text)) {
		words := make([]string, len(c.choices))
		for i, w := range c.choices {
			words[i] = string(w)
		}
		return fmt.Errorf("want %s", strings.Join(words, ", "))
	}
	*c.value = T(text)
	return nil
}

// String implements pflag.Value.
func (c *choice[T]) String() string {
	if c.value == nil {
		return ""
	}
	return string(*c.value)
}

// Type implements pflag.Value.
func (c *choice[T]) Type() string { return "string" }

// invalidValue says what is wrong with a flag's value, without the words of the library that read it.
func invalidValue(e *pflag.InvalidValueError) string {
	var number *strconv.NumError
	value := e.GetValue()
	switch {
	case !errors.As(e, &number):
		return fmt.Sprintf("%v, not %q", errors.Unwrap(e), value)
	case e.GetFlag().Value.Type() == "bool":
		return fmt.Sprintf("%q is not true or false", value)
	case !errors.Is(number, strconv.ErrRange):
		return fmt.Sprintf("%q is not an integer", value)
	case strings.HasPrefix(value, "-"):
		return value + " is too small"
	}
	return value + " is too large"
}

// flagProblem turns what pflag found into a usage error, with the flag that was likely meant.
func flagProblem(cmd *cobra.Command, err error) error {
	p := usageProblem("%v", err)
	if invalid := (*pflag.InvalidValueError)(nil); errors.As(err, &invalid) {
		p.message = fmt.Sprintf("--%s: %s", invalid.GetFlag().Name, invalidValue(invalid))
	}
	p.hint = "see: " + cmd.CommandPath() + " --help"
	if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) {
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if near := closest(unknown.GetSpecifiedName(), known); near != "" {
			p.message += "; did you mean --" + near + "?"
		}
	}
	return p
}
