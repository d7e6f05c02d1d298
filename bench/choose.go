package main

import (
	"fmt"
	"slices"
)

// choose keeps the cases of those names, nil for all, and what they are compared with. Each baseline comes just before the first
// case that needs it, so that what disturbs one run disturbs the other.
func (s *stage) choose(names []string) error {
	if names == nil {
		names = s.grouped()
	}
	var chosen []*contender
	var take func(name string) error
	take = func(name string) error {
		c := s.named(name)
		if c == nil {
			return fmt.Errorf("there is no case %q", name)
		}
		if slices.Contains(chosen, c) {
			return nil
		}
		if c.Against != "" {
			if err := take(c.Against); err != nil {
				return err
			}
		}
		chosen = append(chosen, c)
		return nil
	}
	for _, name := range names {
		if err := take(name); err != nil {
			return err
		}
	}
	s.cases = chosen
	return nil
}

// grouped returns the names of all cases, those beside each other that have a baseline in common.
func (s *stage) grouped() (names []string) {
	var baselines []string
	groups := map[string][]string{}
	for _, c := range s.cases {
		base := c
		for base.Against != "" {
			base = s.named(base.Against)
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
