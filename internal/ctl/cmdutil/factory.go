package cmdutil

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"strings"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/envvars"
	"petstore.example/internal/keys"
	"petstore.example/internal/store"
)

// Factory makes what commands need, each thing on its first use, and holds the flags that several
// commands share.
type Factory struct {
	*IOStreams

	// Clock returns the time. If it is nil, times that are stored come from the database's clock,
	// other times from this machine's.
	Clock func() time.Time
	// CallTimeout is how long a call to the database may take; 0 for 30 s. See NoTimeLimit.
	CallTimeout time.Duration
	// Version is the release's version, "" if the linker set none.
	Version string
	// Command is the running command, such as key revoke.
	Command string
	// JSONErrors says that the command line's error is printed as JSON.
	JSONErrors bool

	// Changes is set once a command may have changed something.
	Changes bool

	SharedFlags
	DatabaseFinder

	db *store.DB
	// undoable are the entries that the command wrote and that can be taken back.
	undoable audit.Numbers
	// last is the last message on stderr, after everything else; "" for none.
	last string
}

// NewFactory returns the Factory of a process.
func NewFactory(s *IOStreams) *Factory {
	return &Factory{
		IOStreams:      s,
		DatabaseFinder: DatabaseFinder{Getenv: envvars.Getenv, WorkDir: os.Getwd},
	}
}

// Now is the time to the microsecond, which is the resolution of Postgres.
func (f *Factory) Now() time.Time {
	clock := f.Clock
	if clock == nil {
		clock = time.Now
	}
	return clock().UTC().Truncate(time.Microsecond)
}

// DB opens the database once. If only a dev.json named it, stderr says so.
func (f *Factory) DB(ctx context.Context) (*store.DB, error) {
	if f.db != nil {
		return f.db, nil
	}
	source, err := f.FindDatabase()
	if err != nil {
		return nil, err
	}
	if source.Dev != nil {
		f.Messagef("petstorectl: using the database of %s", output.Clean(source.SetBy))
	}
	if source.Warning != "" {
		f.Messagef("petstorectl: %s", output.Clean(source.Warning))
	}
	db, err := Open(ctx, f, source)
	if err != nil {
		return nil, source.Explain(err)
	}
	noteExpiry(f, source)
	f.db = db
	return db, nil
}

// Open opens a database that the caller closes. It waits as long as the URL's connect_timeout, or 5
// s, for the connection. The error is the store's.
func Open(ctx context.Context, f *Factory, source DatabaseSource) (*store.DB, error) {
	timeout := cmp.Or(source.Target.ConnectTimeout, 5*time.Second)
	connectCtx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	options := store.Options{MaxConns: 2, Clock: f.Clock, Timeout: f.CallTimeout, OpenTimeout: timeout}
	db, err := store.Open(connectCtx, source.URL, options)
	if late := (net.Error)(nil); ctx.Err() == nil && errors.As(err, &late) && late.Timeout() {
		return nil, fmt.Errorf("%w: no answer within %v", store.ErrUnavailable, timeout)
	}
	return db, err
}

// NoTimeLimit is the CallTimeout of a command that reads an unlimited amount.
const NoTimeLimit = 24 * time.Hour

// Close closes the database.
func (f *Factory) Close() {
	if f.db != nil {
		// The process ends now, and with it the connections.
		_ = f.db.Close()
	}
}

// Keys is the service that issues and revokes keys.
func (f *Factory) Keys(db *store.DB) *keys.Service {
	return &keys.Service{Store: db.Keys, Clock: f.Now}
}

// BeginChange returns who makes a change, and the database, after CheckUnambiguous.
func (f *Factory) BeginChange(ctx context.Context) (audit.By, *store.DB, error) {
	actor, err := actor(f)
	if err != nil {
		return actor, nil, err
	}
	if err := f.CheckUnambiguous(); err != nil {
		return actor, nil, err
	}
	db, err := f.DB(ctx)
	f.Changes = !f.DryRun
	return actor, db, err
}

// SayLast prints on stderr what comes after everything else: how to read on in a list, or how to
// take back what the command changed.
func (f *Factory) SayLast() {
	if f.last != "" {
		f.Messagef("%s", f.last)
	}
	if len(f.undoable) > 0 {
		f.Messagef("undo: petstorectl undo %s", f.undoNumbers())
	}
}

// undoNumbers are the arguments that undo what the command changed.
func (f *Factory) undoNumbers() string { return strings.ReplaceAll(f.undoable.String(), ",", " ") }

// actor is who makes a change: PETSTORE_ACTOR, or the user of this machine if that is not set.
func actor(f *Factory) (audit.By, error) {
	if err := checkReason(f.Reason); err != nil {
		return audit.By{}, err
	}
	actor := f.Getenv("PETSTORE_ACTOR")
	if actor == "" {
		u, userErr := user.Current()
		host, hostErr := os.Hostname()
		if err := errors.Join(userErr, hostErr); err != nil {
			return audit.By{}, UsageErrorf(
				"can't determine who makes this change: %v",
				err,
			).WithHint("set PETSTORE_ACTOR to your name")
		}
		actor = u.Username + "@" + host
	}
	if err := keys.CheckText(actor); err != nil {
		return audit.By{}, UsageErrorf("PETSTORE_ACTOR: %v", err).WithHint("set it to your name")
	}
	return audit.By{Actor: actor, Reason: f.Reason, DryRun: f.DryRun, Undoable: &f.undoable}, nil
}
