package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"time"

	"petstore.example/client"
)

// newKey is the key that the API issues in vectors.
const newKey = "pst_test_Qm3xV8nB5kLr7TgYc1WzHdJp6sAfUe0i2XqR9"

type vectorArgs struct {
	ID             any
	Params         vectorParams
	Body           json.RawMessage
	IdempotencyKey string
	IfMatch        string
	Month          string
	GracePeriod    *float64
	ExpiresAt      *time.Time
	Hook           string
	Reason         string
	Replacements   bool
	DeliveryID     int64

	stored *[]string
}

type vectorParams struct {
	Status     any
	Limit      int
	Name       string
	CategoryID *int64
	IDs        []int64
	Cursor     string
}

func (p vectorParams) status() string {
	s, _ := p.Status.(string)
	return s
}

func (a vectorArgs) number() int64 { return int64(a.ID.(float64)) }
func (a vectorArgs) text() string  { return a.ID.(string) }

func (a vectorArgs) options() (opts []client.CallOption) {
	if a.IdempotencyKey != "" {
		opts = append(opts, client.IdempotencyKey(a.IdempotencyKey))
	}
	if a.IfMatch != "" {
		opts = append(opts, client.IfMatch(a.IfMatch))
	}
	return opts
}

func body[T any](a vectorArgs) (v T) {
	if err := json.Unmarshal(a.Body, &v); err != nil {
		panic(err)
	}
	return v
}

func (a vectorArgs) rotation() client.KeyRotation {
	r := client.KeyRotation{ExpiresAt: a.ExpiresAt}
	if a.GracePeriod != nil {
		r.GracePeriod = &seconds(*a.GracePeriod)[0]
	}
	return r
}

// store is the hook of a rotation.
func (a vectorArgs) store(_ context.Context, k *client.Key) error {
	if a.Hook == "fails" {
		return errors.New("no place for " + k.Key.Reveal())
	}
	*a.stored = append(*a.stored, k.Key.Reveal())
	return nil
}

func page[T any](items []T, next string) any {
	if next == "" {
		return map[string]any{"items": items}
	}
	return map[string]any{"items": items, "nextCursor": next}
}

func everything[T any](items iter.Seq2[T, error]) (any, error) {
	var all []T
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return all, nil
}

// revealed is a key with the plaintext that it prints redacted.
func revealed(k *client.Key, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return struct {
		client.Key
		Plain string `json:"key"`
	}{*k, k.Key.Reveal()}, nil
}

// withSecret is a webhook with the secret that it prints redacted.
func withSecret(w *client.Webhook, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return struct {
		client.Webhook

		Plain string `json:"secret"`
	}{*w, w.Secret.Reveal()}, nil
}

func (a vectorArgs) pets() client.ListPetsParams {
	p := a.Params
	return client.ListPetsParams{
		Limit: p.Limit, Status: client.PetStatus(p.status()), IDs: p.IDs, CategoryID: p.CategoryID, Name: p.Name,
		Cursor: p.Cursor,
	}
}

func (a vectorArgs) orders() client.ListOrdersParams {
	return client.ListOrdersParams{
		Limit: a.Params.Limit, Status: client.OrderStatus(a.Params.status()), Cursor: a.Params.Cursor,
	}
}

func (a vectorArgs) keys() client.ListKeysParams {
	return client.ListKeysParams{Limit: a.Params.Limit, Status: a.Params.status(), Cursor: a.Params.Cursor}
}

func (a vectorArgs) requests() client.ListRequestsParams {
	status, _ := a.Params.Status.(float64)
	return client.ListRequestsParams{Limit: a.Params.Limit, Status: int(status), Cursor: a.Params.Cursor}
}

