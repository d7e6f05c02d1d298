package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/usage/closing"
)

// Verification is what a closed month differs in from what is recorded, and from its audit entry.
type Verification struct {
	Month

	// Difference is the first one as a sentence, "" for none.
	Difference string
	// FalseEntries are the audit entries that say the same and did not close the month, each as a sentence. Whoever may write to the trail may add some.
	FalseEntries []string
}

// Verify returns ErrMonthOpen for a month that is not sealed.
func (d Months) Verify(ctx context.Context, month time.Time) (Verification, error) {
	m, err := d.Get(ctx, month)
	if err == nil && !m.Sealed() {
		err = ErrMonthOpen
	}
	v := monthVerifier{Months: d, month: m}
	var fault string
	if err == nil {
		fault, err = v.verify(ctx)
	}
	if err != nil {
		return Verification{}, fmt.Errorf("verify %s: %w", monthName(month), err)
	}
	return Verification{m, fault, v.falseEntries}, nil
}

// monthVerifier looks for differences. Its methods return the first as a sentence, "" for none.
type monthVerifier struct {
	Months

	month        Month
	falseEntries []string
}

func (v *monthVerifier) verify(ctx context.Context) (string, error) {
	if fault, err := v.compareAudit(ctx); fault != "" || err != nil {
		return fault, err
	}
	fault, rootFault, err := v.compareSeal(ctx)
	if fault != "" || err != nil {
		return fault, err
	}
	difference, err := v.compareLines(ctx)
	switch {
	case err != nil:
		return "", err
	case rootFault == "":
		return difference, nil
	case difference == "":
		return rootFault, nil
	}
	return rootFault + ". The first difference to what is recorded: " + difference, nil
}

// closingEntry is an audit entry that a month was closed.
type closingEntry struct {
	Number int64     `db:"number"`
	At     time.Time `db:"at"`
	Login  string    `db:"login"`
	After  []byte    `db:"after"`
}

// compareAudit compares the month with the audit entry that was written when it was sealed: the first since then of the same login.
func (v *monthVerifier) compareAudit(ctx context.Context) (string, error) {
	m, name := v.month, monthName(v.month.Month)
	var entries []closingEntry
	err := v.db.Select(ctx, &entries, `
		select number, at, login, coalesce(after, '{}') as after from usage_closings where after ->> 'month' = $1 order by number`, name)
	if err != nil {
		return "", err
	}
	closed := slices.IndexFunc(entries, func(e closingEntry) bool { return e.Login == m.SealedBy && !e.At.Before(m.SealedAt) })
	for i, e := range entries {
		if i != closed {
			v.falseEntries = append(v.falseEntries, fmt.Sprintf("entry %d of the audit trail says that %s was closed, and did not close it: login %s wrote it at %s",
				e.Number, name, e.Login, closing.Time(e.At)))
		}
	}
	if closed < 0 {
		return fmt.Sprintf("the audit trail has no entry of login %s that %s was closed", m.SealedBy, name), nil
	}
	entry, want := entries[closed], recordMonth(m)
	var said sealRecord
	if err := json.Unmarshal(entry.After, &said); err != nil {
		return fmt.Sprintf("entry %d of the audit trail can't be read: %v", entry.Number, err), nil
	}
	for _, c := range []struct {
		name        string
		month, said any
	}{
		{"root", want.Root, said.Root},
		{"sha256", want.SHA256, said.SHA256},
		{"format", want.Format, said.Format},
		{"tenants", want.Tenants, said.Tenants},
		{"lines", want.Lines, said.Lines},
		{"admitted", want.Admitted, said.Admitted},
		{"refused", want.Refused, said.Refused},
		{"without", fmt.Sprint(want.Without), fmt.Sprint(said.Without)},
	} {
		if c.month != c.said {
			return fmt.Sprintf("usage_months was altered: it has %s %v, and entry %d of the audit trail has %v", c.name, c.month, entry.Number, c.said), nil
		}
	}
	return "", nil
}

// compareSeal computes the root of the sealed lines. fault is a line that is altered by itself, rootFault a root that is not that of the
// lines.
func (v *monthVerifier) compareSeal(ctx context.Context) (fault, rootFault string, err error) {
	m := v.month
	seal, total := newLineSeal(closing.NewSeal()), closing.NewTotal()
	month, last := monthName(m.Month), sealedLine{}
	err = v.sealedLines(ctx, LineQuery{Month: m.Month}, func(s sealedLine) error {
		if s.TenantID != last.TenantID {
			last.Number = 0
		}
		if fault == "" {
			fault = s.fault(month, last.Number+1)
		}
		last = s
		if fault != "" {
			return errStop
		}
		l, err := closing.Parse(s.Form)
		if err != nil {
			return err
		}
		total.Add(&l, s.Form)
		return seal.add(s)
	})
	if fault != "" {
		return fault, "", nil
	}
	if err != nil {
		return "", "", err
	}
	root, tenants, err := seal.root()
	if err != nil {
		return "", "", err
	}
	sums := total.Sums()
	if seal.erased > 0 {
		sums.SHA256 = m.Sums.SHA256 // It was that of lines with names.
	}
	if root != m.Root || tenants != m.Tenants || sums != m.Sums {
		rootFault = fmt.Sprintf("usage_lines was altered: its %d lines of %d tenants have the root %s, and %s was closed with %d lines of %d tenants and the root %s",
			total.Sums().Lines, tenants, root, month, m.Sums.Lines, m.Tenants, m.Root)
	}
	return "", rootFault, nil
}

