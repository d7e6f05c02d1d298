package client

import (
	"cmp"
	"context"
	"iter"
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
	// Route is the path with the names of its parameters, empty if the path is not the API's.
	Route      string  `json:"route"`
	Status     int     `json:"status"`
	Code       Code    `json:"code"`
	DurationMs float64 `json:"durationMs"`
	KeyID      string  `json:"keyId"`

	// The following fields are set only by [Client.GetRequest]. Explanation is for people.
	Explanation string `json:"explanation"`
	// Window is the limit that refused the request, nil if none did.
	Window *RefusingWindow `json:"window"`
	// PassesAt is the time from which limits and bans admit such a request; it may be past. It is
	// nil if they did not refuse the request.
	PassesAt *time.Time `json:"passesAt"`
	// Refusals says what larger plans would change, nil if no limit of the plan refused the
	// request.
	Refusals *Refusals `json:"refusals"`
}

// RefusingWindow is a window that refused a request. It has the number of each key's requests
// admitted from From to To.
type RefusingWindow struct {
	Name  string     `json:"name"`
	Limit int64      `json:"limit"`
	From  time.Time  `json:"from"`
	To    time.Time  `json:"to"`
	Used  []KeyUsage `json:"used"`
}

// Refusals is the number of requests refused in the last Days. Plans says how many of them larger
// plans, or the keys' own limits, would still have refused.
type Refusals struct {
	Days    int          `json:"days"`
	Refused int64        `json:"refused"`
	Plans   []LargerPlan `json:"plans"`
}

// LargerPlan is a plan with the least number of refusals that would remain on it. Bursts and bans
// may cause more.
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

// ListRequests returns one page of your failed requests. Like [Client.GetUsage], it is not counted,
// and works even if a limit is used up. Not all failed requests are stored.
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

// Requests iterates over your failed requests from params.Cursor to the end, page by page, as
// [Client.Pets] does over animals.
//
// This operation is in beta and may change with 30 days' notice.
func (c *Client) Requests(
	ctx context.Context,
	params ListRequestsParams,
	opts ...CallOption,
) iter.Seq2[FailedRequest, error] {
	params.Limit = cmp.Or(params.Limit, maxPageSize)
	return paginate(params.Cursor, func(cursor string) ([]FailedRequest, string, error) {
		params.Cursor = cursor
		page, err := c.ListRequests(ctx, params, opts...)
		if err != nil {
			return nil, "", err
		}
		return page.Requests, page.NextCursor, nil
	})
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
