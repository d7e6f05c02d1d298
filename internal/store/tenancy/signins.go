package tenancy

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/tenants"
	"petstore.example/internal/store/trail"
)

// SignIns are the sign-ins of customers on the page /account. Functions of the database read and
// write them. Each takes the digest of a valid sign-in, or of the key or invitation that opens one.
// They use the database's clock.
type SignIns struct{ db *pgconn.DB }

// Invite stores the digest of a link that signs in once, within 15 minutes, to deployments for keys
// of the environment. It returns plans.ErrTenantNotFound, ErrTenantErased or ErrTenantSuspended.
func (d SignIns) Invite(
	ctx context.Context,
	by audit.By,
	name string,
	env keys.Environment,
	digest keys.Digest,
) (t plans.Tenant, err error) {
	return d.invite(ctx, by, name, func(ctx context.Context, tx pgconn.Tx, tenant int64) error {
		_, err := tx.Exec(ctx, `select invite_tenant($1, $2, $3, $4, $5)`,
			digest[:], tenant, string(env), by.Actor, by.Reason)
		return err
	})
}

// InviteByMail has a server send such a link to the tenant's address: its 15 minutes begin then. It
// returns the errors of Invite, or plans.ErrEmailUnconfirmed.
func (d SignIns) InviteByMail(
	ctx context.Context, by audit.By, name string, env keys.Environment,
) (t plans.Tenant, err error) {
	return d.invite(ctx, by, name, func(ctx context.Context, tx pgconn.Tx, tenant int64) error {
		_, err := tx.Exec(ctx, `select invite_by_mail($1, $2, $3, $4)`, tenant, string(env), by.Actor, by.Reason)
		if pgconn.IsConstraint(err, "mail_unconfirmed") {
			err = plans.ErrEmailUnconfirmed
		}
		return err
	})
}

// invite has do invite a tenant and write the audit entry.
func (d SignIns) invite(
	ctx context.Context, by audit.By, name string, do func(context.Context, pgconn.Tx, int64) error,
) (t plans.Tenant, err error) {
	defer pgconn.Wrap(&err, "invite tenant")
	err = trail.Change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		if t, err = tenants.Lock(ctx, tx, name, d.db.JustNow()); err != nil {
			return err
		}
		if !t.SuspendedAt.IsZero() {
			return plans.ErrTenantSuspended
		}
		if err := trail.CheckTexts(by); err != nil {
			return err
		}
		return do(ctx, tx, t.ID)
	})
	return t, err
}

// Open begins a sign-in with the digest session, by a manage key, or by an invitation, which is
// then used up. It returns false and changes nothing unless by is the digest of one that is valid
// for the client and the environment.
func (d SignIns) Open(
	ctx context.Context,
	by, session keys.Digest,
	client netip.Addr,
	env keys.Environment,
) (opened bool, err error) {
	defer pgconn.Wrap(&err, "open sign-in")
	// A Tx is not repeated if the connection breaks. An invitation works only once.
	err = d.db.Tx(ctx, func(ctx context.Context, tx pgconn.Tx) error {
		return tx.Get(
			ctx,
			&opened,
			`select open_sign_in($1, $2, nullif($3, '')::inet, $4)`,
			by[:],
			session[:],
			addressText(client),
			string(env),
		)
	})
	return opened, err
}

