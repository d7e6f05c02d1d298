package store

import (
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"petstore.example/internal/audit"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/usage/closing"
)

const (
	// beginTries and beginWait bound how long a month waits for batches of usage that are under way. While it waits, all others wait for
	// it, so each try is far shorter than the time of a server's call.
	beginTries   = 20
	beginTimeout = `set local lock_timeout = '300ms'`
	beginWait    = 200 * time.Millisecond
	// sealBatch is how many lines are written at once.
	sealBatch = 500
)

// Close closes a month and seals its lines, without waiting for these servers. It returns ErrMonthClosed, ErrMonthNotEnded,
// ErrEarlierMonthOpen or ErrLaterMonthClosed. If it is interrupted, usage is already counted as late, and a later call seals the month. A dry run returns what
// would be sealed.
func (d Months) Close(ctx context.Context, by audit.By, month time.Time, without []string) (Month, error) {
	m, err := d.close(ctx, by, month, without)
	if err != nil {
		return Month{}, fmt.Errorf("close %s: %w", monthName(month), err)
	}
	return m, nil
}

func (d Months) close(ctx context.Context, by audit.By, month time.Time, without []string) (Month, error) {
	if err := d.begin(ctx, by, month, without); err != nil {
		return Month{}, err
	}
	if by.DryRun {
		s := sealing{seal: closing.NewSeal(), total: closing.NewTotal()}
		if err := d.computedLines(ctx, LineQuery{Month: month}, closedLines, s.add); err != nil {
			return Month{}, err
		}
		m, err := s.month()
		m.Month, m.Without = month, without
		return m, err
	}
	var sealed Month
	err := change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		m, err := getMonth(ctx, tx, month, `for update`)
		if err != nil {
			return err
		}
		if m.Sealed() {
			return ErrMonthClosed
		}
		sealed, err = d.seal(ctx, tx, by, month)
		return err
	})
	return sealed, err
}

// begin closes the month to changes. In a dry run it only tries whether that is allowed.
func (d Months) begin(ctx context.Context, by audit.By, month time.Time, without []string) error {
	for tries := beginTries; ; tries-- {
		err := change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
			if _, err := tx.Exec(ctx, beginTimeout); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, `select begin_closing($1, $2)`, date(month), pq.Array(nonNil(without)))
			return err
		})
		switch {
		case pgconn.IsConstraint(err, "usage_months_open"):
			return ErrMonthNotEnded
		case pgconn.IsConstraint(err, "usage_months_order"):
			return ErrEarlierMonthOpen
		case pgconn.IsConstraint(err, "usage_months_later"):
			return ErrLaterMonthClosed
		case pq.As(err, pqerror.LockNotAvailable) == nil || tries == 1:
			return err
		}
		select {
		case <-time.After(beginWait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// nonNil is the list as a parameter that is not null.
func nonNil(list []string) []string { return append([]string{}, list...) }

// sealRecord is what an audit entry holds of a closed month.
type sealRecord struct {
	Month    string   `json:"month"`
	Format   string   `json:"format"`
	Root     string   `json:"root"`
	SHA256   string   `json:"sha256"`
	Tenants  int64    `json:"tenants"`
	Lines    int64    `json:"lines"`
	Admitted int64    `json:"admitted"`
	Refused  int64    `json:"refused"`
	Without  []string `json:"without"`
}

func recordMonth(m Month) sealRecord {
	return sealRecord{
		monthName(m.Month), m.Format, m.Root.String(), m.Sums.SHA256.String(), m.Tenants, m.Sums.Lines, m.Sums.Admitted, m.Sums.Refused,
		nonNil(m.Without),
	}
}

// seal writes the lines, the root and the audit entry. What the lines are computed from is not changed any more, so another connection may
// read it.
func (d Months) seal(ctx context.Context, tx pgconn.Tx, by audit.By, month time.Time) (Month, error) {
	s := sealing{seal: closing.NewSeal(), total: closing.NewTotal(), write: func(tenants []int64, numbers []int64, forms []string) error {
		_, err := tx.Exec(ctx, `
			insert into usage_lines (month, tenant_id, number, form, sha256)
			select $1, l.tenant_id, l.number, l.form, sha256(convert_to(l.form, 'UTF8'))
			from unnest($2::bigint[], $3::integer[], $4::text[]) as l (tenant_id, number, form)`,
			date(month), pq.Array(tenants), pq.Array(numbers), pq.Array(forms))
		return err
	}}
	if err := d.computedLines(ctx, LineQuery{Month: month}, closedLines, s.add); err != nil {
		return Month{}, err
	}
	m, err := s.month()
	if err != nil {
		return Month{}, err
	}
	_, err = tx.Exec(ctx, `
		update usage_months set format = $2, root = $3, tenants = $4, lines = $5, admitted = $6, refused = $7, sha256 = $8 where month = $1`,
		date(month), m.Format, m.Root[:], m.Tenants, m.Sums.Lines, m.Sums.Admitted, m.Sums.Refused, m.Sums.SHA256[:])
	if err != nil {
		return Month{}, err
	}
	if m, err = getMonth(ctx, tx, month, ""); err != nil {
		return Month{}, err
	}
	return m, writeAudit(tx, by, auditEntry{action: "usage.close", subject: "month:" + monthName(month), after: recordMonth(m)})
}

// sealing computes the root of lines, and writes them in batches.
type sealing struct {
	seal  *closing.Seal
	total *closing.Total
	// write is nil for a dry run.
	write func(tenants, numbers []int64, forms []string) error

	last             int64 // the tenant of the last line
	number           int64
	tenants, numbers []int64
	forms            []string
}

func (s *sealing) add(l *closing.Line, form string) error {
	if err := s.seal.Add(l.TenantID, form); err != nil {
		return err
	}
	s.total.Add(l, form)
	if s.write == nil {
		return nil
	}
	if s.number++; l.TenantID != s.last {
		s.last, s.number = l.TenantID, 1
	}
	s.tenants, s.numbers, s.forms = append(s.tenants, l.TenantID), append(s.numbers, s.number), append(s.forms, form)
	if len(s.forms) < sealBatch {
		return nil
	}
	return s.flush()
}

func (s *sealing) flush() error {
	if s.write == nil || len(s.forms) == 0 {
		return nil
	}
	err := s.write(s.tenants, s.numbers, s.forms)
	s.tenants, s.numbers, s.forms = s.tenants[:0], s.numbers[:0], s.forms[:0]
	return err
}

// month returns the sums and the root of all lines.
func (s *sealing) month() (Month, error) {
	if err := s.flush(); err != nil {
		return Month{}, err
	}
	root, tenants, err := s.seal.Root()
	return Month{Format: closing.Format, Root: root, Tenants: tenants, Sums: s.total.Sums()}, err
}
