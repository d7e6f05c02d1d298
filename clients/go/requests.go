package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// FailedRequest is a request of one of your keys that failed in the last day.
type FailedRequest struct {
	// ID is the [Response.RequestID].
	ID     string    `json:"id"`
	Time   time.Time `json:"time"`
	Method string    `json:"method"`
	// Route is the path with the names of its parameters, empty if the path is none of the API's.
	Route      string  `json:"route"`
	Status     int     `json:"status"`
	Code       Code    `json:"code"`
	DurationMs float64 `json:"durationMs"`
	KeyID      string  `json:"keyId"`

	// The rest is only in what [Client.GetRequest] returns. Explanation is for people.
	Explanation string `json:"explanation"`
	// Window is the limit that refused the request, nil if none did.
	Window *RefusingWindow `json:"window"`
	// PassesAt is from when limits and bans admit such a request, nil if they did not refuse it. It
	// may be over.
	PassesAt *time.Time `json:"passesAt"`
	// Refusals says what larger plans would change, nil if no limit of the plan refused the
	// request.
	Refusals *Refusals `json:"refusals"`
}

// RefusingWindow is a window that refused a request, and how many requests of each key were
// admitted from From to To.
type RefusingWindow struct {
	Name  string     `json:"name"`
	Limit int64      `json:"limit"`
	From  time.Time  `json:"from"`
	To    time.Time  `json:"to"`
	Used  []KeyUsage `json:"used"`
}

// Refusals is how many requests were refused in the last Days, and how many of them larger plans,
// or a key's own limit, would have refused.
type Refusals struct {
	Days    int          `json:"days"`
	Refused int64        `json:"refused"`
	Plans   []LargerPlan `json:"plans"`
}

// LargerPlan is a plan with the least number of refusals that would remain. Bursts and bans may
// refuse more.
type LargerPlan struct {
	Name          string `json:"name"`
	RemainAtLeast int64  `json:"remainAtLeast"`
}

// ListRequestsParams selects failed requests. Zero values select all of the last day.
type ListRequestsParams struct {
	Limit        int // the size of a page, 1 to 100; 20 if it is 0
	Since, Until time.Time
	KeyID        string
	Status       int
	Code         Code
	Cursor       string // the NextCursor of a page, empty for the first page
}

// RequestPage is one page of a list.
type RequestPage struct {
	Requests   []FailedRequest // the newest first
	NextCursor string          // empty on the last page
	Rate       Rate
}

// ListRequests returns one page of your failed requests. It is not counted, and works even if a
// limit is used up, as [Client.GetUsage]. Not all failed requests are stored.
//
// This operation is in beta and may change with 30 days' notice.
func (c *Client) ListRequests(
	ctx context.Context,
	params ListRequestsParams,
	opts ...CallOption,
) (*RequestPage, error) {
	query := listQuery(map[string]any{
		"limit":  params.Limit,
		"since":  params.Since,
		"until":  params.Until,
		"key":    params.KeyID,
		"status": params.Status,
		"code":   params.Code,
		"cursor": params.Cursor,
	})
	var page RequestPage
	a, err := c.do(
		ctx,
		&call{method: http.MethodGet, path: "requests", query: query, unmetered: true},
		nil,
		&page.Requests,
		opts,
	)
	if err != nil {
		return nil, err
	}
	page.NextCursor, page.Rate = nextCursor(a.header), rateOf(a.header)
	return &page, nil
}

// GetRequest explains a failed request, by the RequestID of its [Response] or [Error]. It fails
// with [CodeRequestNotFound].
//
// This operation is in beta and may change with 30 days' notice.
func (c *Client) GetRequest(ctx context.Context, requestID string, opts ...CallOption) (*FailedRequest, error) {
	return fetch[FailedRequest](
		ctx,
		c,
		&call{method: http.MethodGet, path: "requests/" + url.PathEscape(requestID), unmetered: true},
		nil,
		opts,
	)
}
