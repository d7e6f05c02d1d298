package trail

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"petstore.example/internal/store/pgconn"
)

// Member is a member that a record leaves out because it may have to be erased.
type Member struct{ Name, Before, After string }

// ChangedOf returns the members that a change set or changed.
func ChangedOf(members ...Member) []Member {
	return slices.DeleteFunc(members, func(m Member) bool { return m.Before == m.After })
}

// Names returns the names of members.
func Names(members []Member) (list []string) {
	for _, m := range members {
		list = append(list, m.Name)
	}
	return list
}

// hiddenObjects returns the members before and after the change as JSON objects, null for none.
func hiddenObjects(members []Member) (before, after sql.NullString, err error) {
	if len(members) == 0 {
		return before, after, nil
	}
	was, is := map[string]string{}, map[string]string{}
	for _, m := range members {
		was[m.Name], is[m.Name] = m.Before, m.After
	}
	before, beforeErr := jsonOrNull(was)
	after, afterErr := jsonOrNull(is)
	return before, after, errors.Join(beforeErr, afterErr)
}

// HiddenValues are the redacted members of an entry, before and after the change.
type HiddenValues struct{ Before, After map[string]string }

// ReadHidden returns the redacted members of an entry, nil if they are not kept.
func ReadHidden(ctx context.Context, q pgconn.Queryer, number int64) (*HiddenValues, error) {
	var row struct {
		Before []byte `db:"before"`
		After  []byte `db:"after"`
	}
	err := q.Get(ctx, &row, `select before, after from undo_values where number = $1 and before is not null`, number)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var h HiddenValues
	return &h, errors.Join(json.Unmarshal(row.Before, &h.Before), json.Unmarshal(row.After, &h.After))
}

// PruneUndoValues removes at most limit rows of undo values from before that time, and returns
// their number.
func (d Audit) PruneUndoValues(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	defer pgconn.Wrap(&err, "prune undo values")
	err = d.db.Get(ctx, &removed, `select prune_undo_values($1, $2)`, before, limit)
	return removed, err
}
