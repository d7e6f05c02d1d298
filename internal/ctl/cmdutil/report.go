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
	// Item is how Text names the item, such as "tenant acme": of many items with the same outcome one sentence says how many they are. "" if
	// each item has a sentence of its own.
	Item string
	// Unchanged is set if all was so before.
	Unchanged bool
	// More are further sentences.
	More []string
}

const (
	// many is from how many items on a change asks for confirmation, and with more of them says only what was done with how many.
	many = 10
	// maxNotices is how many sentences a change says.
	maxNotices = 20
)

// outcome is a sentence about one item or several.
type outcome struct {
	notice Notice
	count  int
	more   bool
}

// report says what was done, and returns how many items were changed.
func (b *Batch[T]) report(f *Factory, done []T) (changed int) {
	var all []outcome
	for _, one := range done {
		n := b.Notice(one)
		if !n.Unchanged {
			changed++
		}
		all = append(all, outcome{notice: n, count: 1})
	}
	if len(all) > many {
		all = summarize(all)
	}
	for _, o := range all[:min(len(all), maxNotices)] {
		f.Messagef("%s", o.text(b.Noun, f.DryRun))
		if o.count == 1 && len(done) <= many {
			for _, line := range o.notice.More {
				f.Messagef("%s", line)
			}
		}
	}
	if len(all) > maxNotices {
		f.Messagef("and %d more: %d %s together", len(all)-maxNotices, len(done), b.Noun)
	}
	return changed
}

// text is the sentence; noun is the word for several items.
func (o outcome) text(noun string, dryRun bool) string {
	n, text := o.notice, o.notice.Text
	switch {
	case o.more && o.count == 1:
		return n.Item + ": " + text
	case o.more:
		return o.items(noun) + ": " + text
	case o.count > 1:
		text = strings.NewReplacer(n.Item+" is ", o.items(noun)+" are ", n.Item+" already has ", o.items(noun)+" already have ",
			n.Item+": its ", o.items(noun)+": their ", n.Item, o.items(noun)).Replace(text)
	}
	switch {
	case n.Unchanged:
		return text + ": nothing was changed"
	case dryRun:
		return "would have " + text
	}
	return text
}

func (o outcome) items(noun string) string { return output.Thousands(int64(o.count)) + " " + noun }

// ofOne is what a further sentence says about one item only: an ID, and the command that takes it.
var ofOne = regexp.MustCompile(`( \(\d[^)]*\)|: petstorectl .*)$`)

// summarize returns an outcome for each distinct one, in their order, and after them the further sentences.
func summarize(all []outcome) []outcome {
	var distinct, more []outcome
	for _, o := range all {
		distinct = merge(distinct, o)
		for _, line := range o.notice.More {
			if line = ofOne.ReplaceAllString(line, ""); line != "to take it back" {
				more = merge(more, outcome{notice: Notice{Text: line, Item: o.notice.Item}, count: 1, more: true})
			}
		}
	}
	return append(distinct, more...)
}

// merge counts the outcome with those that differ in the item only.
func merge(list []outcome, o outcome) []outcome {
	for i, other := range list {
		if o.notice.Item != "" && o.withoutItem() == other.withoutItem() {
			list[i].count += o.count
			return list
		}
	}
	return append(list, o)
}

func (o outcome) withoutItem() string {
	if o.notice.Item == "" {
		return o.notice.Text
	}
	return strings.ReplaceAll(o.notice.Text, o.notice.Item, "\x00")
}
