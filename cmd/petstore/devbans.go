package main

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/keys/strikes"
	"petstore.example/internal/store"
)

// devBanLength is how long `petstore dev` bans a key that continues after 429: long enough to see the answer, and too short to wait for.
const devBanLength = 10 * time.Second

// devBans places short bans, for somebody who tries their own server under load. The function of Postgres by which a server of customers
// bans keys knows no other lengths than theirs, so these are bans by staff: `petstore dev` owns the tables.
type devBans struct {
	databaseURL string
	staffPrefix string
	log         zerolog.Logger
}

// bans returns what places bans.
func (c *config) bans(db *store.DB, log zerolog.Logger) strikes.BanStore {
	if c.dev {
		return devBans{string(c.DatabaseURL), c.staffPrefix, log}
	}
	return db.Bans
}

// PlaceAutomaticBan implements strikes.BanStore.
func (d devBans) PlaceAutomaticBan(ctx context.Context, _ int64, keyID string, now time.Time) (keys.Ban, error) {
	db, err := store.Open(ctx, d.databaseURL, store.Options{MaxConns: 1})
	if err != nil {
		return keys.Ban{}, err
	}
	defer logError(d.log, "close database", db.Close)
	by := audit.By{Actor: "petstore dev", Reason: keys.AutomaticReason}
	b, err := db.Bans.Place(ctx, by, store.NewBan{KeyID: keyID, Length: devBanLength, Reason: keys.AutomaticReason}, now)
	if err == nil {
		d.log.Info().Msgf("petstore dev bans this key for %v; in production it would be 15 minutes or more. Lift the ban: %sbin/petstorectl ban lift %s",
			devBanLength, d.staffPrefix, keyID)
	}
	return b, err
}
