package cmdutil

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"petstore.example/internal/spelling"
)

// didYouMean is "; did you mean …?", or nothing if no known name is similar.
func didYouMean(name string, known []string) string {
	if found := closest(name, known); found != "" {
		return fmt.Sprintf("; did you mean %q?", found)
	}
	return ""
}

// suggestions are the commands that an unknown word of a group probably means: what people call them, else the one that is spelled
// almost so. A command that changes something is suggested only for an obvious typing error, and never for the word of another action:
// who types rename must not be told resume.
func suggestions(group *cobra.Command, word string) []string {
	var found []string
	for _, path := range Synonyms()[groupPath(group)+" "+strings.ToLower(word)] {
		if c, rest, err := group.Root().Find(strings.Fields(path)); err == nil && len(rest) == 0 {
			found = append(found, nameIn(group, c))
		}
	}
	if len(found) == 0 {
		if c := closestCommand(word, group.Commands()); c != "" {
			found = []string{c}
		}
	}
	return found
}

// groupPath is the path of a group without the program.
func groupPath(group *cobra.Command) string {
	_, path, _ := strings.Cut(group.CommandPath(), " ")
	return path
}

// nameIn is how a command is named to somebody who looked for it in a group.
func nameIn(group, c *cobra.Command) string {
	if c.Parent() == group {
		return c.Name()
	}
	return c.CommandPath()
}

// closestCommand returns the name of the command that was probably meant, "" for none.
func closestCommand(word string, commands []*cobra.Command) string {
	word = strings.ToLower(word)
	best, smallest, bestChanges := "", 4, false
	var reading []string
	for _, c := range commands {
		if !c.IsAvailableCommand() && !c.IsAdditionalHelpTopicCommand() {
			continue
		}
		for _, name := range append([]string{c.Name()}, c.Aliases...) {
			changes := changesSomething(c)
			if !changes {
				reading = append(reading, name)
			}
			d := typos(word, name)
			if d > most(word) || isOpposite(word, name) || changes && !isTypingError(word, name) {
				continue
			}
			if d < smallest || d == smallest && bestChanges && !changes {
				best, smallest, bestChanges = name, d, changes
			}
		}
	}
	if best == "" {
		best = longestBeginning(word, reading)
	}
	return best
}

func changesSomething(c *cobra.Command) bool { return c.Flags().Lookup("dry-run") != nil }

// most is how many typing errors a word may have.
func most(word string) int { return min((len(word)+2)/3, 3) }

// isTypingError tells whether a word is a verb with one typing error, or its beginning, and not another form of it: revoked looks for what
// is, not for what to do.
func isTypingError(word, verb string) bool {
	rest, isLonger := strings.CutPrefix(word, verb)
	switch {
	case len(word) >= 3 && strings.HasPrefix(verb, word):
		return true
	case isLonger && slices.Contains([]string{"s", "d", "ed", "ing", "er"}, rest):
		return false
	}
	return len(word) >= 4 && word[0] == verb[0] && spelling.Distance(word, verb) == 1
}

// isOpposite tells whether one of the words is the other one negated.
func isOpposite(a, b string) bool {
	return slices.ContainsFunc([]string{"un", "de", "dis", "no-"}, func(prefix string) bool {
		return isNegated(a, b, prefix) || isNegated(b, a, prefix)
	})
}

func isNegated(word, other, prefix string) bool {
	rest, ok := strings.CutPrefix(word, prefix)
	return ok && !strings.HasPrefix(other, prefix) && spelling.Distance(rest, other) <= 1
}

// closest returns the known name that was probably meant, "" for none: the one with the smallest distance, up to about
// one wrong letter in three; or one that begins with the given name; or the longest that the given name begins with.
func closest(name string, known []string) string {
	name = strings.ToLower(name)
	best, smallest := "", most(name)+1
	for _, k := range known {
		if d := typos(name, k); d < smallest {
			best, smallest = k, d
		}
	}
	if best == "" {
		best = longestBeginning(name, known)
	}
	return best
}

// typos is the number of typing errors that make a known name a word; one for a word that is its beginning.
func typos(word, known string) int {
	known = strings.ToLower(known)
	d := spelling.Distance(word, known)
	if len(word) >= 3 && strings.HasPrefix(known, word) {
		d = min(d, 1)
	}
	return d
}

// longestBeginning returns the longest known name that the word begins with.
func longestBeginning(word string, known []string) (best string) {
	for _, k := range known {
		if len(k) >= 3 && len(k) > len(best) && strings.HasPrefix(word, strings.ToLower(k)) {
			best = k
		}
	}
	return best
}
