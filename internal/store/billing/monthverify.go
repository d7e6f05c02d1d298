package billing

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/usage/closing"
)

// Verification has the differences between a closed month, the recorded usage, and its audit entry.
type Verification struct {
	Month

	// Differences are the alterations, each as a sentence.
	Differences []string
	// Notes are findings that are not differences, each as a sentence. The entry of the closing may
	// have been removed because of its age. Other entries may claim a closing: any login that may
	// write to the trail can add one.
	Notes []string
}

// Verify returns ErrMonthOpen for a month that is not sealed.
func (d Months) Verify(ctx context.Context, month time.Time) (Verification, error) {
	m, err := d.Get(ctx, month)
	if err == nil && !m.Sealed() {
		err = ErrMonthOpen
	}
	v := monthVerifier{Months: d, Verification: Verification{Month: m}}
	if err == nil {
		err = v.compareAudit(ctx)
	}
	if err == nil {
		err = v.compareLines(ctx)
	}
	if err == nil {
		err = v.compareTotals(ctx)
	}
	if err != nil {
		return Verification{}, fmt.Errorf("verify %s: %w", monthName(month), err)
	}
	return v.Verification, nil
}

// maxDifferences is how many differences are named. Others are counted.
const maxDifferences = 20

// monthVerifier looks for differences.
type monthVerifier struct {
	Months
	Verification

	unnamed int
}

func (v *monthVerifier) differs(format string, args ...any) {
	if len(v.Differences) == maxDifferences {
		v.unnamed++
		return
	}
	v.Differences = append(v.Differences, fmt.Sprintf(format, args...))
}

// closingEntry is an audit entry about the closing of a month.
type closingEntry struct {
	Number int64     `db:"number"`
	At     time.Time `db:"at"`
	Login  string    `db:"login"`
	After  string    `db:"after"`
}

// compareAudit compares the month with the audit entry of its closing: the first entry that the
// login SealedBy wrote from SealedAt on.
func (v *monthVerifier) compareAudit(ctx context.Context) error {
	m, name := v.Month, monthName(v.Month.Month)
	var entries []closingEntry
	err := v.db.Select(
		ctx,
		&entries,
		`select number, at, login, after from usage_closings where after ->> 'month' = $1 order by number`,
		name,
	)
	if err != nil {
		return err
	}
	closed := slices.IndexFunc(
		entries,
		func(e closingEntry) bool { return e.Login == m.SealedBy && !e.At.Before(m.SealedAt) },
	)
	for i, e := range entries {
		if i != closed {
			v.Notes = append(
				v.Notes,
				fmt.Sprintf(
					"entry %d of the audit trail says that %s was closed, and did not close it: login %s wrote it "+
						"at %s",
					e.Number,
					name,
					e.Login,
					closing.Time(e.At),
				),
			)
		}
	}
	if closed < 0 {
		return v.noEntry(ctx)
	}
	record, err := json.Marshal(recordMonth(m))
	if err != nil {
		return err
	}
	members, err := closing.Differing(string(record), entries[closed].After)
	if len(members) > 0 {
		v.differs(
			"usage_months was altered: entry %d of the audit trail has another %s",
			entries[closed].Number,
			strings.Join(members, ", "),
		)
	}
	return err
}

// noEntry notes that the month's closing has no audit entry. That is a difference, unless entries
// of that time were removed.
func (v *monthVerifier) noEntry(ctx context.Context) error {
	var written sql.NullTime
	if err := v.db.Get(ctx, &written, `select written_at from audit_beginning`); err != nil {
		return err
	}
	name, removed := monthName(v.Month.Month), pgconn.TimeOf(written)
	if v.SealedAt.After(removed) {
		v.differs("the audit trail has no entry of login %s that %s was closed", v.SealedBy, name)
		return nil
	}
	v.Notes = append(v.Notes, fmt.Sprintf(
		"the audit entry that %s was closed is not compared: entries up to %s were removed",
		name,
		closing.Time(removed),
	))
	return nil
}

