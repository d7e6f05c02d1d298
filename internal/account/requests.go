package account

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"petstore.example/internal/diagnose"
	"petstore.example/internal/plans"
	"petstore.example/internal/usage"
)

const (
	// shownRequests is how many failed requests a page has, and requestsFor how far back they go.
	shownRequests = 50
	requestsFor   = 24 * time.Hour
)

// requests lists failed requests, the newest first.
func (v *visit) requests() error {
	page := usage.FailedPage{Since: v.now.Add(-requestsFor), Until: v.now.Add(time.Hour), Limit: shownRequests}
	if after := v.URL.Query().Get("after"); after != "" {
		var err error
		if page.After, err = strconv.ParseInt(after, 10, 64); err != nil || page.After <= 0 {
			return v.message(http.StatusNotFound, "noRequest")
		}
	}
	list, more, err := v.Failed.ListFailed(v.Context(), v.who.Tenant.ID, page)
	if err != nil {
		return err
	}
	data := struct {
		List []usage.FailedRequest
		Next int64
	}{List: list}
	if more {
		data.Next = list[len(list)-1].Cursor()
	}
	return v.show("requests", data)
}

// request explains one, as GET /v1/requests/{requestId} does.
func (v *visit) request() error {
	id := v.URL.Query().Get("id")
	if id == "" || len(id) > 128 {
		return v.message(http.StatusNotFound, "noRequest")
	}
	d, err := v.Failed.GetFailed(v.Context(), v.who.Tenant.ID, id, v.now.Add(-requestsFor), v.now)
	if errors.Is(err, usage.ErrFailedNotFound) {
		return v.message(http.StatusNotFound, "noRequest")
	}
	if err != nil {
		return err
	}
	data := struct {
		usage.FailedDetail
		Why     string
		Days    int
		Refused int64
		Plans   []largerPlan
	}{FailedDetail: d, Why: diagnose.Explain(&d.FailedRequest, d.LiftedAt), Days: usage.ReplayDays}
	if diagnose.IsShared(&d.FailedRequest) {
		sold, err := v.Sold(v.Context())
		if err != nil {
			return err
		}
		data.Refused, data.Plans = larger(d.Hours, v.who.Tenant.Quota, sold)
	}
	return v.show("request", data)
}

// largerPlan is how many refusals would remain under it, at least.
type largerPlan struct {
	Name   string
	Remain int64
}

// larger returns how many requests were refused, and the plans that are larger.
func larger(hours []usage.Hour, q plans.Quota, sold []plans.Plan) (refused int64, list []largerPlan) {
	refused, _ = usage.Refusals(hours, q.PerMinute, q.PerDay)
	for _, p := range sold {
		if p.Quota != nil && *p.Quota != q && p.Quota.PerMinute >= q.PerMinute && p.Quota.PerDay >= q.PerDay {
			_, remain := usage.Refusals(hours, p.Quota.PerMinute, p.Quota.PerDay)
			list = append(list, largerPlan{p.Name, remain})
		}
	}
	return refused, list
}
