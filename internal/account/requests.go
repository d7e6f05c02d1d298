package account

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"petstore.example/internal/diagnose"
	"petstore.example/internal/limits"
	"petstore.example/internal/usage"
)

// shownRequests is the number of failed requests on a page.
const shownRequests = 50

// requests lists failed requests, the newest first, with the filters of GET /v1/requests.
func (v *visit) requests() error {
	typed := url.Values{}
	for _, name := range []string{"status", "code", "key"} {
		if value := strings.TrimSpace(v.URL.Query().Get(name)); value != "" {
			typed.Set(name, value)
		}
	}
	page, problem := v.FailedPage(typed, v.now)
	page.Limit = shownRequests
	data := struct {
		List              [][]usage.FailedRequest
		Next              int64
		Status, Code, Key string
		Problem           string
	}{Status: typed.Get("status"), Code: typed.Get("code"), Key: typed.Get("key"), Problem: problem}
	if problem != "" {
		v.status = http.StatusBadRequest
		return v.show("requests", data)
	}
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
	if data.List = bySecond(list); more {
		data.Next = list[len(list)-1].Cursor()
	}
	return v.show("requests", data)
}

// bySecond groups consecutive requests that failed alike within one second.
func bySecond(list []usage.FailedRequest) (groups [][]usage.FailedRequest) {
	for i, f := range list {
		alike := func(g usage.FailedRequest) bool {
			return g.At.Unix() == f.At.Unix() && g.Status == f.Status && g.Code == f.Code && g.KeyID == f.KeyID &&
				g.Method == f.Method && g.Route == f.Route
		}
		if i > 0 && alike(list[i-1]) {
			groups[len(groups)-1] = append(groups[len(groups)-1], f)
		} else {
			groups = append(groups, []usage.FailedRequest{f})
		}
	}
	return groups
}

// request explains one failed request, as GET /v1/requests/{requestId} does.
func (v *visit) request() error {
	id := v.URL.Query().Get("id")
	if id == "" || len(id) > 128 {
		return v.message(http.StatusNotFound, "noRequest")
	}
	d, err := v.Failed.GetFailed(v.Context(), v.who.Tenant.ID, id, v.now.Add(-usage.FailedFor), v.now)
	if errors.Is(err, usage.ErrFailedNotFound) {
		return v.message(http.StatusNotFound, "noRequest")
	}
	if err != nil {
		return err
	}
	data := struct {
		usage.FailedDetail
		Why     string
		Hour    string
		Days    int
		Refused int64
		Plans   []diagnose.LargerPlan
	}{FailedDetail: d, Why: diagnose.Explain(&d.FailedRequest, d.LiftedAt), Hour: diagnose.HourOfUse(d.RefusedBy),
		Days: usage.ReplayDays}
	if diagnose.IsShared(&d.FailedRequest) {
		sold, err := v.Sold(v.Context())
		if err != nil {
			return err
		}
		data.Refused, data.Plans = diagnose.LargerPlans(
			d.Hours, v.who.Tenant, sold, limits.WindowName(d.Window))
	}
	return v.show("request", data)
}
