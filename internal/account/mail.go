package account

import (
	"context"
	"net/http"

	"petstore.example/internal/mail"
)

// Addresses stores what the owner of a tenant's address answered. known is false unless the tenant
// has the address with that SHA-256.
type Addresses interface {
	Confirm(ctx context.Context, tenant int64, address []byte) (known bool, err error)
	Unsubscribe(ctx context.Context, tenant int64, address []byte) (known bool, err error)
}

// unsubscribe is where a mail program posts for One-Click (RFC 8058), from anywhere and without a
// cookie.
const unsubscribe = http.MethodPost + " " + mail.LinksPath + string(mail.ToUnsubscribe)

// mailPage asks for a press of the button, or says what came of it.
type mailPage struct {
	Kind  mail.LinkKind
	Token string
	Done  bool
}

// mailPages are the pages of the links in mails. GET changes nothing: scanners of mail follow links.
func mailPages() []route {
	var all []route
	for kind, store := range map[mail.LinkKind]func(Addresses, context.Context, int64, []byte) (bool, error){
		mail.ToConfirm: Addresses.Confirm, mail.ToUnsubscribe: Addresses.Unsubscribe,
	} {
		show := func(v *visit) error { return v.mailLink(kind, nil) }
		act := func(v *visit) error { return v.mailLink(kind, store) }
		all = append(all, route{"GET " + mail.LinksPath + string(kind), true, show},
			route{"POST " + mail.LinksPath + string(kind), true, act})
	}
	return all
}

// mailLink stores what the link of the address stands for, or asks if store is nil. Of a link the
// address has all: the body of a POST is not read.
func (v *visit) mailLink(
	kind mail.LinkKind, store func(Addresses, context.Context, int64, []byte) (bool, error),
) error {
	token := v.URL.Query().Get(mail.TokenParameter)
	if v.Links == nil {
		return v.message(http.StatusNotFound, "noLink")
	}
	tenant, address, ok := v.Links.Read(kind, token)
	if ok && store != nil {
		err := v.Turn(v.Context(), tenant, func(ctx context.Context) (err error) {
			ok, err = store(v.Addresses, ctx, tenant, address)
			return err
		})
		if err != nil {
			return err
		}
	}
	if !ok {
		return v.message(http.StatusNotFound, "noLink")
	}
	return v.show("mail", mailPage{kind, token, store != nil})
}
