package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// Usage is the state of your limits, and your usage of this month.
type Usage struct {
	// Tenant is the name of your account. All its keys share its limits.
	Tenant string `json:"tenant"`
	Plan   string `json:"plan"`
	// Quota is the quota of the plan.
	Quota Quota `json:"quota"`
	// Windows are exact.
	Windows UsageWindows `json:"windows"`
	// Month is the current month by UTC day. It may be a second behind.
	Month    UsageMonth    `json:"month"`
	Forecast UsageForecast `json:"forecast"`
	// NextChange is the next change of the plan or its quota, nil if none is scheduled.
	NextChange *PlanChange `json:"nextChange"`
}

// PlanChange is a change that comes by itself, such as the end of a trial.
type PlanChange struct {
	At    time.Time `json:"at"`
	Plan  string    `json:"plan"`
	Quota Quota     `json:"quota"`
}

// Quota is the number of requests that a plan allows.
type Quota struct {
	PerMinute int64 `json:"perMinute"`
	PerDay    int64 `json:"perDay"`
	// PerMonth is the number of requests of a UTC month that the price includes, nil if the plan has
	// none.
	PerMonth *int64 `json:"perMonth"`
	// Overage is how many requests more a month admits, which are billed apart. It is nil for any
	// number, and without PerMonth.
	Overage *int64 `json:"overage"`
}

// UsageWindows are the limits of a key.
type UsageWindows struct {
	Minute UsageWindow `json:"minute"`
	Day    UsageWindow `json:"day"`
	// Month is nil if the plan has no limit per month.
	Month *UsageWindow `json:"month"`
	// Key is the per-minute limit of the client's key, nil if it has none of its own.
	Key *UsageWindow `json:"key"`
}

// UsageWindow is the state of one limit before the next request.
type UsageWindow struct {
	Limit     int64
	Used      int64
	Remaining int64
	// Reset is when the window ends.
	Reset time.Time
}

// UnmarshalJSON implements [json.Unmarshaler].
func (w *UsageWindow) UnmarshalJSON(text []byte) error {
	var v struct{ Limit, Used, Remaining, Reset int64 }
	err := json.Unmarshal(text, &v)
	*w = UsageWindow{v.Limit, v.Used, v.Remaining, time.Unix(v.Reset, 0)}
	return err
}

// UsageMonth is the usage of all your keys together.
type UsageMonth struct {
	// Admitted and Refused are the sums of all days.
	Admitted int64 `json:"admitted"`
	Refused  int64 `json:"refused"`
	// Included is the number of requests that the price of the month includes, nil without one.
	// Overage is how many of the recorded requests are billed above it.
	Included *int64 `json:"included"`
	Overage  int64  `json:"overage"`
	// Days has each day of the month, and of the current month those until today.
	Days []UsageDay `json:"days"`
	// The following fields are set only in reports (see [Client.GetUsageReport]). Month is written
	// as 2006-01.
	Month string `json:"month,omitempty"`
	// Corrections belong to earlier months, and are billed in addition to Admitted.
	Corrections []UsageCorrection `json:"corrections,omitempty"`
	// Keys are the keys used in the month, including revoked ones.
	Keys []KeyUsage `json:"keys,omitempty"`
}

// UsageCorrection is usage of an earlier month that arrived after that month was closed.
type UsageCorrection struct {
	// Month is written as 2006-01.
	Month    string `json:"month"`
	Admitted int64  `json:"admitted"`
	Refused  int64  `json:"refused"`
}

// KeyUsage is what one key used.
type KeyUsage struct {
	ID string `json:"id"`
	// Name is empty if the key has none, or was removed.
	Name     string     `json:"name"`
	Admitted int64      `json:"admitted"`
	Refused  int64      `json:"refused"`
	Days     []UsageDay `json:"days"`
}

// UsageDay is one UTC day.
type UsageDay struct {
	// Date is written as 2006-01-02.
	Date string `json:"date"`
	// Refused requests got 429.
	Admitted int64 `json:"admitted"`
	Refused  int64 `json:"refused"`
}

// UsageForecast predicts the rest of the day, and of the month.
type UsageForecast struct {
	// PerHour is your rate during this UTC hour and the one before it.
	PerHour int64 `json:"perHour"`
	// DayRunsOutAt is when the daily quota runs out at that rate, nil if it lasts until the end of
	// the day.
	DayRunsOutAt *time.Time `json:"dayRunsOutAt"`
	// Month is nil if the plan includes no number of requests per month.
	Month *MonthForecast `json:"month"`
}

// MonthForecast predicts the end of the UTC month at your average rate of the last seven days.
type MonthForecast struct {
	// Admitted is the number of requests of the whole month, and Overage how many of them are billed
	// above the included ones.
	Admitted int64 `json:"admitted"`
	Overage  int64 `json:"overage"`
	// RunsOutAt is when the limit of the month is reached, nil if the month ends first or has none.
	RunsOutAt *time.Time `json:"runsOutAt"`
}

// GetUsage returns the state of your limits and your usage of this month. It is not counted, and
// works even if a limit is used up. It is refused only during a ban.
//
// This operation is in beta and may change with 30 days' notice.
func (c *Client) GetUsage(ctx context.Context, opts ...CallOption) (*Usage, error) {
	return fetch[Usage](ctx, c, &call{method: http.MethodGet, path: "usage", unmetered: true}, nil, opts)
}

// GetUsageReport returns what was recorded in the UTC month of an instant, by day and key. It counts
// as one request.
//
// This operation is in beta and may change with 30 days' notice.
func (c *Client) GetUsageReport(ctx context.Context, month time.Time, opts ...CallOption) (*UsageMonth, error) {
	query := url.Values{"month": {month.UTC().Format("2006-01")}, "by": {"key"}}
	u, err := fetch[Usage](ctx, c, &call{method: http.MethodGet, path: "usage", query: query}, nil, opts)
	if err != nil {
		return nil, err
	}
	return &u.Month, nil
}
