package client

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// Usage is how your limits stand, and what you used this month.
type Usage struct {
	// Tenant is your name with us. All your keys share its limits.
	Tenant string `json:"tenant"`
	Plan   string `json:"plan"`
	// Quota is what the plan allows.
	Quota Quota `json:"quota"`
	// Windows are exact.
	Windows UsageWindows `json:"windows"`
	// Month is the current one, by UTC days. It may be a second behind.
	Month    UsageMonth    `json:"month"`
	Forecast UsageForecast `json:"forecast"`
}

// Quota is how many requests a plan allows.
type Quota struct {
	PerMinute int64 `json:"perMinute"`
	PerDay    int64 `json:"perDay"`
}

// UsageWindows are the limits that bind a key.
type UsageWindows struct {
	Minute UsageWindow `json:"minute"`
	Day    UsageWindow `json:"day"`
	// Key is the minute of the client's key; nil when it has no limit of its own.
	Key *UsageWindow `json:"key"`
}

// UsageWindow is one limit, as the next request finds it.
type UsageWindow struct {
	Limit     int64
	Used      int64
	Remaining int64
	// Reset is when the window ends.
	Reset time.Time
}

// UnmarshalJSON reads the window of an answer.
func (w *UsageWindow) UnmarshalJSON(text []byte) error {
	var v struct{ Limit, Used, Remaining, Reset int64 }
	err := json.Unmarshal(text, &v)
	*w = UsageWindow{v.Limit, v.Used, v.Remaining, time.Unix(v.Reset, 0)}
	return err
}

// UsageMonth is what all your keys used together.
type UsageMonth struct {
	// Admitted and Refused are the sums of all days.
	Admitted int64 `json:"admitted"`
	Refused  int64 `json:"refused"`
	// Days has each day from the first of the month up to today.
	Days []UsageDay `json:"days"`
}

// UsageDay is one UTC day.
type UsageDay struct {
	// Date is written as 2006-01-02.
	Date string `json:"date"`
	// Admitted requests were let in, refused ones got 429.
	Admitted int64 `json:"admitted"`
	Refused  int64 `json:"refused"`
}

// UsageForecast is what becomes of the day if you go on as you do now.
type UsageForecast struct {
	// PerHour is your rate during this UTC hour and the one before it.
	PerHour int64 `json:"perHour"`
	// DayRunsOutAt is when nothing is left of the day at that rate; nil when some will be left at its end.
	DayRunsOutAt *time.Time `json:"dayRunsOutAt"`
}

// GetUsage returns how your limits stand and what you used this month. It is free, and works also when a limit is used up;
// it is refused only during a ban.
//
// The operation is beta: it may change with 30 days' notice.
func (c *Client) GetUsage(ctx context.Context, opts ...CallOption) (*Usage, error) {
	var u Usage
	if _, err := c.do(ctx, &call{method: http.MethodGet, path: "usage", free: true}, nil, &u, opts); err != nil {
		return nil, err
	}
	return &u, nil
}
