package find

import (
	"fmt"
	"io"
	"slices"

	"github.com/jedib0t/go-pretty/v6/text"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/ctl/tenant"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

const (
	// screenRows is how many lines a screen has at most: a terminal of 24 has room for the command and the prompt as well.
	screenRows = 22
	// The most bans and commands on it.
	maxBanned = 2
	maxNext   = 4
)

// line is a name and a text of the screen.
type line struct{ name, text string }

func (r *result) printScreen(f *cmdutil.Factory) error {
	lines, next := r.lines(), r.next()
	if leaked := r.ifLeaked(); leaked != nil {
		next = slices.Concat(next[:min(len(next), maxNext-len(leaked))], []string{"", "if it leaked, one of:"}, leaked)
	}
	banned := r.banned()
	rows := fitRows(screenRows-len(lines)-len(next)-1, len(r.keys), len(r.failed), min(len(banned), maxBanned))
	p := f.Printer()
	summary := make(output.View[[]line], len(lines))
	for i, l := range lines {
		value := l.text
		if p.TTY {
			value = text.Snip(value, p.Width-nameWidth, "…")
		}
		summary[i] = output.Column[[]line]{Name: l.name, Value: func([]line) any { return value }}
	}
	if err := output.Item(p, summary, lines); err != nil {
		return err
	}
	keyView := r.keyView()
	if rows[0] < r.allKeys {
		keyView[0].Heading = fmt.Sprintf("KEY ID (%d OF %d)", rows[0], r.allKeys)
	}
	if err := table(f, keyView, r.keys[:rows[0]]); err != nil {
		return err
	}
	if err := table(f, banView, banned[:rows[2]]); err != nil {
		return err
	}
	if err := table(f, failedView, r.failed[:rows[1]]); err != nil {
		return err
	}
	_, _ = io.WriteString(f.Out, "\n")
	for _, command := range next {
		// A command stays on one line, to be copied.
		if _, err := fmt.Fprintln(f.Out, output.Clean(command)); err != nil {
			return err
		}
	}
	return nil
}

// fitRows returns how many rows each table may have, so that with the headings and the lines between them they have at most so many lines.
// A table of at least one row has at least one.
func fitRows(lines int, tables ...int) []int {
	rows := make([]int, len(tables))
	for i, n := range tables {
		if n > 0 {
			rows[i] = 1
			lines -= 3
		}
	}
	for added := true; added; {
		added = false
		for i, n := range tables {
			if rows[i] < n && lines > 0 {
				rows[i]++
				lines--
				added = true
			}
		}
	}
	return rows
}

// table prints a table after an empty line, nothing for an empty one.
func table[T any](f *cmdutil.Factory, v output.View[T], items []T) error {
	if len(items) == 0 {
		return nil
	}
	if _, err := io.WriteString(f.Out, "\n"); err != nil {
		return err
	}
	return output.Table(f.Printer(), v, items)
}

// nameWidth is the width of the longest name of a line, with the gap after it.
const nameWidth = len("used today") + 2

func (r *result) lines() []line {
	h := *r.hit
	var lines []line
	if h.By != "name" || h.Match != h.Tenant {
		lines = []line{{"found", string(h.Kind) + " by " + h.By + " " + h.Match}}
		if h.Kind != store.HitKey && h.KeyID != "" {
			lines[0].text += " of key " + h.KeyID
		}
	}
	if t := r.tenant; t != nil {
		lines = append(lines, tenantLines(*t)...)
		used := output.Thousands(r.today.TenantAdmitted) + " of " + output.Thousands(t.Quota.PerDay)
		lines = append(lines, line{"used today", fmt.Sprintf("%s (%d %%), %s refused", used, r.today.TenantAdmitted*100/t.Quota.PerDay, output.Thousands(r.today.TenantRefused))})
		lines = append(lines, line{"contact", contact(*t)})
		if len(r.keys) == 0 {
			lines = append(lines, line{"keys", r.noKeysText()})
		}
	}
	if others := len(r.hits) - 1; others > 0 {
		lines = append(lines, line{"also", fmt.Sprintf("%d less certain: use --all", others)})
	}
	return lines
}

func tenantLines(t plans.Tenant) []line {
	status := tenant.Status(t)
	if !t.SuspendedAt.IsZero() {
		status += " since " + output.Text(t.SuspendedAt)
	}
	lines := []line{
		{"tenant", fmt.Sprintf("%s (#%d), %s", t.Name, t.ID, status)},
		{"plan", t.Plan + ": " + tenant.QuotaText(t.Quota)},
	}
	if t.Next != nil {
		lines = append(lines, line{"next plan", fmt.Sprintf("%s from %s: %s", t.Next.Plan, output.Text(t.Until), tenant.QuotaText(t.Next.Quota))})
	}
	return lines
}

func contact(t plans.Tenant) string {
	switch {
	case t.Email != "" && t.BillingRef != "":
		return t.Email + ", billing ref " + t.BillingRef
	case t.BillingRef != "":
		return "billing ref " + t.BillingRef
	}
	return t.Email
}

func (r *result) noKeysText() string {
	if r.keys == nil {
		return "your login may not read them"
	}
	return "none: petstorectl key issue " + r.tenant.Name
}

// next returns the commands that come next, ready to be copied: those about the match first.
func (r *result) next() (commands []string) {
	add := func(command, arg string) { commands = append(commands, "petstorectl "+command+" "+arg) }
	if r.hit == nil {
		return nil
	}
	switch r.hit.Kind {
	case store.HitRequest:
		add("why", r.hit.Match)
	case store.HitEntry:
		add("audit show", r.hit.Match)
		add("undo", r.hit.Match)
	}
	if r.tenant == nil {
		return commands
	}
	name := r.tenant.Name
	if r.keys == nil {
		add("plan history", name)
		add("usage show --by day --tenant", name)
		return commands
	}
	if !r.tenant.SuspendedAt.IsZero() {
		add("tenant resume", name)
	}
	for _, k := range r.banned() {
		if k.ID == r.hit.KeyID || r.hit.KeyID == "" {
			add("ban lift", k.ID)
			break
		}
	}
	if r.hit.Kind == store.HitKey {
		add("why", r.hit.KeyID)
		if r.keys[0].Valid(r.now) && r.hit.By != byKey {
			add("key rotate", r.hit.KeyID)
		}
	} else if r.hit.Kind != store.HitRequest {
		add("why", name)
	}
	add("key list --tenant", name)
	add("audit list --tenant", name)
	return commands[:min(maxNext, len(commands))]
}

// ifLeaked returns the commands that stop a key that was looked up by all of it: somebody has seen it.
func (r *result) ifLeaked() []string {
	if r.hit == nil || r.hit.By != byKey || len(r.keys) == 0 || !r.keys[0].Valid(r.now) {
		return nil
	}
	return []string{"petstorectl key rotate " + r.hit.KeyID + " --grace-period 0", "petstorectl key revoke " + r.hit.KeyID}
}
