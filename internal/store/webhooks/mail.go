package webhooks

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"

	"petstore.example/internal/keys"
	"petstore.example/internal/mail"
	"petstore.example/internal/store/pgconn"
)

// Mail is the addresses of tenants and the mails to them.
type Mail struct{ db *pgconn.DB }

var _ mail.Outbox = Mail{}

// Claim implements mail.Outbox.
func (d Mail) Claim(ctx context.Context, most int) (_ []mail.Notice, err error) {
	defer pgconn.Wrap(&err, "claim mails")
	type row struct {
		ID       uuid.UUID
		Kind     string
		TenantID int64 `db:"tenant_id"`
		Tenant   string
		Address  string
		Body     []byte
	}
	return pgconn.Collect(ctx, d.db, func(r row) mail.Notice {
		return mail.Notice{
			ID: r.ID, Kind: r.Kind, Event: r.Body, TenantID: r.TenantID, Tenant: r.Tenant, Address: r.Address,
		}
	}, `select id, kind, tenant_id, tenant, address, body from claim_mails($1)`, most)
}

// Invite implements mail.Outbox.
func (d Mail) Invite(ctx context.Context, id uuid.UUID, token keys.Digest) (ends time.Time, err error) {
	defer pgconn.Wrap(&err, "invite by mail")
	var at sql.NullTime
	err = d.db.Get(ctx, &at, `select invite_mailed($1, $2)`, id, token[:])
	return pgconn.TimeOf(at), err
}

// Finish implements mail.Outbox.
func (d Mail) Finish(ctx context.Context, id uuid.UUID, r mail.Result) (err error) {
	defer pgconn.Wrap(&err, "finish a mail")
	_, err = d.db.Exec(ctx, `select finish_mail($1, $2, $3)`, id, string(r.Outcome), r.Said)
	return err
}

// Answer stores what the owner of an address has answered by a link: that it is confirmed, or wants no
// more mail. known is false unless the tenant's address has the SHA-256.
func (d Mail) Answer(ctx context.Context, link mail.LinkKind, tenant int64, address []byte) (known bool, err error) {
	defer pgconn.Wrap(&err, "store the answer of an address")
	state := map[mail.LinkKind]string{mail.ToConfirm: "confirmed", mail.ToUnsubscribe: "unsubscribed"}[link]
	err = d.db.Get(ctx, &known, `select answer_mail($1, $2, $3)`, tenant, address, state)
	return known, err
}

// Mailbox returns the mailbox of the tenant whose manage key or sign-in has the digest, with up to
// limit mails. It returns an error of keys if that may not.
func (d Mail) Mailbox(ctx context.Context, by keys.Digest, limit int) (m mail.Mailbox, err error) {
	defer pgconn.Wrap(&err, "read the mailbox")
	var row struct {
		Address, State string
		Mails          []byte
	}
	err = d.db.Get(ctx, &row, `select * from own_mailbox($1, $2)`, by[:], limit)
	if errors.Is(err, sql.ErrNoRows) {
		return m, nil
	}
	if err != nil {
		return m, meaning(err)
	}
	m.Address, m.State = row.Address, row.State
	return m, json.Unmarshal(row.Mails, &m.Mails)
}

// State returns how mail works.
func (d Mail) State(ctx context.Context) (s mail.State, err error) {
	defer pgconn.Wrap(&err, "read the state of mail")
	err = d.db.Get(ctx, &s, `
		select servers, senders, coalesce(relay, '') as relay, confirmed, waiting, late from mail_state()`)
	return s, err
}
