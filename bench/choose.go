package main

import (
	"fmt"
	"slices"
)

// choose keeps the cases of those names, all for nil, and what they are compared with. Each baseline comes just before the first
// case that is compared with it, so that a disturbance affects both.
func (e *env) choose(names []string) error {
	if names == nil {
		names = e.grouped()
	}
	var chosen []*benchCase
	var add func(name string) error
	add = func(name string) error {
		c := e.find(name)
		if c == nil {
			return fmt.Errorf("there is no case %q", name)
		}
		if slices.Contains(chosen, c) {
			return nil
		}
		if c.Against != "" {
			if err := add(c.Against); err != nil {
				return err
			}
		}
		chosen = append(chosen, c)
		return nil
	}
	for _, name := range names {
		if err := add(name); err != nil {
			return err
		}
	}
	e.cases = chosen
	return nil
}

// grouped returns the names of all cases, those with the same baseline next to each other.
func (e *env) grouped() (names []string) {
	var baselines []string
	groups := map[string][]string{}
	for _, c := range e.cases {
		base := c
		for base.Against != "" {
			base = e.find(base.Against)
		}
		if !slices.Contains(baselines, base.Name) {
			baselines = append(baselines, base.Name)
		}
		groups[base.Name] = append(groups[base.Name], c.Name)
	}
	for _, b := range baselines {
		names = append(names, groups[b]...)
	}
	return names
}
