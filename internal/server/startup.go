package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/api"
	"petstore.example/internal/keys"
	"petstore.example/internal/server/config"
	"petstore.example/internal/store"
	"petstore.example/internal/store/changefeed"
	"petstore.example/internal/store/migrate"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/storeclock"
)

const (
	// databaseConns is the size of the connection pool of requests and recording. callTimeout
	// bounds each call.
	databaseConns = 16
	callTimeout   = 1100 * time.Millisecond
)

// startup opens the database and checks that this server can work on it.
type startup struct {
	cfg      *config.Config
	metrics  *registry
	clock    *storeclock.Clock
	serverID string
	log      zerolog.Logger
	// tried, if not nil, is called with each check and its result.
	tried func(what string, err error)
	// waiting is called repeatedly while the server waits for a migration; nil if it does not wait.
	waiting func(text string)
}

// open opens the database and checks that this server can work on it: that its connections
// have the role and the settings of the API, that notifications arrive, and that the schema is the
// one of this program. The error says what to do. Warnings are logged.
func (s *startup) open(ctx context.Context) (db *store.DB, found config.Warnings, err error) {
	if err := s.migrated(ctx, func() (err error) {
		found = maps.Clone(s.cfg.Warnings)
		if err = s.check(ctx, found); err != nil {
			return err
		}
		db, err = s.metrics.open(ctx, string(s.cfg.DatabaseURL), requestsPool, patiently(s.log, store.Options{
			AsAPI:     true,
			MaxConns:  databaseConns,
			Timeout:   callTimeout,
			Trace:     traceQueries(s.cfg),
			Earliest:  s.clock.Earliest,
			Abandoned: api.ClientGone,
		}))
		return err
	}); err != nil {
		return nil, nil, databaseError(s.cfg, err)
	}
	for check, message := range found {
		s.log.Warn().Str("check", check).Msg(message)
	}
	return db, found, nil
}

// migrated calls try. If tables or rights are missing and a migration runs, it waits for the
// migration's end, however long that takes, and calls try again. A server that only checks does not
// wait.
func (s *startup) migrated(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil || errors.Is(err, store.ErrUnavailable) || s.waiting == nil {
			return err
		}
		told := ""
		ready, _ := migrate.Await(ctx, string(s.cfg.DatabaseURL), func(by migrate.Session) {
			text := "waiting: a migration runs: " + by.String()
			s.waiting(text)
			if text != told {
				told = text
				s.log.Info().Msg(text + "; " + by.End())
			}
		})
		// The migration may have ended before Await looked for it.
		behind := errors.As(err, &pgconn.NeverMigratedError{}) || errors.As(err, &migrate.BehindError{})
		if !ready || told == "" && !behind {
			return err
		}
	}
}

// check makes the checks, and measures the clock, so that nothing is decided by a wrong one.
func (s *startup) check(ctx context.Context, found config.Warnings) error {
	db, err := store.Open(
		ctx,
		string(s.cfg.DatabaseURL),
		patiently(s.log, store.Options{AsAPI: true, MaxConns: 1, Timeout: startTimeout}),
	)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	if err := s.checkDatabase(ctx, db, found); err != nil {
		return err
	}
	return s.clock.Measure(func() (time.Time, error) { return db.Cluster.Now(ctx) })
}

// checked passes the result of a check to tried, and returns the error.
func (s *startup) checked(what string, err error) error {
	if s.tried != nil {
		s.tried(what, err)
	}
	return err
}

func (s *startup) checkDatabase(ctx context.Context, db *store.DB, found config.Warnings) error {
	// This check is first, because prepared statements fail in puzzling ways if clients share
	// sessions.
	if err := s.checked(
		"Postgres answers, and notifies",
		changefeed.Check(ctx, db.CurrentURL(), "petstore_start_"+s.serverID, db.Notify),
	); err != nil {
		return err
	}
	login := s.checked("the login may serve", checkLogin(ctx, db, s.cfg, found))
	schema := migrate.Check(ctx, string(s.cfg.DatabaseURL))
	if errors.Is(schema, migrate.ErrNewer) {
		found["schema"], schema = schema.Error(), nil
	}
	if schema = s.checked("the schema can be used", schema); schema == nil {
		schema = s.checked("petstore_api has its rights", checkRights(ctx, db))
	}
	return errors.Join(login, schema)
}

// checkLogin refuses a login that the rights of tables and row-level security do not bind: a
// superuser, and the owner of the tables. It warns about other rights that a server does not need.
func checkLogin(ctx context.Context, db *store.DB, cfg *config.Config, found config.Warnings) error {
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
	if excess == "" || cfg.Dev {
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

// checkRights looks up a caller that does not exist. Without the migrations' rights, as after a
// restore that left them out, a server would start and refuse every key.
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
