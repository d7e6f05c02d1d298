package client

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strconv"
	"time"
)

// Webhook is an endpoint of yours that gets events. The operations of webhooks are in beta and may
// change with 30 days' notice. They need a key with [ScopeManage]. They are not counted, and never
// wait for their turn.
type Webhook struct {
	ID             int64     `json:"id"`
	URL            string    `json:"url"`
	Events         []string  `json:"events"` // types, or * for all but pet.… and order.…
	Description    string    `json:"description"`
	Environment    string    `json:"environment"`    // live or test
	Status         string    `json:"status"`         // pending, enabled or disabled
	DisabledReason *string   `json:"disabledReason"` // customer, support, gone or failures
	CreatedAt      time.Time `json:"createdAt"`
	// Secret is for [VerifyWebhook], in the result of the call that made it.
	Secret Secret `json:"secret,omitzero"`
}

// NewWebhook is a webhook to add. Without Events it gets all but those of animals and orders.
type NewWebhook struct {
	URL         string   `json:"url"`
	Events      []string `json:"events,omitempty"`
	Description string   `json:"description,omitempty"`
}

// WebhookPatch is a change to a webhook. A nil field leaves the value unchanged. An empty
// Description removes it. Status is enabled or disabled.
type WebhookPatch struct {
	URL         *string
	Events      *[]string
	Description *string
	Status      *string
}

// MarshalJSON implements [json.Marshaler].
func (p WebhookPatch) MarshalJSON() ([]byte, error) {
	members := map[string]any{}
	if p.URL != nil {
		members["url"] = p.URL
	}
	if p.Events != nil {
		members["events"] = p.Events
	}
	if p.Status != nil {
		members["status"] = p.Status
	}
	if p.Description != nil {
		members["description"] = p.Description
		if *p.Description == "" {
			members["description"] = nil
		}
	}
	return json.Marshal(members)
}

// WebhookDelivery is an event that is sent to a webhook.
type WebhookDelivery struct {
	ID            int64            `json:"id"`
	EventID       string           `json:"eventId"`
	Type          string           `json:"type"`
	CreatedAt     time.Time        `json:"createdAt"`
	Status        string           `json:"status"` // waiting, delivered, failed or dropped
	NextAttemptAt *time.Time       `json:"nextAttemptAt"`
	Attempts      []WebhookAttempt `json:"attempts"` // the oldest first
}

// WebhookAttempt is an attempt to send an event.
type WebhookAttempt struct {
	At         time.Time `json:"at"`
	DurationMs int64     `json:"durationMs"`
	Status     *int      `json:"status"`  // of the answer, nil for none
	Answer     string    `json:"answer"`  // its beginning
	Problem    *string   `json:"problem"` // why there was no answer
}

// WebhookReplay selects events to send once more. With zero values it selects those of the last 30
// days that were not delivered.
type WebhookReplay struct {
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
	Types []string  `json:"types,omitempty"`
	All   bool      `json:"all,omitempty"` // also what was delivered
}

// ListWebhooks returns the webhooks of your account.
func (c *Client) ListWebhooks(ctx context.Context, opts ...CallOption) ([]Webhook, error) {
	var list []Webhook
	_, err := c.do(ctx, &call{method: http.MethodGet, path: "webhooks", unmetered: true}, nil, &list, opts)
	return list, err
}

// GetWebhook returns one webhook. It fails with [CodeWebhookNotFound].
func (c *Client) GetWebhook(ctx context.Context, id int64, opts ...CallOption) (*Webhook, error) {
	return fetch[Webhook](ctx, c, webhookCall(http.MethodGet, id, ""), nil, opts)
}

// CreateWebhook adds a webhook, and returns it with its secret. If the response was lost, the webhook
// may be there: [Client.RotateWebhookSecret] shows another secret. CreateWebhook fails with
// [CodeInvalidURL] or [CodeTooManyWebhooks].
func (c *Client) CreateWebhook(ctx context.Context, webhook NewWebhook, opts ...CallOption) (*Webhook, error) {
	return fetch[Webhook](ctx, c, &call{method: http.MethodPost, path: "webhooks", unmetered: true}, webhook, opts)
}

// UpdateWebhook changes a webhook and returns it. With [IfMatch] it fails as [Client.UpdatePet] does.
func (c *Client) UpdateWebhook(
	ctx context.Context, id int64, patch WebhookPatch, opts ...CallOption,
) (*Webhook, error) {
	return fetch[Webhook](ctx, c, webhookCall(http.MethodPatch, id, ""), patch, opts)
}

