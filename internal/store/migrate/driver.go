package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/golang-migrate/migrate/v4/database"
	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"petstore.example/internal/store/pgconn"
)

// driver connects golang-migrate to the database. That library's own driver records the beginning
// of a step, runs it, and records its end. After a crash, nobody would know what took effect. Here
// a step and its record are one transaction. A step that can't be in a transaction is one statement
// that can be repeated, and is recorded after it.
type driver struct {
	database.Driver // nil: golang-migrate calls only the methods below
	migrator
	ctx  context.Context
	conn *connection
	pid  int
	// at is the version of the database, target the version that SetVersion named last.
	at, target int
	// waited has the sessions that the step last waited for.
	waited []Session
}

// newDriver adds the table of the version, if it is missing. The caller has locked the database.
func (g migrator) newDriver(ctx context.Context, c *connection) (*driver, error) {
	d := &driver{migrator: g, ctx: ctx, conn: c}
	var exists bool
	if err := d.conn.QueryRowContext(
		ctx,
		`select pg_backend_pid(), to_regclass('schema_migrations') is not null`,
	).Scan(&d.pid, &exists); err != nil {
		return nil, pgconn.Translate(err)
	}
	if !exists {
		if err := d.exec(
			`create table schema_migrations (version bigint primary key, dirty boolean not null)`,
		); err != nil {
			return nil, pgconn.Translate(err)
		}
	}
	return d, nil
}

// Lock does nothing: run has locked the database.
func (d *driver) Lock() error { return nil }

// Unlock does nothing: the lock ends with the connection.
func (d *driver) Unlock() error { return nil }

// Version returns the version of the database, database.NilVersion for none.
func (d *driver) Version() (version int, dirty bool, err error) {
	err = d.conn.QueryRowContext(d.ctx, `select version, dirty from schema_migrations`).Scan(&version, &dirty)
	if errors.Is(err, sql.ErrNoRows) {
		version, err = database.NilVersion, nil
	}
	d.at = version
	return version, dirty, pgconn.Translate(err)
}

// SetVersion remembers the version for Run, which records it.
func (d *driver) SetVersion(version int, dirty bool) error {
	d.target = version
	if !dirty {
		d.at = version
	}
	return nil
}

// outside is the first line of a step that can't be in a transaction.
const outside = "-- no transaction\n"

// Run makes the step to the version that SetVersion named, and records it. If others hold locks
// that it needs, it releases its own, so that nobody waits long behind it, and tries again.
func (d *driver) Run(file io.Reader) error {
	data, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	text, attempt, pause := string(data), d.inTransaction, d.pause
	if strings.HasPrefix(text, outside) {
		attempt = d.alone
	}
	for end := time.Now().Add(d.tryFor); ; pause = min(2*pause, longestPause) {
		err = attempt(text)
		left := time.Until(end)
		if err == nil || !isBusy(err, text) || d.ctx.Err() != nil || left <= 0 {
			break
		}
		pause = min(pause, left)
		_ = d.conn.db.PingContext(d.ctx) // opens a connection for the next watch
		d.say(fmt.Sprintf("migration %s waits for %s; it tries again in %v, for %v at most",
			d.step(), names(d.waited), pause.Round(time.Millisecond), left.Round(time.Second)))
		select {
		case <-d.ctx.Done():
		case <-time.After(pause):
		}
	}
	if err == nil || d.ctx.Err() != nil {
		return errors.Join(err, d.ctx.Err())
	}
	if isBusy(err, text) {
		err = fmt.Errorf("locks that it needs are held, for %v, by %s: %w", d.tryFor, names(d.waited), err)
	}
	return fmt.Errorf("between %s and %s: %w", d.nameOf(d.at), d.nameOf(d.target), err)
}

// longestPause is the longest pause between two attempts. Each attempt keeps requests waiting.
const longestPause = 30 * time.Second

