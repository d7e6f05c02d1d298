package account

import (
	"context"
	"net/http"

	"petstore.example/internal/keys"
	"petstore.example/internal/mail"
)

// Addresses are those of tenants.
type Addresses interface {
	// Answer stores what the owner of a tenant's address answered by a link. known is false unless the
	// tenant has the address with that SHA-256.
	Answer(ctx context.Context, link mail.LinkKind, tenant int64, address []byte) (known bool, err error)
	// Mailbox returns the mailbox of who is signed in, with up to limit mails.
	Mailbox(ctx context.Context, session keys.Digest, limit int) (mail.Mailbox, error)
}

// unsubscribe is where a mail program posts for One-Click (RFC 8058), from anywhere and without a
// cookie.
const unsubscribe = http.MethodPost + " " + mail.LinksPath + string(mail.ToUnsubscribe)

// mailLink is the page of the links of a kind in mails. It asks for a press of the button, or says what
// came of it: GET changes nothing, because scanners of mail follow links. Of a link the address has
// all: the body of a POST is not read.
func mailLink(kind mail.LinkKind) func(*visit) error {
	return func(v *visit) error {
		if v.Links == nil {
			return v.message(http.StatusNotFound, "noLink")
		}
		token := v.URL.Query().Get(mail.TokenParameter)
		tenant, address, ok := v.Links.Read(kind, token)
		done := v.Method == http.MethodPost
		if ok && done {
			err := v.Turn(v.Context(), tenant, func(ctx context.Context) (err error) {
				ok, err = v.Addresses.Answer(ctx, kind, tenant, address)
				return err
			})
			if err != nil {
				return err
			}
		}
		if !ok {
			return v.message(http.StatusNotFound, "noLink")
		}
		return v.show("mail", struct {
			Kind  mail.LinkKind
			Token string
			Done  bool
		}{kind, token, done})
	}
}
