package cmdutil

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
)

// Batch is a command that changes several items in one transaction. It finds them, makes the
// changes, asks once for confirmation before the commit, and reports them.
type Batch[T any] struct {
	*Factory

	// given are the items from the arguments. Without them, the items come from stdin if stdin is
	// set, else they are the keys of the tenant allOf.
	given []string
	stdin bool
	allOf string
	// Item is the argument that names an item.
	Item Arg
	// AllOfUsage describes --all-of, "" for none.
	AllOfUsage string
	// Requires are flags that must be given. Check refuses other mistakes in a command line; it may
	// be nil.
	Requires []string
	Check    func(*cobra.Command) error
	// Noun is the word for several items, such as "keys". Doing is the work, such as "revoking
	// keys".
	Noun, Doing string
	// Find returns the items that an argument or a line stands for, by the names that the other
	// functions use. If Find is nil, each stands for itself.
	Find func(ctx context.Context, db *store.DB, item string) ([]string, error)
	// AllOf returns the keys that --all-of stands for; nil without that flag.
	AllOf func(ctx context.Context, db *store.DB, tenant string) ([]string, error)
	// Lock locks the items in the batch.
	Lock func(ctx context.Context, db *store.DB, items []string) error
	// Question returns what to ask about the items and what was done with them. If it is nil or
	// asks nothing, Many is asked.
	Question func(ctx context.Context, db *store.DB, items []string, done []T) (Question, error)
	// Many is the question about 10 items or more, at a terminal. It is a format that takes their
	// number.
	Many string
	Do   func(ctx context.Context, db *store.DB, by audit.By, item string) (T, error)
	// Subject returns the subject of an error about an item.
	Subject func(item string) Subject
	// Explain returns the Error for an error about an item. If it is nil, Factory.Explain does.
	Explain func(ctx context.Context, err error, item string) error
	Notice  func(T) Notice
	View    func(now time.Time) output.View[T]
}

// Command makes the command with its texts. The arguments in last follow the items.
func (b *Batch[T]) Command(cmd *cobra.Command, last ...Arg) *cobra.Command {
	b.ChangeCommand(cmd)
	b.YesFlag(cmd)
	b.takeItems(cmd, last)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := RequireFlags(cmd, b.Requires...); err != nil {
			return err
		}
		if b.Check != nil {
			if err := b.Check(cmd); err != nil {
				return err
			}
		}
		return b.Run(cmd.Context())
	}
	return SetColumns(cmd, b.View(b.Now()).Names())
}

// Run makes the changes.
func (b *Batch[T]) Run(ctx context.Context) error {
	f, given := b.Factory, b.given
	if b.stdin {
		var err error
		if given, err = await(ctx, func() ([]string, error) { return b.readLines(f.In) }); err != nil {
			return err
		}
		f.UseTerminal()
	}
	by, db, err := f.BeginChange(ctx)
	if err != nil {
		return err
	}
	items, err := b.find(ctx, f, db, given)
	if err != nil {
		return err
	}
	done, err := b.do(ctx, f, db, by, items)
	if ask := (unconfirmed{}); errors.As(err, &ask) {
		if err = Ask(ctx, f, ask.Question); err == nil {
			f.Yes = true
			done, err = b.do(ctx, f, db, by, items)
		}
	}
	if err != nil {
		return err
	}
	changed := b.report(f, done)
	switch {
	case len(given) == 1 && !b.every() && len(done) == 1:
		err = PrintChanged(f, b.View(f.Now()), done[0])
	case len(done) <= many || !isTable(f):
		err = PrintChangedList(f, b.View(f.Now()), done)
	}
	if f.DryRun && changed > 0 {
		f.Messagef("dry run: nothing was changed")
	}
	return err
}

// unconfirmed is the error that rolls tried changes back, with the question about them.
type unconfirmed struct{ Question }

// Error implements error.
func (unconfirmed) Error() string { return "not confirmed" }

// confirm returns an unconfirmed error if there is something to ask.
func (b *Batch[T]) confirm(ctx context.Context, f *Factory, db *store.DB, items []string, done []T) (err error) {
	var q Question
	if f.Yes || f.DryRun {
		return nil
	}
	if b.Question != nil {
		q, err = b.Question(ctx, db, items, done)
	}
	if q.Text == "" && len(items) >= many && f.InTTY {
		q = Question{
			Facts: []string{firstOf(items)},
			Text:  fmt.Sprintf(cmp.Or(b.Many, "Change %d "+b.Noun+"?"), len(items)),
		}
	}
	if err == nil && q.Text != "" {
		err = unconfirmed{q}
	}
	return err
}

