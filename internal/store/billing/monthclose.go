package billing

import (
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"petstore.example/internal/audit"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/trail"
	"petstore.example/internal/usage/closing"
)

const (
	// beginTries and beginWait bound how long closing a month waits for batches of usage under way.
	// New batches wait meanwhile, so each try is far shorter than a server's call.
	beginTries   = 20
	beginTimeout = `set local lock_timeout = '300ms'`
	beginWait    = 200 * time.Millisecond
	// sealBatch is the number of lines written at once.
	sealBatch = 500
)

// Close closes a month and seals its lines. It does not wait for the servers in without, nor for
// forgotten ones (Forget). It returns ErrMonthClosed, ErrMonthNotEnded, ErrEarlierMonthOpen or
// ErrLaterMonthClosed. If it is interrupted, usage is already counted as late, and a later call
// seals the month. A dry run returns what would be sealed.
func (d Months) Close(ctx context.Context, by audit.By, month time.Time, without []string) (Month, error) {
	m, err := d.close(ctx, by, month, without)
	if err != nil {
		return Month{}, fmt.Errorf("close %s: %w", monthName(month), err)
	}
	return m, nil
}

func (d Months) close(ctx context.Context, by audit.By, month time.Time, without []string) (Month, error) {
	without, err := d.begin(ctx, by, month, without)
	if err != nil {
		return Month{}, err
	}
	if by.DryRun {
		sums, err := d.sealLines(ctx, month, func(int64, []string) error { return nil })
		return Month{Month: month, Without: without, Format: closing.Format, Sums: sums}, err
	}
	var sealed Month
	err = trail.Change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
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

// begin closes the month to changes, and returns the servers that it does not wait for. In a dry
// run it only checks whether the month may be closed.
func (d Months) begin(
	ctx context.Context, by audit.By, month time.Time, without []string,
) (all pq.StringArray, err error) {
	for tries := beginTries; ; tries-- {
		err := trail.Change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
			if _, err := tx.Exec(ctx, beginTimeout); err != nil {
				return err
			}
			return tx.Get(ctx, &all, `select begin_closing($1, $2)`, date(month), pq.Array(nonNil(without)))
		})
		switch {
		case pgconn.IsConstraint(err, "usage_months_open"):
			return nil, ErrMonthNotEnded
		case pgconn.IsConstraint(err, "usage_months_order"):
			return nil, ErrEarlierMonthOpen
		case pgconn.IsConstraint(err, "usage_months_later"):
			return nil, ErrLaterMonthClosed
		case pq.As(err, pqerror.LockNotAvailable) == nil || tries == 1:
			return all, err
		}
		select {
		case <-time.After(beginWait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// nonNil returns the list as a parameter that is not null.
func nonNil(list []string) []string { return append([]string{}, list...) }

// sealRecord is the part of an audit entry about a closed month.
type sealRecord struct {
	Month    string   `json:"month"`
	Format   string   `json:"format"`
	SHA256   string   `json:"sha256"`
	Tenants  int64    `json:"tenants"`
	Lines    int64    `json:"lines"`
	Admitted int64    `json:"admitted"`
	Refused  int64    `json:"refused"`
	Overage  int64    `json:"overage,omitempty"`
	Without  []string `json:"without"`
}

func recordMonth(m Month) sealRecord {
	return sealRecord{
		monthName(m.Month),
		m.Format,
		m.Sums.SHA256.String(),
		m.Sums.Tenants,
		m.Sums.Lines,
		m.Sums.Admitted,
		m.Sums.Refused,
		m.Sums.Overage,
		nonNil(m.Without),
	}
}

// seal writes the lines, the sums and the audit entry. It may read the data of the lines on another
// connection, because that data no longer changes.
func (d Months) seal(ctx context.Context, tx pgconn.Tx, by audit.By, month time.Time) (Month, error) {
	sums, err := d.sealLines(ctx, month, func(before int64, forms []string) error {
		_, err := tx.Exec(ctx, `
			insert into usage_lines (month, tenant_id, number, form, sha256)
			select $1, (l.form::jsonb ->> 'tenant_id')::bigint, $2 + l.n, l.form, sha256(convert_to(l.form, 'UTF8'))
			from unnest($3::text[]) with ordinality as l (form, n)`, date(month), before, pq.Array(forms))
		return err
	})
	if err != nil {
		return Month{}, err
	}
	_, err = tx.Exec(
		ctx,
		`update usage_months set format = $2, tenants = $3, lines = $4, admitted = $5, refused = $6, overage = $7,
			sha256 = $8 where month = $1`,
		date(month),
		closing.Format,
		sums.Tenants,
		sums.Lines,
		sums.Admitted,
		sums.Refused,
		sums.Overage,
		sums.SHA256[:],
	)
	if err != nil {
		return Month{}, err
	}
	m, err := getMonth(ctx, tx, month, "")
	if err != nil {
		return Month{}, err
	}
	return m, trail.Write(
		tx,
		by,
		trail.Entry{Action: "usage.close", Subject: "month:" + monthName(month), After: recordMonth(m)},
	)
}

// sealLines computes the lines of a month, and passes their forms to write in batches, each with
// the number of lines before it.
func (d Months) sealLines(
	ctx context.Context,
	month time.Time,
	write func(before int64, forms []string) error,
) (closing.Sums, error) {
	total, before, forms := closing.NewTotal(), int64(0), []string(nil)
	flush := func() error {
		err := write(before, forms)
		before, forms = before+int64(len(forms)), forms[:0]
		return err
	}
	err := d.computedLines(ctx, LineQuery{Month: month}, closedLines, func(l *closing.Line, form string) error {
		total.Add(l, closing.Sum(form))
		if forms = append(forms, form); len(forms) < sealBatch {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	return total.Sums(), err
}
