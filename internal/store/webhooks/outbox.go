package webhooks

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/lib/pq"

	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/webhooks"
)

// Outbox is the events that are to be delivered.
type Outbox struct{ db *pgconn.DB }

var _ webhooks.Outbox = Outbox{}

type claimedRow struct {
	EndpointID int64          `db:"endpoint_id"`
	Slot       int            `db:"slot"`
	Failing    bool           `db:"is_failing"`
	URL        string         `db:"url"`
	KeyIDs     pq.StringArray `db:"key_ids"`
	Secrets    pq.ByteaArray  `db:"secrets"`
	ID         int64          `db:"id"`
	Attempt    int            `db:"attempt"`
	EventID    uuid.UUID      `db:"event_id"`
	Type       string         `db:"type"`
	Body       []byte         `db:"body"`
}

func (r claimedRow) batch() webhooks.Batch {
	b := webhooks.Batch{EndpointID: r.EndpointID, Slot: r.Slot, Failing: r.Failing, URL: r.URL}
	for i, id := range r.KeyIDs {
		b.Secrets = append(b.Secrets, webhooks.Sealed{KeyID: id, Ciphertext: r.Secrets[i]})
	}
	return b
}

// Claim implements webhooks.Outbox.
func (d Outbox) Claim(
	ctx context.Context, holder uuid.UUID, keyIDs []string, healthy, failing int,
) (batches []webhooks.Batch, err error) {
	defer pgconn.Wrap(&err, "claim deliveries")
	var rows []claimedRow
	err = d.db.Select(ctx, &rows, `select * from claim_deliveries($1, $2, $3, $4)`,
		holder, pq.Array(keyIDs), healthy, failing)
	for _, r := range rows {
		last := len(batches) - 1
		if last < 0 || batches[last].EndpointID != r.EndpointID || batches[last].Slot != r.Slot {
			batches = append(batches, r.batch())
			last++
		}
		batches[last].Deliveries = append(batches[last].Deliveries,
			webhooks.Delivery{ID: r.ID, Attempt: r.Attempt, EventID: r.EventID, Type: r.Type, Body: r.Body})
	}
	return batches, err
}

// resultRow is a webhooks.Result as finish_deliveries reads it.
type resultRow struct {
	EndpointID int64            `json:"endpoint_id"`
	ID         int64            `json:"id"`
	Slot       int              `json:"slot"`
	Attempt    int              `json:"attempt"`
	At         time.Time        `json:"at"`
	MS         int64            `json:"ms"`
	Status     int              `json:"status"`
	Answer     []byte           `json:"answer"` // in base64: a stranger's bytes are no text
	Said       string           `json:"said"`
	Outcome    webhooks.Outcome `json:"outcome"`
	After      float64          `json:"after"`
	Last       bool             `json:"last"`
}

// Finish implements webhooks.Outbox.
func (d Outbox) Finish(ctx context.Context, holder uuid.UUID, results []webhooks.Result) (err error) {
	defer pgconn.Wrap(&err, "finish deliveries")
	rows := make([]resultRow, len(results))
	for i, r := range results {
		rows[i] = resultRow{
			r.EndpointID, r.DeliveryID, r.Slot, r.Attempt, r.At, r.Took.Milliseconds(), r.Status,
			append([]byte{}, r.Answer...), r.Said, r.Outcome, r.RetryAfter.Seconds(), r.Last,
		}
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	_, err = d.db.Exec(ctx, `select finish_deliveries($1, $2)`, holder, string(text))
	return err
}

// Report implements webhooks.Outbox.
func (d Outbox) Report(
	ctx context.Context, holder uuid.UUID, keyIDs []string, relay *string,
) (b webhooks.Backlog, err error) {
	defer pgconn.Wrap(&err, "report to the outbox")
	var row struct {
		webhooks.Backlog

		Oldest, OldestMail float64
	}
	err = d.db.Get(ctx, &row, `
		select endpoints, disabled, waiting, held, extract(epoch from oldest)::float8 as oldest,
		  addresses, mails, extract(epoch from oldest_mail)::float8 as oldestmail
		from report_outbox($1, coalesce($2::text[], '{}'), $3)`, holder, pq.Array(keyIDs), relay)
	row.Backlog.Oldest = time.Duration(row.Oldest * float64(time.Second))
	row.Backlog.OldestMail = time.Duration(row.OldestMail * float64(time.Second))
	return row.Backlog, err
}

// Tell implements webhooks.Outbox.
func (d Outbox) Tell(ctx context.Context) (err error) {
	defer pgconn.Wrap(&err, "tell what is due")
	_, err = d.db.Exec(ctx, `select tell_due()`)
	return err
}

// Keys returns which keys the servers have and the secrets need.
func (d Outbox) Keys(ctx context.Context) (report webhooks.KeyReport, err error) {
	defer pgconn.Wrap(&err, "read the keys of the outbox")
	var rows []struct {
		Holder  uuid.NullUUID
		Keys    pq.StringArray
		KeyID   string `db:"key_id"`
		Secrets int64
	}
	err = d.db.Select(ctx, &rows, `
		select holder, keys, coalesce(key_id, '') as key_id, coalesce(secrets, 0) as secrets from outbox_keys()`)
	report = webhooks.KeyReport{Servers: map[uuid.UUID][]string{}, Secrets: map[string]int64{}}
	for _, r := range rows {
		if r.Holder.Valid {
			report.Servers[r.Holder.UUID] = r.Keys
		} else {
			report.Secrets[r.KeyID] = r.Secrets
		}
	}
	return report, err
}

// Stale implements webhooks.Outbox.
func (d Outbox) Stale(ctx context.Context, keyIDs []string, limit int) (_ []webhooks.StoredSecret, err error) {
	defer pgconn.Wrap(&err, "read secrets of endpoints")
	type row struct {
		EndpointID int64  `db:"endpoint_id"`
		KeyID      string `db:"key_id"`
		Sealed     []byte `db:"sealed"`
	}
	return pgconn.Collect(ctx, d.db, func(r row) webhooks.StoredSecret {
		return webhooks.StoredSecret{
			EndpointID: r.EndpointID,
			Sealed:     webhooks.Sealed{KeyID: r.KeyID, Ciphertext: r.Sealed},
		}
	}, `select endpoint_id, key_id, sealed from stale_secrets($1, $2)`, pq.Array(keyIDs), limit)
}

// Reseal implements webhooks.Outbox.
func (d Outbox) Reseal(ctx context.Context, old webhooks.StoredSecret, sealed webhooks.Sealed) (err error) {
	defer pgconn.Wrap(&err, "seal a secret anew")
	_, err = d.db.Exec(ctx, `select reseal_secret($1, $2, $3, $4)`,
		old.EndpointID, old.Ciphertext, sealed.KeyID, sealed.Ciphertext)
	return err
}

const (
	// pruned is how many rows of each kind are removed at once.
	pruned = 10_000
	// longestBacklog is how many deliveries may wait for an endpoint before the oldest of animals and
	// orders are dropped.
	longestBacklog = 100_000
)

// Prune implements webhooks.Outbox.
func (d Outbox) Prune(ctx context.Context) (err error) {
	defer pgconn.Wrap(&err, "prune the outbox")
	for more := true; more && err == nil; {
		err = d.db.Get(ctx, &more, `select prune_outbox($1, $2)`, pruned, longestBacklog)
	}
	return err
}
