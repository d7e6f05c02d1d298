package cmdutil

import (
	"regexp"
	"strings"

	"petstore.example/internal/ctl/output"
)

// Notice says what was done with an item.
type Notice struct {
	// Text is in the past tense.
	Text string
	// Item is how Text names the item, such as "tenant acme": many items share a text about "each tenant". "" if each has a text of its own.
	Item string
	// Unchanged is set if all was so before.
	Unchanged bool
	// More are further sentences.
	More []string
}

const (
	// many is from how many items on a change asks for confirmation. With more of them it says only what was done with how many.
	many = 10
	// maxNotices is how many sentences a change says.
	maxNotices = 20
)

// ofOne is what a further sentence says about one item only: an ID, and the command that takes it.
var ofOne = regexp.MustCompile(`( \(\d[^)]*\)|: petstorectl .*|^to take it back.*)$`)

// report says what was done, and returns how many items were changed. Many items are a table: a sentence, and about how many it is.
func (b *Batch[T]) report(f *Factory, done []T) (changed int) {
	var lines []string
	counts := map[string]int64{}
	say := func(line, item string) {
		if len(done) <= many {
			f.Messagef("%s", line)
			return
		}
		if kind, _, named := strings.Cut(item, " "); named {
			line = strings.ReplaceAll(line, item, "each "+kind)
		}
		if counts[line]++; counts[line] == 1 {
			lines = append(lines, line)
		}
	}
	for _, one := range done {
		n := b.Notice(one)
		switch {
		case n.Unchanged:
			n.Text += ": nothing was changed"
		case f.DryRun:
			n.Text = "would have " + n.Text
		}
		if !n.Unchanged {
			changed++
		}
		say(n.Text, n.Item)
		for _, line := range n.More {
			if len(done) > many {
				line = ofOne.ReplaceAllString(line, "")
			}
			if line != "" {
				say(line, n.Item)
			}
		}
	}
	if len(lines) > 0 {
		f.Messagef("%s  OUTCOME", strings.ToUpper(b.Noun))
	}
	for _, line := range lines[:min(len(lines), maxNotices)] {
		f.Messagef("%*s  %s", len(b.Noun), output.Thousands(counts[line]), line)
	}
	if len(lines) > maxNotices {
		f.Messagef("and %d more: %d %s together", len(lines)-maxNotices, len(done), b.Noun)
	}
	return changed
}
