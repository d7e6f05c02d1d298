package account_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"petstore.example/internal/account"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/webhooks"
)

// hooks are two endpoints, one of which was told of something.
type hooks struct{ webhooks.Customers }

func (hooks) List(_ context.Context, by webhooks.Requester) ([]webhooks.Endpoint, error) {
	if by.TenantID != 1 || by.Digest == ([32]byte{}) {
		return nil, nil
	}
	return []webhooks.Endpoint{
		{ID: 4, URL: "https://a.example/", Events: []string{"*"}, Status: webhooks.Pending, CreatedAt: time.Now()},
		{ID: 3, URL: "https://b.example/", Events: []string{"key.banned"}, Description: "<i>pager</i>",
			Status: webhooks.Disabled, DisabledReason: "gone", CreatedAt: time.Now()},
	}, nil
}

func (hooks) Deliveries(
	_ context.Context, _ webhooks.Requester, id, _ int64, _ int,
) ([]webhooks.SentDelivery, error) {
	if id != 3 {
		return nil, nil
	}
	return []webhooks.SentDelivery{
		{
			ID:        9,
			EventID:   uuid.New(),
			Type:      "key.banned",
			Status:    "failed",
			CreatedAt: time.Now(),
			Attempts: []webhooks.Attempt{
				{
					At:     time.Now(),
					Took:   87 * time.Millisecond,
					Status: 410,
					Answer: []byte("<script>alert(1)</script>\xff"),
				},
				{At: time.Now(), Took: 10 * time.Second, Said: "no answer within 10 seconds"},
			},
		},
	}, nil
}

// TestWebhooks: endpoints with what was told to them. What a stranger's server answered is text.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *account.Config) { c.Webhooks = hooks{} })
	r := s.do("GET", "/account/webhooks", nil, s.signIn(t, "acme"))
	page := text(t, r)
	assert.Equal(t, r.StatusCode, http.StatusOK)
	for _, want := range []string{
		"https://a.example/", "all but those of animals and orders", "It has answered no <code>ping</code>",
		"&lt;i&gt;pager&lt;/i&gt;", "It has answered with 410.", ">failed<", "2 attempts", "410 after 87 ms",
		"&lt;script&gt;alert(1)&lt;/script&gt;\ufffd", "no answer within 10 seconds after 10000 ms",
	} {
		assert.True(t, strings.Contains(page, want), want, page)
	}
	page = text(t, s.do("GET", "/account/webhooks", nil, s.signIn(t, "zoo")))
	assert.True(t, strings.Contains(page, "You have no webhook.") && !strings.Contains(page, "a.example"), page)
}