// compareLines compares the sealed lines with the seal, and tenant by tenant with newly computed
// lines.
func (v *monthVerifier) compareLines(ctx context.Context) error {
	total := closing.NewTotal()
	query := LineQuery{Month: v.Month.Month, first: v.Format == closing.FirstFormat}
	nextSealed, stop := iter.Pull2(byTenant(func(each func(closing.Line) error) error {
		return v.sealedLines(ctx, query, func(s sealedLine) error {
			l := v.parse(s)
			total.Add(&l, closing.Hash(s.SHA256))
			return each(l)
		})
	}))
	defer stop()
	nextNow, stop := iter.Pull2(byTenant(func(each func(closing.Line) error) error {
		return v.computedLines(ctx, query, closedLines, func(l *closing.Line, _ string) error { return each(*l) })
	}))
	defer stop()
	sealed, err, _ := nextSealed()
	now, nowErr, _ := nextNow()
	for {
		if err := errors.Join(err, nowErr); err != nil {
			return err
		}
		if len(sealed)+len(now) == 0 {
			break
		}
		var was, is []closing.Line
		order := cmp.Compare(tenantOf(sealed), tenantOf(now))
		if order <= 0 {
			was = sealed
			sealed, err, _ = nextSealed()
		}
		if order >= 0 {
			is = now
			now, nowErr, _ = nextNow()
		}
		if err := v.compareTenant(was, is); err != nil {
			return err
		}
	}
	if v.unnamed > 0 {
		v.Differences = append(v.Differences, fmt.Sprintf("there are %d more differences", v.unnamed))
	}
	if s := total.Sums(); s != v.Sums {
		v.Differences = append(v.Differences, fmt.Sprintf("usage_lines has %s, but usage_months has %s", s, v.Sums))
	}
	return nil
}

// compareTotals compares the running totals by which the limiter counted with what is recorded.
func (v *monthVerifier) compareTotals(ctx context.Context) error {
	wrong, tenant, err := Usage{v.db}.WrongMonths(ctx, v.Month.Month)
	if wrong > 0 {
		v.Differences = append(v.Differences, fmt.Sprintf(
			"tenant_months was altered: the totals of %d tenants differ from the recorded usage, such as that of %s",
			wrong, tenant))
	}
	return err
}

// tenantOf is the tenant of the lines. Without lines it is greater than all tenants' numbers.
func tenantOf(lines []closing.Line) int64 {
	if len(lines) == 0 {
		return math.MaxInt64
	}
	return lines[0].TenantID
}

// errStop ends a stream.
var errStop = errors.New("stop")

// byTenant groups lines that arrive tenant by tenant. It ends with the stream's error, if any.
func byTenant(stream func(each func(closing.Line) error) error) iter.Seq2[[]closing.Line, error] {
	return func(yield func([]closing.Line, error) bool) {
		var lines []closing.Line
		err := stream(func(l closing.Line) error {
			if len(lines) > 0 && lines[0].TenantID != l.TenantID {
				if !yield(lines, nil) {
					return errStop
				}
				lines = nil
			}
			lines = append(lines, l)
			return nil
		})
		switch {
		case errors.Is(err, errStop):
		case err != nil:
			yield(nil, err)
		case len(lines) > 0:
			yield(lines, nil)
		}
	}
}

// parse reads a sealed line, and notes if its columns do not match its form. The hash of an erased
// tenant's line is not compared: it is the hash of the line with the name.
func (v *monthVerifier) parse(s sealedLine) closing.Line {
	l, err := closing.Parse(s.Form)
	redacted := s.Erased && l.Tenant == plans.ErasedName(s.TenantID)
	if err != nil || l.Month != monthName(v.Month.Month) || l.TenantID != s.TenantID ||
		closing.Sum(s.Form) != closing.Hash(s.SHA256) && !redacted {
		v.differs(
			"line %d of tenant %d in usage_lines was altered: its form, sha256, tenant and month do not belong "+
				"together",
			s.Number,
			s.TenantID,
		)
	}
	l.TenantID = s.TenantID
	return l
}

// compareTenant compares the lines of a tenant as sealed with the lines as computed now. The tenant
// may have another name. Hours that are summed into days have no hash: they were compared before
// they were summed.
func (v *monthVerifier) compareTenant(sealed, now []closing.Line) error {
	was, is, first := closing.NewTotal(), closing.NewTotal(), ""
	for _, l := range sealed {
		was.Add(&l, closing.Hash{})
	}
	for i, l := range now {
		is.Add(&l, closing.Hash{})
		if len(sealed) != len(now) || first != "" {
			continue
		}
		if l.Tenant = sealed[i].Tenant; l.Recorded == (closing.Hash{}) {
			l.Recorded = sealed[i].Recorded
		}
		form, err := l.Form()
		sealedForm, sealedErr := sealed[i].Form()
		members, differErr := closing.Differing(form, sealedForm)
		if err := errors.Join(err, sealedErr, differErr); err != nil {
			return err
		}
		if len(members) > 0 {
			first = fmt.Sprintf("; line %d differs in %s", i+1, strings.Join(members, ", "))
		}
	}
	s, n := was.Sums(), is.Sums()
	if s != n || first != "" {
		l := slices.Concat(sealed, now)[0]
		v.differs(
			"tenant %d (%s): %d lines, %d admitted and %d refused are sealed; %d lines, %d admitted and %d refused "+
				"are recorded%s",
			l.TenantID,
			l.Tenant,
			s.Lines,
			s.Admitted,
			s.Refused,
			n.Lines,
			n.Admitted,
			n.Refused,
			first,
		)
	}
	return nil
}
