package api

import (
	"context"
	"net/http"
	"strconv"

	"petstore.example/internal/api/httpfield"
	"petstore.example/internal/api/problem"
	"petstore.example/internal/webhooks"
)

// testWebhook is POST /v1/webhooks/{webhookId}/test, beta.
func testWebhook(a *api, x *exchange) error {
	if _, err := idempotencyKey(x.Request.Header); err != nil {
		return err
	}
	return a.queueDelivery(x, a.Webhooks.Store.Test)
}

// retryDelivery is POST /v1/webhooks/{webhookId}/deliveries/{deliveryId}/retry, beta.
func retryDelivery(a *api, x *exchange) error {
	if _, err := idempotencyKey(x.Request.Header); err != nil {
		return err
	}
	of, err := x.itemID("deliveryId", problem.DeliveryNotFound)
	if err != nil {
		return err
	}
	return a.queueDelivery(x, func(
		ctx context.Context, by webhooks.Requester, id int64,
	) (webhooks.SentDelivery, error) {
		return a.Webhooks.Store.Retry(ctx, by, id, of)
	})
}

// queueDelivery responds with a delivery that was queued.
func (a *api) queueDelivery(
	x *exchange, queue func(context.Context, webhooks.Requester, int64) (webhooks.SentDelivery, error),
) error {
	d, err := placedOn(a, x, queue)
	if err != nil {
		return err
	}
	shown := deliveryOf(d)
	return x.writeJSON(http.StatusAccepted, &shown)
}

// listDeliveries is GET /v1/webhooks/{webhookId}/deliveries, beta.
func listDeliveries(a *api, x *exchange) error {
	if err := a.gate.TakeKeyRead(&x.asked, &x.Outcome); err != nil {
		return err
	}
	id, err := x.webhookID()
	if err != nil {
		return err
	}
	r, err := parseListRequest(x, deliveryParams, httpfield.ParseCursor, func(s string) (string, bool) {
		return s, false
	}, "")
	if err != nil {
		return err
	}
	// One more delivery shows whether another page follows.
	found, err := placed(a, x, func(ctx context.Context, by webhooks.Requester) ([]webhooks.SentDelivery, error) {
		return a.Webhooks.Store.Deliveries(ctx, by, id, r.after, r.pageSize+1)
	})
	if err != nil {
		return err
	}
	next := ""
	if len(found) > r.pageSize {
		found = found[:r.pageSize]
		next = httpfield.FormatCursor(found[len(found)-1].ID)
	}
	rows := make([]delivery, len(found))
	for i, d := range found {
		rows[i] = deliveryOf(d)
	}
	address := a.webhooksURL + "/" + strconv.FormatInt(id, 10) + "/deliveries"
	p, err := newListPage(&r.listQuery, address, rows, next)
	if err != nil {
		return err
	}
	x.writePage(p, x.pageForm(p))
	return nil
}

// deliveryParams are the query parameters of a list of deliveries.
var deliveryParams = []string{"limit", "cursor"}

// replay is the response to a replay.
type replay struct {
	Deliveries int64 `json:"deliveries"`
}

// replayWebhook is POST /v1/webhooks/{webhookId}/replay, beta. A repetition queues only what is
// not queued yet, so no Idempotency-Key is stored.
func replayWebhook(a *api, x *exchange) error {
	data, err := readOptionalBody(a.bodies, x)
	if err != nil {
		return err
	}
	if _, err := idempotencyKey(x.Request.Header); err != nil {
		return err
	}
	r, err := readReplay(data)
	if err != nil {
		return err
	}
	queued, err := placedOn(a, x, func(ctx context.Context, by webhooks.Requester, id int64) (int64, error) {
		return a.Webhooks.Store.Replay(ctx, by, id, r)
	})
	if err != nil {
		return err
	}
	return x.writeJSON(http.StatusAccepted, &replay{queued})
}
