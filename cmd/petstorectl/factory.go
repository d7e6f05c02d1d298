package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/store"
)

// factory makes what commands work with, each thing when it is first asked for, and holds the flags that all share.
type factory struct {
	streams *streams
	clock   func() time.Time
	getenv  func(string) string
	workDir func() (string, error)
	// patience is how long the database may take to accept a connection.
	patience time.Duration

	globalFlags

	db *store.DB
	// passwords are the database passwords in use, which no message may hold.
	passwords []string
}

// globalFlags belong to every command.
type globalFlags struct {
	output      string
	yes         bool
	dryRun      bool
	reason      string
	databaseURL string
}

func newFactory(s *streams) *factory {
	return &factory{streams: s, clock: time.Now, getenv: os.Getenv, workDir: os.Getwd, patience: 5 * time.Second}
}

// now is the time to the microsecond, which is what Postgres keeps.
func (f *factory) now() time.Time { return f.clock().UTC().Truncate(time.Microsecond) }

// database opens the database once.
func (f *factory) database(ctx context.Context) (*store.DB, error) {
	if f.db != nil {
		return f.db, nil
	}
	found, err := f.findDatabase()
	if err != nil {
		return nil, err
	}
	db, err := f.open(ctx, found.url)
	if err != nil {
		return nil, found.explain(err)
	}
	f.db = db
	return db, nil
}

// open connects without waiting as long as a report may take.
func (f *factory) open(ctx context.Context, url string) (*store.DB, error) {
	soon, cancel := context.WithTimeout(ctx, f.patience)
	defer cancel()
	db, err := await(soon, func() (*store.DB, error) {
		return store.Open(soon, url, store.Options{MaxConns: 2})
	})
	if err != nil && ctx.Err() == nil && soon.Err() != nil {
		return nil, fmt.Errorf("%w: no answer within %v", store.ErrUnavailable, f.patience)
	}
	return db, err
}

func (f *factory) close() {
	if f.db != nil {
		// The process ends, and with it the connections.
		_ = f.db.Close()
	}
}

// keys is the service that issues and revokes keys.
func (f *factory) keys(ctx context.Context) (*keys.Service, error) {
	db, err := f.database(ctx)
	if err != nil {
		return nil, err
	}
	return &keys.Service{Store: db.Keys, Clock: f.now}, nil
}

// by says who makes the change: PETSTORE_ACTOR, else the user of this machine.
func (f *factory) by() (audit.By, error) {
	if err := checkReason(f.reason); err != nil {
		return audit.By{}, err
	}
	actor := f.getenv("PETSTORE_ACTOR")
	if actor == "" {
		u, userErr := user.Current()
		host, hostErr := os.Hostname()
		if err := errors.Join(userErr, hostErr); err != nil {
			return audit.By{}, usageProblem("can't determine who makes this change: %v", err).withHint("set PETSTORE_ACTOR to your name")
		}
		actor = u.Username + "@" + host
	}
	actor = cleanCell(actor)
	if keys.CheckText(actor) != nil {
		return audit.By{}, usageProblem("PETSTORE_ACTOR contains an API key").withHint("set it to your name")
	}
	return audit.By{Actor: actor, Reason: f.reason, DryRun: f.dryRun}, nil
}

// changed tells of a change that was made, or only tried.
func (f *factory) changed(format string, args ...any) {
	if f.dryRun {
		format = "would have " + format
	}
	f.streams.say("%s", fmt.Sprintf(format, args...))
	if f.dryRun {
		f.streams.say("dry run: nothing was changed")
	}
}
