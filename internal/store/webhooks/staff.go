package webhooks

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/trail"
	"petstore.example/internal/webhooks"
)

// Staff is what support sees and changes of tenants' endpoints. It never sees a secret.
type Staff struct{ db *pgconn.DB }

// StaffEndpoint is an endpoint as support sees it.
type StaffEndpoint struct {
	webhooks.Endpoint

	// Tenant is the tenant's name.
	Tenant string
	// Waiting are its deliveries that are not done, Held those of them that a restore holds.
	Waiting, Held int64
}

type staffRow struct {
	endpointRow
	Tenant  string `db:"tenant"`
	Waiting int64  `db:"waiting"`
	Held    int64  `db:"held"`
}

const staffQuery = `
	select e.*, t.name as tenant, d.waiting, d.held
	from (select ` + endpointColumns + ` from endpoints) e
	join tenants t on t.id = e.tenant_id
	cross join lateral (
	  select count(*) as waiting, count(*) filter (where d.due_at = 'infinity') as held
	  from deliveries d where d.endpoint_id = e.id and d.done_at is null
	) d`

// List returns the endpoints of the tenant with the name, "" for all tenants.
func (d Staff) List(ctx context.Context, tenant string) (_ []StaffEndpoint, err error) {
	defer pgconn.Wrap(&err, "list endpoints")
	return pgconn.Collect(ctx, d.db, staffRow.endpoint,
		staffQuery+` where $1 in (t.name, '') order by t.name, e.id`, tenant)
}

func (r staffRow) endpoint() StaffEndpoint {
	return StaffEndpoint{r.endpointRow.endpoint(), r.Tenant, r.Waiting, r.Held}
}

// Get returns an endpoint, or webhooks.ErrNotFound.
func (d Staff) Get(ctx context.Context, id int64) (_ StaffEndpoint, err error) {
	defer pgconn.Wrap(&err, "read endpoint")
	var r staffRow
	err = pgconn.GetOr(ctx, d.db, &r, webhooks.ErrNotFound, staffQuery+` where e.id = $1`, id)
	return r.endpoint(), err
}

// Deliveries returns up to limit deliveries to an endpoint, the newest first.
func (d Staff) Deliveries(ctx context.Context, id int64, limit int) (_ []webhooks.SentDelivery, err error) {
	defer pgconn.Wrap(&err, "list deliveries")
	return pgconn.Collect(ctx, d.db, sentRow.sent, `
		select `+sentColumns+` from endpoint_deliveries d
		where d.endpoint_id = $1 order by d.id desc limit $2`, id, limit)
}

// Test queues a ping before all else, and returns its delivery's ID. It returns the errors of
// webhooks.Customers.
func (d Staff) Test(ctx context.Context, by audit.By, id int64) (int64, error) {
	return d.send(ctx, by, "webhook.test", id, change{})
}

// Replay queues deliveries as webhooks.Customers does, and returns how many.
func (d Staff) Replay(ctx context.Context, by audit.By, id int64, r webhooks.Replay) (int64, error) {
	return d.send(ctx, by, "webhook.replay", id, replayChange(r))
}

func (d Staff) send(ctx context.Context, by audit.By, action string, id int64, c change) (queued int64, err error) {
	defer pgconn.Wrap(&err, action)
	text, err := json.Marshal(c)
	if err != nil {
		return 0, err
	}
	err = trail.Change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		e, err := lock(ctx, tx, id)
		if err != nil {
			return err
		}
		err = tx.Get(ctx, &queued, `select send_as_staff($1, $2, $3)`, action, id, string(text))
		if err != nil {
			return meaning(err)
		}
		return trail.Write(tx, by, trail.Entry{
			Action: action, TenantID: e.TenantID, Subject: subject(id), After: map[string]int64{"queued": queued},
		})
	})
	return queued, err
}

func subject(id int64) string { return "webhook:" + strconv.FormatInt(id, 10) }

// lockedColumns are those of a row of endpoints e that lockedRow has.
const lockedColumns = endpointColumns + `, endpoint_record(e) as record`

// lockedRow is an endpoint with its record for the audit trail.
type lockedRow struct {
	endpointRow
	Record json.RawMessage `db:"record"`
}

// lock reads an endpoint that the transaction may change.
func lock(ctx context.Context, tx pgconn.Tx, id int64) (r lockedRow, err error) {
	err = pgconn.GetOr(ctx, tx, &r, webhooks.ErrNotFound,
		`select `+lockedColumns+` from endpoints e where id = $1 for no key update`, id)
	return r, err
}

// Disable stops the deliveries to an endpoint until its tenant enables it again. An endpoint that is
// disabled already stays as it is. It returns webhooks.ErrNotFound.
func (d Staff) Disable(ctx context.Context, by audit.By, id int64) (before, after webhooks.Endpoint, err error) {
	defer pgconn.Wrap(&err, "disable endpoint")
	err = trail.Change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		was, err := lock(ctx, tx, id)
		if err != nil {
			return err
		}
		before, after = was.endpoint(), was.endpoint()
		if before.Status == webhooks.Disabled {
			return nil
		}
		var is lockedRow
		err = tx.Get(ctx, &is, `
			update endpoints e set disabled_reason = 'support', version = version + 1 where id = $1
			returning `+lockedColumns, id)
		if err != nil {
			return err
		}
		after = is.endpoint()
		return trail.Write(tx, by, trail.Entry{
			Action:   "webhook.disable",
			TenantID: was.TenantID,
			Subject:  subject(id),
			Before:   was.Record,
			After:    is.Record,
		})
	})
	return before, after, err
}

// Resumed is what Resume did with the deliveries that a restore held.
type Resumed struct {
	Released int64 `json:"released"`
	Dropped  int64 `json:"dropped"`
}

// Resume releases what a restore holds: the deliveries that were made since an instant. It drops
// those before.
func (d Staff) Resume(ctx context.Context, by audit.By, since time.Time) (done Resumed, err error) {
	defer pgconn.Wrap(&err, "resume webhooks")
	err = trail.Run(ctx, d.db.LongTx, by, func(ctx context.Context, tx pgconn.Tx) error {
		err := tx.Get(ctx, &done, `select released, dropped from resume_outbox($1)`, pgconn.NullTime(since))
		if err != nil || done == (Resumed{}) {
			return err
		}
		return trail.Write(tx, by, trail.Entry{Action: "webhook.resume", Subject: "webhooks", After: done})
	})
	return done, err
}