// step names the step that Run makes. A step down has the name of the step that it reverts.
func (d *driver) step() string { return d.nameOf(max(d.at, d.target)) }

// isBusy reports whether a step may succeed later: others hold a lock that it needs, Postgres ended
// it because of a deadlock, or its lockTable took too long.
func isBusy(err error, text string) bool {
	return pq.As(err, pqerror.LockNotAvailable, pqerror.TRDeadlockDetected) != nil ||
		pq.As(err, pqerror.QueryCanceled) != nil && lockTable.MatchString(text)
}

// lockTable matches a "lock table" at the beginning of a step, with the comments before it. Such a
// statement takes all strong locks of the step.
var lockTable = regexp.MustCompile(`^(?:\s|--[^\n]*\n)*lock table [^;]*;`)

// inTransaction makes a step and records it in one message, so that it waits for no network while
// it holds locks. lock_timeout is per lock, so the statement that takes several also has a limit.
func (d *driver) inTransaction(text string) error {
	defer d.watch(d.lockTimeout/3, func(all []Session) { d.waited = all })()
	limit := d.lockTimeout.Milliseconds()
	begin := fmt.Sprintf(`begin; set local lock_timeout = %d; `, limit)
	lock := lockTable.FindString(text)
	if lock != "" {
		begin += fmt.Sprintf(`set local statement_timeout = %d; `, limit)
		text = lock + ` set local statement_timeout = 0;` + text[len(lock):] // The line numbers of errors stay right.
	}
	err := pgconn.CommitError(d.exec(begin + text + "\n;" + d.record() + `; commit`))
	if err != nil {
		finally(d.ctx, d.conn.Conn, `rollback`)
	}
	return err
}

// record returns the statements that record the version. They do not truncate, because others read
// the table meanwhile.
func (d *driver) record() string {
	if d.target == database.NilVersion {
		return `delete from schema_migrations`
	}
	return fmt.Sprintf(`delete from schema_migrations; insert into schema_migrations values (%d, false)`, d.target)
}

// index is the index of a step that can't be in a transaction.
var index = regexp.MustCompile(`index concurrently (?:if (?:not )?exists )?([a-z_0-9]+)`)

// alone makes a step that can't be in a transaction. It blocks nobody, so it waits for others as
// long as they take. It first removes what an interrupted attempt left: an invalid index, which "if
// not exists" would accept.
func (d *driver) alone(text string) error {
	defer d.watch(d.pause, func(all []Session) {
		d.say(fmt.Sprintf("migration %s waits for %s; nobody waits for it", d.step(), names(all)))
	})()
	if of := index.FindStringSubmatch(text); of != nil {
		var invalid bool
		if err := d.conn.QueryRowContext(d.ctx,
			`select exists (select from pg_index where indexrelid = to_regclass($1) and not indisvalid)`,
			of[1]).Scan(&invalid); err != nil {
			return err
		}
		if invalid {
			if err := d.exec(`drop index concurrently if exists ` + of[1]); err != nil {
				return err
			}
		}
	}
	if err := d.exec(text); err != nil {
		return pgconn.CommitError(err)
	}
	return pgconn.CommitError(d.exec(`begin; ` + d.record() + `; commit`))
}

// finally runs a statement even if ctx has ended. If it fails the connection is broken, which has
// the same effect.
func finally(ctx context.Context, conn *sql.Conn, statement string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectTimeout)
	defer cancel()
	_, _ = conn.ExecContext(ctx, statement)
}

// exec runs statements without arguments, in one message. Errors of Postgres name the line.
func (d *driver) exec(statements string) error {
	_, err := d.conn.ExecContext(d.ctx, statements)
	if e := pq.As(err); e != nil {
		if at, atoiErr := strconv.Atoi(e.Position); atoiErr == nil && at > 0 {
			before := []rune(statements)
			return fmt.Errorf("line %d: %w", strings.Count(string(before[:min(at, len(before))]), "\n")+1, err)
		}
	}
	return err
}
