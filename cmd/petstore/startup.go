package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/rs/zerolog"

	"petstore.example/internal/store"
	"petstore.example/internal/store/changefeed"
	"petstore.example/internal/store/migrate"
	"petstore.example/internal/store/pgconn"
)

// warnings are what the checks at start found that does not keep the server from working, by the name of the check.
type warnings map[string]string

// openDatabase opens the database and checks that this server can work on it: that its connections have the role and the settings of the
// API, that notifications arrive, and that the schema is the one of this program. The error says what to do. Warnings are logged.
func openDatabase(ctx context.Context, cfg config, serverID string, log zerolog.Logger) (*store.DB, warnings, error) {
	db, err := store.Open(ctx, string(cfg.DatabaseURL), store.Options{AsAPI: true, MaxConns: databaseConns, Timeout: callTimeout})
	if err != nil {
		return nil, nil, fmt.Errorf("PETSTORE_DATABASE_URL: %w", err)
	}
	found := warnings{}
	if err := checkDatabase(ctx, db, cfg, serverID, found); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("PETSTORE_DATABASE_URL: %w", err), db.Close())
	}
	for check, message := range found {
		log.Warn().Str("check", check).Msg(message)
	}
	return db, found, nil
}

func checkDatabase(ctx context.Context, db *store.DB, cfg config, serverID string, found warnings) error {
	// First, because prepared statements fail in puzzling ways if clients share sessions.
	if err := changefeed.Check(ctx, string(cfg.DatabaseURL), "petstore_start_"+serverID, db.Notify); err != nil {
		return err
	}
	login, role, err := db.ServerLogin(ctx)
	if err != nil {
		return err
	}
	if role != pgconn.APIRole {
		return fmt.Errorf("connections work as %s, not as %s: something between this server and Postgres drops their settings; connect directly",
			role, pgconn.APIRole)
	}
	if excess := login.Excess(); excess != "" && !cfg.dev {
		found["login"] = fmt.Sprintf("login %q %s: a server needs a login in %s alone; see docs/roles.md", login.Name, excess, pgconn.APIRole)
	}
	err = migrate.Check(ctx, string(cfg.DatabaseURL))
	if errors.Is(err, migrate.ErrNewer) {
		found["schema"] = err.Error()
		return nil
	}
	return err
}