// DeleteWebhook removes a webhook with what waits for it.
func (c *Client) DeleteWebhook(ctx context.Context, id int64, opts ...CallOption) error {
	_, err := c.do(ctx, webhookCall(http.MethodDelete, id, ""), nil, nil, opts)
	return err
}

// WebhookRotation says how to rotate a secret. GracePeriod is how long the earlier ones sign
// too: whole seconds, up to 7 days, nil for 24 hours.
type WebhookRotation struct{ GracePeriod *time.Duration }

// MarshalJSON implements [json.Marshaler].
func (r WebhookRotation) MarshalJSON() ([]byte, error) {
	return KeyRotation{GracePeriod: r.GracePeriod}.MarshalJSON()
}

// RotateWebhookSecret makes another secret, and returns the webhook with it. If the response was
// lost, rotate again.
func (c *Client) RotateWebhookSecret(
	ctx context.Context, id int64, rotation WebhookRotation, opts ...CallOption,
) (*Webhook, error) {
	return fetch[Webhook](ctx, c, webhookCall(http.MethodPost, id, "/rotate"), rotation, opts)
}

// TestWebhook sends a ping, and returns its delivery. [Client.ListWebhookDeliveries] shows what came
// of it.
func (c *Client) TestWebhook(ctx context.Context, id int64, opts ...CallOption) (*WebhookDelivery, error) {
	return fetch[WebhookDelivery](ctx, c, webhookCall(http.MethodPost, id, "/test"), nil, opts)
}

// ListDeliveriesParams selects deliveries. Limit is the size of a page, 1 to 100, or 0 for 20.
// Cursor is the NextCursor of a page, if not empty.
type ListDeliveriesParams struct {
	Limit  int
	Cursor string
}

// WebhookDeliveryPage is one page of a list.
type WebhookDeliveryPage struct {
	Deliveries []WebhookDelivery // the newest first
	NextCursor string            // empty on the last page
}

// ListWebhookDeliveries returns one page of what was sent to a webhook.
func (c *Client) ListWebhookDeliveries(
	ctx context.Context, id int64, params ListDeliveriesParams, opts ...CallOption,
) (*WebhookDeliveryPage, error) {
	asked := webhookCall(http.MethodGet, id, "/deliveries")
	asked.query = listQuery(map[string]any{"limit": params.Limit, "cursor": params.Cursor})
	var page WebhookDeliveryPage
	a, err := c.do(ctx, asked, nil, &page.Deliveries, opts)
	if err != nil {
		return nil, err
	}
	page.NextCursor = nextCursor(a.header)
	return &page, nil
}

// WebhookDeliveries iterates over what was sent to a webhook, page by page, as [Client.Pets] does
// over animals.
func (c *Client) WebhookDeliveries(
	ctx context.Context, id int64, params ListDeliveriesParams, opts ...CallOption,
) iter.Seq2[WebhookDelivery, error] {
	params.Limit = cmp.Or(params.Limit, maxPageSize)
	return paginate(params.Cursor, func(cursor string) ([]WebhookDelivery, string, error) {
		params.Cursor = cursor
		page, err := c.ListWebhookDeliveries(ctx, id, params, opts...)
		if err != nil {
			return nil, "", err
		}
		return page.Deliveries, page.NextCursor, nil
	})
}

// RetryWebhookDelivery sends the event of a delivery now. It fails with [CodeDeliveryNotFound] or
// [CodeWebhookDisabled].
func (c *Client) RetryWebhookDelivery(
	ctx context.Context, id, deliveryID int64, opts ...CallOption,
) (*WebhookDelivery, error) {
	path := "/deliveries/" + strconv.FormatInt(deliveryID, 10) + "/retry"
	return fetch[WebhookDelivery](ctx, c, webhookCall(http.MethodPost, id, path), nil, opts)
}

// ReplayWebhook sends events once more, at most 10,000, and returns how many. It fails with
// [CodeWebhookDisabled].
func (c *Client) ReplayWebhook(
	ctx context.Context, id int64, replay WebhookReplay, opts ...CallOption,
) (deliveries int64, err error) {
	var out struct{ Deliveries int64 }
	_, err = c.do(ctx, webhookCall(http.MethodPost, id, "/replay"), replay, &out, opts)
	return out.Deliveries, err
}

func webhookCall(method string, id int64, path string) *call {
	return &call{method: method, path: "webhooks/" + strconv.FormatInt(id, 10) + path, unmetered: true}
}
