package webhooks

import (
	"context"

	"petstore.example/internal/store/pgconn"
)

// Mail is the addresses of tenants and the mails to them.
type Mail struct{ db *pgconn.DB }

// Confirm stores that the owner of an address has confirmed it. known is false unless the tenant's
// address has the SHA-256.
func (d Mail) Confirm(ctx context.Context, tenant int64, address []byte) (known bool, err error) {
	return d.answer(ctx, tenant, address, "confirmed")
}

// Unsubscribe stores that the owner of an address wants no more mail. known is that of Confirm.
func (d Mail) Unsubscribe(ctx context.Context, tenant int64, address []byte) (known bool, err error) {
	return d.answer(ctx, tenant, address, "unsubscribed")
}

func (d Mail) answer(ctx context.Context, tenant int64, address []byte, answer string) (known bool, err error) {
	defer pgconn.Wrap(&err, "store the answer of an address")
	err = d.db.Get(ctx, &known, `select answer_mail($1, $2, $3)`, tenant, address, answer)
	return known, err
}