// fault returns what is wrong with the line by itself.
func (s sealedLine) fault(month string, number int) string {
	name := fmt.Sprintf("line %d of tenant %d in usage_lines", s.Number, s.TenantID)
	sum := closing.Sum(s.Form)
	l, err := closing.Parse(s.Form)
	switch {
	case s.Leaf == nil && !bytes.Equal(sum[:], s.SHA256):
		return name + " was altered: its sha256 is not that of its form"
	case err != nil:
		return name + " was altered: its form is not in the canonical form"
	case l.Month != month || l.TenantID != s.TenantID:
		return fmt.Sprintf("%s was altered: its form is that of tenant %d in %s", name, l.TenantID, l.Month)
	case s.Number != number:
		return fmt.Sprintf("%s follows line %d: lines were removed or added", name, number-1)
	}
	return ""
}

// compareLines computes all lines anew, tenant by tenant.
func (v *monthVerifier) compareLines(ctx context.Context) (string, error) {
	c := lineComparer{sealed: tenantPages{db: v.db, month: v.month.Month}}
	err := v.computedLines(ctx, LineQuery{Month: v.month.Month}, closedLines, func(l *closing.Line, _ string) error {
		if len(c.now) > 0 && l.TenantID != c.now[0].TenantID {
			if err := c.endTenant(ctx); err != nil {
				return err
			}
		}
		c.now = append(c.now, *l)
		return nil
	})
	if err == nil {
		err = c.end(ctx)
	}
	if c.difference != "" {
		return c.difference, nil
	}
	return "", err
}

// lineComparer compares the lines of one tenant after the other. A difference ends it with errStop.
type lineComparer struct {
	sealed     tenantPages
	now        []closing.Line
	difference string
}

// endTenant compares the lines of the present tenant, after those sealed ones of which nothing is recorded.
func (c *lineComparer) endTenant(ctx context.Context) error {
	for {
		lines, err := c.sealed.peek(ctx)
		if err != nil {
			return err
		}
		if len(lines) == 0 || lines[0].TenantID > c.now[0].TenantID {
			lines = nil
		}
		var now []closing.Line
		if len(lines) == 0 || lines[0].TenantID == c.now[0].TenantID {
			now = c.now
		}
		if c.difference = closing.Compare(lines, now); c.difference != "" {
			return errStop
		}
		if len(lines) > 0 {
			c.sealed.next()
		}
		if len(now) > 0 {
			c.now = c.now[:0]
			return nil
		}
	}
}

// end compares what is left.
func (c *lineComparer) end(ctx context.Context) error {
	if len(c.now) > 0 {
		if err := c.endTenant(ctx); err != nil {
			return err
		}
	}
	lines, err := c.sealed.peek(ctx)
	if err == nil && len(lines) > 0 {
		c.difference = closing.Compare(lines, nil)
	}
	return err
}

// tenantPages reads sealed lines tenant by tenant, a page at a time.
type tenantPages struct {
	db    pgconn.Queryer
	month time.Time
	lines []closing.Line
	last  sealedLine
	done  bool
}

// linePage is how many sealed lines are read at once. A tenant may have more.
const linePage = 2000

// peek returns the lines of the next tenant, none at the end.
func (p *tenantPages) peek(ctx context.Context) ([]closing.Line, error) {
	for {
		if n := p.count(); n > 0 && (n < len(p.lines) || p.done) {
			return p.lines[:n], nil
		}
		if p.done {
			return nil, nil
		}
		if err := p.read(ctx); err != nil {
			return nil, err
		}
	}
}

// next drops the lines that peek returned.
func (p *tenantPages) next() { p.lines = p.lines[p.count():] }

// count is how many of the lines in memory are of the next tenant.
func (p *tenantPages) count() int {
	n := 0
	for n < len(p.lines) && p.lines[n].TenantID == p.lines[0].TenantID {
		n++
	}
	return n
}

func (p *tenantPages) read(ctx context.Context) error {
	var rows []sealedLine
	err := p.db.Select(ctx, &rows, `
		select tenant_id, number, form from usage_lines
		where month = $1 and (tenant_id, number) > ($2, $3) order by tenant_id, number limit $4`,
		date(p.month), p.last.TenantID, p.last.Number, linePage)
	if err != nil {
		return err
	}
	p.lines = append([]closing.Line(nil), p.lines...)
	for _, r := range rows {
		l, err := closing.Parse(r.Form)
		if err != nil {
			return err
		}
		p.lines = append(p.lines, l)
		p.last = r
	}
	p.done = len(rows) < linePage
	return nil
}
