package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/usage/closing"
)

// errStop ends a stream.
var errStop = errors.New("stop")

// Proof shows a tenant that its lines, and no others, are in a closed month.
type Proof struct {
	Month    Month
	TenantID int64
	Tenant   string
	// Index is the tenant's place among those of the month, from 0 on.
	Index int64
	Leaf  closing.Hash
	// Path leads from the leaf to the root, the nearest hash first.
	Path  []closing.Hash
	Forms []string
}

// Prove returns the proof of a tenant. It returns ErrMonthOpen, plans.ErrTenantNotFound or ErrTenantErased, ErrNoLines or
// ErrAltered.
func (d Months) Prove(ctx context.Context, tenant string, month time.Time) (Proof, error) {
	p, err := d.prove(ctx, tenant, month)
	if err != nil {
		return Proof{}, fmt.Errorf("prove the lines of %s: %w", monthName(month), err)
	}
	return p, nil
}

// ErrAltered: the sealed lines of a month do not have its root.
var ErrAltered = errors.New("the sealed lines were altered")

func (d Months) prove(ctx context.Context, tenant string, month time.Time) (Proof, error) {
	t, err := getTenant(ctx, d.db, tenant, sql.NullTime{})
	if err == nil && t.Erased() {
		err = plans.ErrTenantErased
	}
	if err != nil {
		return Proof{}, err
	}
	p := Proof{TenantID: t.ID, Tenant: t.Name}
	if p.Month, err = d.Get(ctx, month); err == nil && !p.Month.Sealed() {
		err = ErrMonthOpen
	}
	if err != nil {
		return Proof{}, err
	}
	err = d.db.Get(ctx, &p.Index, `select count(distinct tenant_id) from usage_lines where month = $1 and tenant_id < $2`, date(month), t.ID)
	if err != nil {
		return Proof{}, err
	}
	if p.Index >= p.Month.Tenants {
		return Proof{}, ErrNoLines
	}
	prover, err := closing.NewProver(p.Index, p.Month.Tenants)
	if err != nil {
		return Proof{}, err
	}
	seal := newLineSeal(prover.Seal)
	err = d.sealedLines(ctx, LineQuery{Month: month}, func(s sealedLine) error {
		if s.TenantID == t.ID {
			p.Forms = append(p.Forms, s.Form)
		}
		return seal.add(s)
	})
	if err != nil {
		return Proof{}, err
	}
	if len(p.Forms) == 0 {
		return Proof{}, ErrNoLines
	}
	root, tenants, err := seal.root()
	if err != nil {
		return Proof{}, err
	}
	if root != p.Month.Root || tenants != p.Month.Tenants {
		return Proof{}, ErrAltered
	}
	p.Leaf = closing.Leaf(p.Forms)
	p.Path, err = prover.Path()
	return p, err
}