// Use returns a sign-in with its tenant in the state at now, or keys.ErrNoSignIn. If noted is set,
// the sign-in lasts two hours from now.
func (d SignIns) Use(ctx context.Context, session keys.Digest, now time.Time, noted bool) (s keys.SignedIn, err error) {
	defer pgconn.Wrap(&err, "use sign-in")
	var rows []struct {
		callerRow
		SignIn     string    `db:"sign_in"`
		SignedInAt time.Time `db:"signed_in_at"`
	}
	err = d.db.Select(ctx, &rows, `
		select id, environment, key_per_minute, 'write' as scope, allowed, tenant_id, tenant, created_at, assignment,
			version, plan, per_minute, per_day, valid_to, plan_per_minute, plan_per_day,
		       per_month, overage, overage_value, plan_per_month as "own.per_month", plan_overage as "own.overage",
		       plan_overage_value as "own.overage_value", sign_in, signed_in_at
		from use_sign_in($1, $2, $3) order by valid_from`, session[:], now, noted)
	if err == nil && len(rows) == 0 {
		err = keys.ErrNoSignIn
	}
	if err != nil {
		return s, err
	}
	var tenant *plans.Tenant
	for i := len(rows) - 1; i >= 0; i-- {
		tenant = rows[i].tenant(tenant)
	}
	s.ID, s.At = rows[0].SignIn, rows[0].SignedInAt.UTC()
	s.Caller, err = rows[0].caller(tenant)
	return s, err
}

// List returns the sign-ins of the session's tenant, the last used first.
func (d SignIns) List(ctx context.Context, session keys.Digest) (_ []keys.SignIn, err error) {
	defer pgconn.Wrap(&err, "list sign-ins")
	type row struct {
		SignIn     string    `db:"sign_in"`
		SignedInAt time.Time `db:"signed_in_at"`
		UsedAt     time.Time `db:"used_at"`
		EndsAt     time.Time `db:"ends_at"`
		KeyID      string    `db:"key_id"`
		KeyName    string    `db:"key_name"`
		Own        bool      `db:"own"`
	}
	return pgconn.Collect(ctx, d.db, func(r row) keys.SignIn {
		return keys.SignIn{
			ID:      r.SignIn,
			At:      r.SignedInAt.UTC(),
			EndsAt:  r.EndsAt.UTC(),
			UsedAt:  r.UsedAt.UTC(),
			KeyID:   r.KeyID,
			KeyName: r.KeyName,
			Own:     r.Own,
		}
	}, `select * from list_sign_ins($1)`, session[:])
}

// End ends the sign-in with the ID if it belongs to the same tenant. "" stands for the requester's
// own. It returns keys.ErrNoSignIn if there is none.
func (d SignIns) End(ctx context.Context, session keys.Digest, id string) (err error) {
	defer pgconn.Wrap(&err, "end sign-in")
	var ended bool
	err = d.db.Get(ctx, &ended, `select end_sign_in($1, $2)`, session[:], id)
	if err == nil && !ended {
		err = keys.ErrNoSignIn
	}
	return err
}

// Bans returns the keys of the tenant that are banned at now: their ID, name and ban.
func (d SignIns) Bans(ctx context.Context, session keys.Digest, now time.Time) (_ []keys.Key, err error) {
	defer pgconn.Wrap(&err, "list bans")
	type row struct {
		KeyID    string    `db:"key_id"`
		KeyName  string    `db:"key_name"`
		Reason   string    `db:"reason"`
		StartsAt time.Time `db:"starts_at"`
		EndsAt   time.Time `db:"ends_at"`
	}
	return pgconn.Collect(ctx, d.db, func(r row) keys.Key {
		return keys.Key{
			ID:   r.KeyID,
			Name: r.KeyName,
			Ban:  keys.Ban{Reason: r.Reason, StartsAt: r.StartsAt.UTC(), EndsAt: r.EndsAt.UTC()},
		}
	}, `select * from bans_for_sign_in($1, $2)`, session[:], now)
}

// Prune removes at most limit expired sign-ins, and as many expired invitations. It returns the
// number of both.
func (d SignIns) Prune(ctx context.Context, _ time.Time, limit int) (removed int, err error) {
	if err = d.db.Get(ctx, &removed, `select prune_sign_ins($1)`, limit); err != nil {
		err = fmt.Errorf("delete expired sign-ins: %w", err)
	}
	return removed, err
}

// addressText is "" for an unknown address.
func addressText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.Unmap().WithZone("").String()
}