// find returns the items, each once. If several are not found, it first prints an error for each.
func (b *Batch[T]) find(ctx context.Context, f *Factory, db *store.DB, given []string) (items []string, err error) {
	if tenant := b.allOf; tenant != "" {
		if items, err = b.AllOf(ctx, db, tenant); err != nil {
			return nil, f.Explain(ctx, err, Subject{Tenant: tenant})
		}
		if len(items) == 0 {
			return nil, NotFoundErrorf("tenant %s has no such %s: nothing was changed", short(tenant), b.Noun)
		}
	}
	var missing []error
	for _, item := range given {
		found := []string{item}
		if b.Find != nil {
			if found, err = b.Find(ctx, db, item); err != nil {
				missing = append(missing, b.explain(ctx, err, item))
				continue
			}
		}
		items = append(items, found...)
	}
	if len(missing) == 1 {
		return nil, missing[0]
	}
	if len(missing) > 1 {
		for _, err := range missing[:min(len(missing), maxNotices)] {
			f.Messagef("%s", output.Clean(err.Error()))
		}
		return nil, NotFoundErrorf("%d of %d %s were not found: nothing was changed", len(missing), len(given), b.Noun)
	}
	if items = unique(items); len(items) > store.MaxBatch {
		return nil, UsageErrorf(
			"%d %s are more than %s, the most at once",
			len(items),
			b.Noun,
			output.Thousands(store.MaxBatch),
		)
	}
	return items, nil
}

func (b *Batch[T]) do(
	ctx context.Context,
	f *Factory,
	db *store.DB,
	by audit.By,
	items []string,
) (done []T, err error) {
	add, end := f.Progress(b.Doing, len(items))
	defer end()
	err = db.Batch(ctx, by, func(ctx context.Context, db *store.DB) error {
		if b.Lock != nil {
			if err := b.Lock(ctx, db, items); err != nil {
				return err
			}
		}
		for i, item := range items {
			one, err := b.Do(ctx, db, by, item)
			if err != nil {
				return itemError(b.explain(ctx, err, item), item, i, len(items))
			}
			done = append(done, one)
			add()
		}
		return b.confirm(ctx, f, db, items, done)
	})
	return done, err
}

func (b *Batch[T]) explain(ctx context.Context, err error, item string) error {
	if b.Explain != nil {
		return b.Explain(ctx, err, item)
	}
	return b.Factory.Explain(ctx, err, b.Subject(item))
}

// itemError names the refused item among several.
func itemError(err error, item string, i, n int) error {
	e := (*Error)(nil)
	if n == 1 {
		return err
	}
	of := fmt.Sprintf(" (%s, %d of %d: nothing was changed)", short(item), i+1, n)
	if errors.As(err, &e) {
		return &Error{Code: e.Code, Message: e.Message + of, Hint: e.Hint, Cause: e.Cause}
	}
	return fmt.Errorf("%w%s", err, of)
}

// LockTenants is the Lock of a Batch of tenants.
func LockTenants(ctx context.Context, db *store.DB, names []string) error {
	return db.Lock(ctx, names, nil)
}

// LockKeys locks keys by their IDs.
func LockKeys(ctx context.Context, db *store.DB, ids []string) error { return db.Lock(ctx, nil, ids) }

// FindTenant is the Find of a Batch of tenants. It returns the name of the tenant with the name or
// number item.
func FindTenant(ctx context.Context, db *store.DB, item string) ([]string, error) {
	t, err := db.Tenants.Get(ctx, item)
	return []string{t.Name}, err
}

// FindKey is the Find of a Batch of keys.
func FindKey(ctx context.Context, db *store.DB, item string) ([]string, error) {
	k, err := db.Keys.Get(ctx, item)
	return []string{k.ID}, err
}

// Notice says what was done with an item.
type Notice struct {
	// Text is in the past tense.
	Text string
	// Item is the item as Text names it, such as "tenant acme". In a report of many items "each
	// tenant" replaces it, so that they share one text. It is "" if each item has a text of its
	// own.
	Item string
	// Unchanged is set if the change was already in force.
	Unchanged bool
	// More are further sentences.
	More []string
}

const (
	// many is the number of items from which on a change asks for confirmation. A report about more
	// than many items only counts them.
	many = 10
	// maxNotices is the most sentences that a change prints.
	maxNotices = 20
)

// ofOne matches the part of a sentence that is about one item only: an ID, or the command that
// takes one.
var ofOne = regexp.MustCompile(`( \(\d[^)]*\)|: petstorectl .*|^to take it back.*)$`)

// report says what was done, and returns the number of changed items. For many items it prints a
// table: each outcome with the number of its items.
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