// vectorCalls are the calls that vectors name.
var vectorCalls = map[string]func(context.Context, *client.Client, vectorArgs) (any, error){
	"pets.page": func(ctx context.Context, c *client.Client, a vectorArgs) (any, error) {
		p, err := c.ListPets(ctx, a.pets())
		if err != nil {
			return nil, err
		}
		return page(p.Pets, p.NextCursor), nil
	},
	"pets.all": func(ctx context.Context, c *client.Client, a vectorArgs) (any, error) {
		return everything(c.Pets(ctx, a.pets()))
	},
	"pets.create": func(ctx context.Context, c *client.Client, a vectorArgs) (any, error) {
		return c.CreatePet(ctx, body[client.NewPet](a), a.options()...)
	},
	"pets.update": func(ctx context.Context, c *client.Client, a vectorArgs) (any, error) {
		return c.UpdatePet(ctx, a.number(), body[client.PetPatch](a), a.options()...)
	},
	"orders.page": func(ctx context.Context, c *client.Client, a vectorArgs) (any, error) {
		p, err := c.ListOrders(ctx, a.orders())
		if err != nil {
			return nil, err
		}
		return page(p.Orders, p.NextCursor), nil
	},
	"orders.all": func(ctx context.Context, c *client.Client, a vectorArgs) (any, error) {
		return everything(c.Orders(ctx, a.orders()))
	},
	"orders.get": func(ctx context.Context, c *client.Client, a vectorArgs) (any, error) {
		return c.GetOrder(ctx, a.number())
	},
	"orders.create": func(ctx context.Context, c *client.Client, a vectorArgs) (any, error) {
		return c.PlaceOrder(ctx, body[client.NewOrder](a), a.options()...)
	},
	"orders.update": func(ctx context.Context, c *client.Client, a vectorArgs) (any, error) {
		return c.UpdateOrder(ctx, a.number(), body[client.OrderPatch](a), a.options()...)
	},
	"usage.get": func(ctx context.Context, c *client.Client, _ vectorArgs) (any, error) { return c.GetUsage(ctx) },
	"usage.report": func(ctx context.Context, c *client.Client, a vectorArgs) (any, error) {
		month, err := time.Parse("2006-01", a.Month)
		if err != nil {
			return nil, err
		}
		return c.GetUsageReport(ctx, month)
	},
	"plans.list": func(ctx context.Context, c *client.Client, _ vectorArgs) (any, error) { return c.ListPlans(ctx) },
	"keys.page": func(ctx context.Context, c *client.Client, a vectorArgs) (any, error) {
		p, err := c.ListKeys(ctx, a.keys())
		if err != nil {
			return nil, err
		}
		return page(p.Keys, p.NextCursor), nil
	},
	"keys.all": func(ctx context.Context, c *client.Client, a vectorArgs) (any, error) {
		return everything(c.Keys(ctx, a.keys()))
	},
	"keys.get": func(ctx context.Context, c *client.Client, a vectorArgs) (any, error) {
		return revealed(c.GetKey(ctx, a.text()))
	},
	"keys.create": func(ctx context.Context, c *client.Client, a vectorArgs) (any, error) {
		return revealed(c.CreateKey(ctx, body[client.NewKey](a), a.options()...))
	},
	"keys.update": func(ctx context.Context, c *client.Client, a vectorArgs) (any, error) {
		return revealed(c.UpdateKey(ctx, a.text(), body[client.KeyPatch](a), a.options()...))
	},
	"keys.rotate": func(ctx context.Context, c *client.Client, a vectorArgs) (any, error) {
		return revealed(c.RotateKey(ctx, a.text(), a.rotation(), a.options()...))
	},
	"keys.rotateSelf": func(ctx context.Context, c *client.Client, a vectorArgs) (any, error) {
		return revealed(c.RotateSelf(ctx, a.rotation(), a.store, a.options()...))
	},
	"keys.revoke": func(ctx context.Context, c *client.Client, a vectorArgs) (any, error) {
		return revealed(
			c.RevokeKey(ctx, a.text(), client.KeyRevocation{Reason: a.Reason, Replacements: a.Replacements}),
		)
	},
	"webhooks.list": func(ctx context.Context, c *client.Client, _ vectorArgs) (any, error) {
		return c.ListWebhooks(ctx)
	},
	"webhooks.get": func(ctx context.Context, c *client.Client, a vectorArgs) (any, error) {
		return c.GetWebhook(ctx, a.number())
	},
	"webhooks.create": func(ctx context.Context, c *client.Client, a vectorArgs) (any, error) {
		return withSecret(c.CreateWebhook(ctx, body[client.NewWebhook](a), a.options()...))
	},
	"webhooks.update": func(ctx context.Context, c *client.Client, a vectorArgs) (any, error) {
		patch := body[client.WebhookPatch](a)
		if patch.Description == nil && strings.Contains(string(a.Body), `"description": null`) {
			patch.Description = new(string)
		}
		return c.UpdateWebhook(ctx, a.number(), patch, a.options()...)
	},
	"webhooks.delete": func(ctx context.Context, c *client.Client, a vectorArgs) (any, error) {
		return nil, c.DeleteWebhook(ctx, a.number())
	},
	"webhooks.rotate": func(ctx context.Context, c *client.Client, a vectorArgs) (any, error) {
		return withSecret(
			c.RotateWebhookSecret(ctx, a.number(), client.WebhookRotation{GracePeriod: a.rotation().GracePeriod}),
		)
	},
	"webhooks.test": func(ctx context.Context, c *client.Client, a vectorArgs) (any, error) {
		return c.TestWebhook(ctx, a.number())
	},
	"webhooks.deliveries": func(ctx context.Context, c *client.Client, a vectorArgs) (any, error) {
		params := client.ListDeliveriesParams{Limit: a.Params.Limit, Cursor: a.Params.Cursor}
		p, err := c.ListWebhookDeliveries(ctx, a.number(), params)
		if err != nil {
			return nil, err
		}
		return page(p.Deliveries, p.NextCursor), nil
	},
	"webhooks.retry": func(ctx context.Context, c *client.Client, a vectorArgs) (any, error) {
		return c.RetryWebhookDelivery(ctx, a.number(), a.DeliveryID)
	},
	"webhooks.replay": func(ctx context.Context, c *client.Client, a vectorArgs) (any, error) {
		n, err := c.ReplayWebhook(ctx, a.number(), body[client.WebhookReplay](a))
		return map[string]int64{"deliveries": n}, err
	},
	"requests.page": func(ctx context.Context, c *client.Client, a vectorArgs) (any, error) {
		p, err := c.ListRequests(ctx, a.requests())
		if err != nil {
			return nil, err
		}
		return page(p.Requests, p.NextCursor), nil
	},
	"requests.all": func(ctx context.Context, c *client.Client, a vectorArgs) (any, error) {
		return everything(c.Requests(ctx, a.requests()))
	},
	"requests.get": func(ctx context.Context, c *client.Client, a vectorArgs) (any, error) {
		return c.GetRequest(ctx, a.text())
	},
}
