package account

import (
	"strings"

	"petstore.example/internal/webhooks"
)

// shownDeliveries is the number of deliveries of an endpoint on the page.
const shownDeliveries = 10

// shownEndpoint is an endpoint with what it was told of last.
type shownEndpoint struct {
	webhooks.Endpoint

	Deliveries []webhooks.SentDelivery
}

// endpoints shows the tenant's endpoints, and what was sent to them.
func (v *visit) endpoints() error {
	by := webhooks.Requester{TenantID: v.who.Tenant.ID, Digest: v.session}
	list, err := v.Webhooks.List(v.Context(), by)
	if err != nil {
		return err
	}
	shown := make([]shownEndpoint, len(list))
	for i, e := range list {
		shown[i].Endpoint = e
		if shown[i].Deliveries, err = v.Webhooks.Deliveries(v.Context(), by, e.ID, 0, shownDeliveries); err != nil {
			return err
		}
	}
	return v.show("webhooks", shown)
}

// answerText is what an endpoint answered, as text: what is not UTF-8 is replaced.
func answerText(answer []byte) string { return strings.ToValidUTF8(string(answer), "\ufffd") }
