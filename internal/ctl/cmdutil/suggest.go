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

// suggestions are the commands that an unknown word of a group probably means: those with the word
// as a synonym, else the one spelled almost the same.
func suggestions(group *cobra.Command, word string) (found []string) {
	word = strings.ToLower(word)
	for _, s := range VerbSynonyms {
		for verb := range strings.FieldsSeq(s.Meant) {
			if s.has(word) && group.HasParent() &&
				slices.ContainsFunc(group.Commands(), func(c *cobra.Command) bool { return c.Name() == verb }) {
				return []string{verb}
			}
		}
	}
	for _, s := range Synonyms {
		for path := range strings.SplitSeq(s.Meant, ",") {
			c, rest, err := group.Root().Find(strings.Fields(path))
			switch {
			case !s.has(word) || err != nil || len(rest) > 0:
			case c.Parent() == group:
				return []string{c.Name()}
			default:
				found = append(found, c.CommandPath())
			}
		}
	}
	if c := closestCommand(word, group.Commands()); len(found) == 0 && c != "" {
		return []string{c}
	}
	return found
}

// groupPath is the path of a group without the program's name.
func groupPath(group *cobra.Command) string {
	_, path, _ := strings.Cut(group.CommandPath(), " ")
	return path
}

// closestCommand returns the name of the command that is spelled almost like the word, preferably
// one that changes nothing; "" for none.
func closestCommand(word string, commands []*cobra.Command) string {
	var reads, changes []string
	for _, c := range commands {
		switch name := c.Name(); {
		case !c.IsAvailableCommand() && !c.IsAdditionalHelpTopicCommand() || isOpposite(word, name):
		case c.Flags().Lookup("dry-run") == nil:
			reads = append(reads, name)
		case isTypingError(word, name):
			changes = append(changes, name)
		}
	}
	return closest(word, append(reads, changes...))
}

// most is the maximum number of typing errors in a word.
func most(word string) int { return min((len(word)+2)/3, 3) }

// isTypingError tells whether a word is a verb with one typing error, or its beginning. A command
// that changes something is suggested only then: rename must not lead to resume, and a person who
// types revoked wants to see something, not to do it.
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

// isOpposite tells whether one of the words is the other with a negation.
func isOpposite(a, b string) bool {
	return slices.ContainsFunc([]string{"un", "de", "dis", "no-"}, func(prefix string) bool {
		return strings.HasPrefix(a, prefix) != strings.HasPrefix(b, prefix) &&
			spelling.Distance(strings.TrimPrefix(a, prefix), strings.TrimPrefix(b, prefix)) <= 1
	})
}

// closest returns the known name that was probably meant, "" for none. It is the one with the
// smallest distance, up to about one wrong letter in three; or one that begins with the given name;
// or the longest that the given name begins with.
func closest(name string, known []string) (best string) {
	name = strings.ToLower(name)
	smallest := most(name) + 1
	for _, k := range known {
		if d := typos(name, k); d < smallest {
			best, smallest = k, d
		}
	}
	if best != "" {
		return best
	}
	for _, k := range known {
		if len(k) >= 3 && len(k) > len(best) && strings.HasPrefix(name, strings.ToLower(k)) {
			best = k
		}
	}
	return best
}

// typos is the number of typing errors that turn a known name into a word. It is one if the word is
// the name's beginning.
func typos(word, known string) int {
	known = strings.ToLower(known)
	d := spelling.Distance(word, known)
	if len(word) >= 3 && strings.HasPrefix(known, word) {
		d = min(d, 1)
	}
	return d
}
