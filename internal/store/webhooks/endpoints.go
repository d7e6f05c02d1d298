package webhooks

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/lib/pq"

	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	catalogstore "petstore.example/internal/store/catalog"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/webhooks"
)

// Endpoints are the tenants' own endpoints. The API's role has no right on them: functions of
// Postgres decide by the requester's digest.
type Endpoints struct {
	db   *pgconn.DB
	once catalogstore.Idempotency
}

var _ webhooks.Customers = Endpoints{}

// endpointColumns are those of a row of endpoints that endpointRow has.
const endpointColumns = `id, tenant_id, environment, url, events, description, status,
	coalesce(disabled_reason, '') as disabled_reason, failing_since, created_at, version`

type endpointRow struct {
	ID             int64            `db:"id"`
	TenantID       int64            `db:"tenant_id"`
	Environment    keys.Environment `db:"environment"`
	URL            string           `db:"url"`
	Events         pq.StringArray   `db:"events"`
	Description    string           `db:"description"`
	Status         webhooks.Status  `db:"status"`
	DisabledReason string           `db:"disabled_reason"`
	FailingSince   sql.NullTime     `db:"failing_since"`
	CreatedAt      time.Time        `db:"created_at"`
	Version        int64            `db:"version"`
}

func (r endpointRow) endpoint() webhooks.Endpoint {
	return webhooks.Endpoint{
		ID: r.ID, TenantID: r.TenantID, Environment: r.Environment, URL: r.URL, Events: r.Events,
		Description: r.Description, Status: r.Status, DisabledReason: r.DisabledReason,
		FailingSince: pgconn.TimeOf(r.FailingSince), CreatedAt: r.CreatedAt.UTC(), Version: r.Version,
	}
}

// List implements webhooks.Customers.
func (d Endpoints) List(ctx context.Context, by webhooks.Requester) ([]webhooks.Endpoint, error) {
	return d.read(ctx, by, sql.NullInt64{})
}

// Get implements webhooks.Customers.
func (d Endpoints) Get(ctx context.Context, by webhooks.Requester, id int64) (webhooks.Endpoint, error) {
	list, err := d.read(ctx, by, sql.NullInt64{Int64: id, Valid: true})
	if err != nil {
		return webhooks.Endpoint{}, err
	}
	return list[0], nil
}

func (d Endpoints) read(
	ctx context.Context,
	by webhooks.Requester,
	one sql.NullInt64,
) (_ []webhooks.Endpoint, err error) {
	defer pgconn.Wrap(&err, "list endpoints")
	list, err := pgconn.Collect(ctx, d.db, endpointRow.endpoint,
		`select `+endpointColumns+` from own_endpoints($1, $2)`, by.Digest[:], one)
	return list, meaning(err)
}

// change are the members of a change that manage_endpoint reads.
type change map[string]any

func (c change) sealed(s webhooks.Sealed) change {
	c["key_id"], c["sealed"] = s.KeyID, s.Ciphertext
	return c
}

// managed is what manage_endpoint returns.
type managed struct {
	endpointRow
	Queued int64 `db:"queued"`
}

// manage makes a change of an endpoint within a transaction.
func manage(
	ctx context.Context, tx pgconn.Tx, by webhooks.Requester, action string, id int64, c change,
) (m managed, err error) {
	text, err := json.Marshal(c)
	if err != nil {
		return m, err
	}
	if _, err := tx.Exec(ctx, `select set_config('petstore.deadline', $1, true)`, tx.Deadline()); err != nil {
		return m, err
	}
	err = tx.Get(ctx, &m, `
		select `+endpointColumns+`, queued
		from (select (m.endpoint).*, coalesce(m.queued, 0) as queued from manage_endpoint($1, $2, $3, $4) m) e`,
		by.Digest[:], action, id, string(text))
	return m, meaning(err)
}

// write is manage in a transaction of its own.
func (d Endpoints) write(
	ctx context.Context, by webhooks.Requester, action string, id int64, c change,
) (m managed, err error) {
	defer pgconn.Wrap(&err, action)
	err = pgconn.WriteTx(ctx, d.db, func(ctx context.Context, tx pgconn.Tx) (err error) {
		m, err = manage(ctx, tx, by, action, id, c)
		return err
	})
	return m, err
}

// Create implements webhooks.Customers.
func (d Endpoints) Create(
	ctx context.Context,
	by webhooks.Requester,
	n webhooks.NewEndpoint,
	seal webhooks.Seal,
	once *catalog.Idempotency,
) (made webhooks.Endpoint, err error) {
	defer pgconn.Wrap(&err, "add endpoint")
	var id int64
	if err := d.db.Get(ctx, &id, `select next_endpoint()`); err != nil {
		return webhooks.Endpoint{}, err
	}
	c := change{"url": n.URL, "events": n.Events, "description": n.Description}.sealed(seal(id))
	if once == nil {
		m, err := d.write(ctx, by, "webhook.create", id, c)
		return m.endpoint(), err
	}
	answered, err := d.once.Do(ctx, by.TenantID, once, func(ctx context.Context, tx pgconn.Tx) (catalog.Answer, error) {
		m, err := manage(ctx, tx, by, "webhook.create", id, c)
		made = m.endpoint()
		return catalog.Answer{Status: http.StatusCreated, Body: strconv.AppendInt(nil, id, 10)}, err
	})
	if err == nil && answered.Replayed {
		if id, err = strconv.ParseInt(string(answered.Body), 10, 64); err == nil {
			err = &webhooks.AlreadyAddedError{ID: id}
		}
	}
	return made, err
}

