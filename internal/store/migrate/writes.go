package migrate

import (
	"context"

	"petstore.example/internal/store/pgconn"
)

// connectToWrite is connect for a session that takes writes. Behind a pooler the first one may be
// left over from a standby, so there is a second try.
func connectToWrite(ctx context.Context, databaseURL string) (*connection, error) {
	for again := true; ; again = false {
		conn, err := connect(ctx, databaseURL, longestMigration)
		if err != nil {
			return nil, err
		}
		if err = pgconn.CheckWrites(ctx, conn.Conn); err == nil {
			return conn, nil
		}
		conn.close()
		if !again || pgconn.Reason(err) != pgconn.ReadOnly {
			return nil, err
		}
	}
}
