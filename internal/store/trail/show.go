package trail

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"petstore.example/internal/audit"
)

// Get returns an entry, with its redacted members if they are still kept, or ErrEntryNotFound.
func (d Audit) Get(ctx context.Context, number int64) (audit.Entry, *HiddenValues, error) {
	var row Row
	err := d.db.Get(ctx, &row, selectEntries+` where a.number = $1`, number)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrEntryNotFound
	}
	if err != nil {
		return audit.Entry{}, nil, fmt.Errorf("read entry %d: %w", number, err)
	}
	hidden, err := ReadHidden(ctx, d.db, number)
	if err != nil {
		return audit.Entry{}, nil, fmt.Errorf("read entry %d: %w", number, err)
	}
	return row.Entry(), hidden, nil
}