// Update implements webhooks.Customers.
func (d Endpoints) Update(
	ctx context.Context, by webhooks.Requester, id, version int64, p webhooks.EndpointPatch,
) (webhooks.Endpoint, error) {
	c := change{}
	if version != 0 {
		c["version"] = strconv.FormatInt(version, 10)
	}
	if p.URL != nil {
		c["url"] = *p.URL
	}
	if p.Description != nil {
		c["description"] = *p.Description
	}
	if p.Events != nil {
		c["events"] = *p.Events
	}
	if p.Enabled != nil {
		c["enabled"] = *p.Enabled
	}
	m, err := d.write(ctx, by, "webhook.edit", id, c)
	return m.endpoint(), err
}

// Delete implements webhooks.Customers.
func (d Endpoints) Delete(ctx context.Context, by webhooks.Requester, id int64) error {
	_, err := d.write(ctx, by, "webhook.remove", id, change{})
	return err
}

// Rotate implements webhooks.Customers.
func (d Endpoints) Rotate(
	ctx context.Context, by webhooks.Requester, id int64, grace time.Duration, seal webhooks.Seal,
) (webhooks.Endpoint, error) {
	m, err := d.write(ctx, by, "webhook.rotate", id, change{"grace": grace.Seconds()}.sealed(seal(id)))
	return m.endpoint(), err
}

// Test implements webhooks.Customers.
func (d Endpoints) Test(ctx context.Context, by webhooks.Requester, id int64) (webhooks.SentDelivery, error) {
	return d.queue(ctx, by, "webhook.test", id, change{})
}

// Retry implements webhooks.Customers.
func (d Endpoints) Retry(
	ctx context.Context, by webhooks.Requester, id, delivery int64,
) (webhooks.SentDelivery, error) {
	return d.queue(ctx, by, "webhook.retry", id, change{"delivery": delivery})
}

func (d Endpoints) queue(
	ctx context.Context, by webhooks.Requester, action string, id int64, c change,
) (sent webhooks.SentDelivery, err error) {
	defer pgconn.Wrap(&err, action)
	err = pgconn.WriteTx(ctx, d.db, func(ctx context.Context, tx pgconn.Tx) error {
		m, err := manage(ctx, tx, by, action, id, c)
		if err != nil {
			return err
		}
		var r sentRow
		err = tx.Get(ctx, &r, `select `+sentColumns+` from own_deliveries($1, $2, $3, null, 1)`,
			by.Digest[:], id, m.Queued)
		sent = r.sent()
		return err
	})
	return sent, err
}

// Replay implements webhooks.Customers.
func (d Endpoints) Replay(
	ctx context.Context, by webhooks.Requester, id int64, r webhooks.Replay,
) (int64, error) {
	m, err := d.write(ctx, by, "webhook.replay", id, replayChange(r))
	return m.Queued, err
}

func replayChange(r webhooks.Replay) change {
	c := change{"all": r.All}
	if !r.Since.IsZero() {
		c["since"] = r.Since
	}
	if !r.Until.IsZero() {
		c["until"] = r.Until
	}
	if len(r.Types) > 0 {
		c["types"] = r.Types
	}
	return c
}

// sentColumns are those of a row of endpoint_deliveries that sentRow has.
const sentColumns = `id, event_id, type, created_at, status, due_at, coalesce(attempts, '[]') as attempts`

type sentRow struct {
	ID        int64        `db:"id"`
	EventID   uuid.UUID    `db:"event_id"`
	Type      string       `db:"type"`
	CreatedAt time.Time    `db:"created_at"`
	Status    string       `db:"status"`
	DueAt     sql.NullTime `db:"due_at"`
	Attempts  attempts     `db:"attempts"`
}

func (r sentRow) sent() webhooks.SentDelivery {
	return webhooks.SentDelivery{
		ID: r.ID, EventID: r.EventID, Type: r.Type, CreatedAt: r.CreatedAt.UTC(), Status: r.Status,
		DueAt: pgconn.TimeOf(r.DueAt), Attempts: r.Attempts,
	}
}

type attempts []webhooks.Attempt

// Scan implements sql.Scanner.
func (list *attempts) Scan(text any) error {
	var rows []resultRow
	if err := json.Unmarshal(text.([]byte), &rows); err != nil {
		return fmt.Errorf("read attempts: %w", err)
	}
	for _, r := range rows {
		took := time.Duration(r.MS) * time.Millisecond
		*list = append(
			*list,
			webhooks.Attempt{At: r.At.UTC(), Took: took, Status: r.Status, Answer: r.Answer, Said: r.Said},
		)
	}
	return nil
}

// Deliveries implements webhooks.Customers.
func (d Endpoints) Deliveries(
	ctx context.Context, by webhooks.Requester, id, before int64, limit int,
) (list []webhooks.SentDelivery, err error) {
	defer pgconn.Wrap(&err, "list deliveries")
	list, err = pgconn.Collect(ctx, d.db, sentRow.sent,
		`select `+sentColumns+` from own_deliveries($1, $2, null, $3, $4)`,
		by.Digest[:], id, pgconn.NullNumber(before), limit)
	return list, meaning(err)
}

// meaning translates a refusal by the functions of endpoints.
func meaning(err error) error { return pgconn.Meaning(tenancy.KeyRefusal(err), refusals) }

var refusals = map[string]error{
	"webhooks_unknown":  webhooks.ErrNotFound,
	"webhooks_delivery": webhooks.ErrDeliveryNotFound,
	"webhooks_version":  webhooks.ErrChanged,
	"webhooks_room":     webhooks.ErrTooMany,
	"webhooks_disabled": webhooks.ErrDisabled,
	"webhooks_pings":    webhooks.ErrManyPings,
}
