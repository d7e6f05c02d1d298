package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/advice"
	"petstore.example/internal/keys"
	"petstore.example/internal/store"
	"petstore.example/internal/store/changefeed"
	"petstore.example/internal/store/migrate"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/storeclock"
)

// warnings are what the checks at start found that does not keep the server from working, by the
// name of the check.
type warnings map[string]string

// add adds a sentence to what a check found.
func (w warnings) add(check, message string) {
	if w[check] != "" {
		message = w[check] + "; " + message
	}
	w[check] = message
}

// openDatabase opens the database and checks that this server can work on it: that its connections
// have the role and the settings of the API, that notifications arrive, and that the schema is the
// one of this program. The error says what to do. Warnings are logged.
func openDatabase(
	ctx context.Context,
	cfg config,
	m *registry,
	clock *storeclock.Clock,
	serverID string,
	log zerolog.Logger,
) (*store.DB, warnings, error) {
	var db *store.DB
	var found warnings
	if err := cfg.migrated(ctx, log, func() (err error) {
		found = maps.Clone(cfg.found)
		if err = checkPatiently(ctx, cfg, clock, serverID, found, log); err != nil {
			return err
		}
		db, err = m.open(ctx, string(cfg.DatabaseURL), requestsPool, patiently(log, store.Options{
			AsAPI:    true,
			MaxConns: databaseConns,
			Timeout:  callTimeout,
			Trace:    cfg.traceQueries(),
			Earliest: clock.Earliest,
		}))
		return err
	}); err != nil {
		return nil, nil, cfg.databaseError(err)
	}
	for check, message := range found {
		log.Warn().Str("check", check).Msg(message)
	}
	return db, found, nil
}

// migrated calls try, and again when a migration that runs meanwhile has given the schema what try
// lacked: tables, or rights. It waits as long as that takes, unless the server only checks.
func (c *config) migrated(ctx context.Context, log zerolog.Logger, try func() error) error {
	for {
		err := try()
		if err == nil || errors.Is(err, store.ErrUnavailable) || c.waiting == nil {
			return err
		}
		told := ""
		ready, _ := migrate.Await(ctx, string(c.DatabaseURL), func(by migrate.Session) {
			text := "waiting: a migration runs: " + by.String()
			c.waiting(text)
			if text != told {
				told = text
				log.Info().Msg(text + "; " + by.End())
			}
		})
		// It may have ended before it was looked for.
		behind := errors.As(err, &pgconn.NeverMigratedError{}) || errors.As(err, &migrate.BehindError{})
		if !ready || told == "" && !behind {
			return err
		}
	}
}

// databaseError names the variable that leads to the database, and says what to do.
func (c *config) databaseError(err error) error {
	return explained(setBy(databaseVariable, c.DatabaseURLFile), err)
}

// explained names the variable that is the cause of an error, and says what to do.
func explained(variable string, err error) error {
	do := advice.On(err)
	if do != "" {
		do = "; " + do
	}
	return fmt.Errorf("%s: %w%s", variable, err, do)
}

// startTimeout bounds what a server waits for at start, and no request does: that a pool connects,
// and each call of the checks. A Postgres that is slow is no reason not to start.
const startTimeout = 10 * time.Second

// patiently returns the options of a pool that is opened at start.
func patiently(log zerolog.Logger, o store.Options) store.Options {
	o.OpenTimeout = startTimeout
	o.Waiting = func(err error) { log.Warn().Err(err).Msg("waiting for Postgres") }
	return o
}

// checkPatiently makes the checks, and measures the clock, so that nothing is decided by a wrong
// one.
func checkPatiently(
	ctx context.Context,
	cfg config,
	clock *storeclock.Clock,
	serverID string,
	found warnings,
	log zerolog.Logger,
) error {
	db, err := store.Open(
		ctx,
		string(cfg.DatabaseURL),
		patiently(log, store.Options{AsAPI: true, MaxConns: 1, Timeout: startTimeout}),
	)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	if err := checkDatabase(ctx, db, cfg, serverID, found); err != nil {
		return err
	}
	return clock.Measure(func() (time.Time, error) { return db.Cluster.Now(ctx) })
}

func checkDatabase(ctx context.Context, db *store.DB, cfg config, serverID string, found warnings) error {
	// First, because prepared statements fail in puzzling ways if clients share sessions.
	if err := cfg.checked(
		"Postgres answers, and notifies",
		changefeed.Check(ctx, db.CurrentURL(), "petstore_start_"+serverID, db.Notify),
	); err != nil {
		return err
	}
	login := cfg.checked("the login may serve", checkLogin(ctx, db, cfg, found))
	schema := migrate.Check(ctx, string(cfg.DatabaseURL))
	if errors.Is(schema, migrate.ErrNewer) {
		found["schema"], schema = schema.Error(), nil
	}
	if schema = cfg.checked("the schema can be used", schema); schema == nil {
		schema = cfg.checked("petstore_api has its rights", checkRights(ctx, db))
	}
	return errors.Join(login, schema)
}

// checkLogin refuses a login to which the rights of tables and row-level security do not apply: a
// superuser, and the owner of the tables. Of another right that a server does not need it warns.
func checkLogin(ctx context.Context, db *store.DB, cfg config, found warnings) error {
	login, role, err := db.ServerLogin(ctx)
	if err != nil {
		return err
	}
	if role != pgconn.APIRole {
		return fmt.Errorf(
			"connections work as %s, not as %s: something between this server and Postgres drops their settings; "+
				"connect directly",
			role,
			pgconn.APIRole,
		)
	}
	excess := login.Excess()
	if excess == "" || cfg.dev {
		return nil
	}
	text := fmt.Sprintf(
		"login %q %s: a server needs a login in %s alone; see docs/roles.md",
		login.Name,
		excess,
		pgconn.APIRole,
	)
	if (login.Superuser || login.Owner) && !bool(cfg.AllowOwner) {
		return errors.New(text + ", or set PETSTORE_ALLOW_OWNER=yes")
	}
	found["login"] = text
	return nil
}

// checkRights looks up a caller that does not exist. Without the rights of the migrations, for
// example after a restore without them, a server would start and refuse every key.
func checkRights(ctx context.Context, db *store.DB) error {
	_, err := db.Keys.Caller(ctx, keys.Digest{}, time.Now())
	switch {
	case errors.Is(err, keys.ErrKeyNotFound):
		return nil
	case pgconn.IsForbidden(err):
		return fmt.Errorf(
			"%s lacks rights that the migrations gave it; restore the database with its rights, see docs/roles.md",
			pgconn.APIRole,
		)
	}
	return err
}
