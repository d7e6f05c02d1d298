package api

import (
	"time"

	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/usage"
)

// The response of GET /v1/usage.
type (
	usageAnswer struct {
		Tenant   string        `json:"tenant"`
		Plan     string        `json:"plan"`
		Quota    usageQuota    `json:"quota"`
		Windows  usageWindows  `json:"windows"`
		Month    usageMonth    `json:"month"`
		Forecast usageForecast `json:"forecast"`
		// NextChange is nil if no change is scheduled.
		NextChange *planChange `json:"nextChange"`
	}
	planChange struct {
		At    time.Time  `json:"at"`
		Plan  string     `json:"plan"`
		Quota usageQuota `json:"quota"`
	}
	// PerMonth is nil without a month. Overage is nil without one or without a limit.
	usageQuota struct {
		PerMinute int64  `json:"perMinute"`
		PerDay    int64  `json:"perDay"`
		PerMonth  *int64 `json:"perMonth"`
		Overage   *int64 `json:"overage"`
	}
	// usageWindows are named as in RateLimit-Policy. Month is nil without a limit per month, and Key
	// for a key without a limit of its own.
	usageWindows struct {
		Minute usageWindow  `json:"minute"`
		Day    usageWindow  `json:"day"`
		Month  *usageWindow `json:"month"`
		Key    *usageWindow `json:"key"`
	}
	usageWindow struct {
		Limit     int64 `json:"limit"`
		Used      int64 `json:"used"`
		Remaining int64 `json:"remaining"`
		Reset     int64 `json:"reset"`
	}
	// DayRunsOutAt is nil if the daily quota lasts until the end of the day. Month is nil without a
	// month.
	usageForecast struct {
		PerHour      int64          `json:"perHour"`
		DayRunsOutAt *time.Time     `json:"dayRunsOutAt"`
		Month        *monthForecast `json:"month"`
	}
	// RunsOutAt is nil if the month ends first, or if it has no limit.
	monthForecast struct {
		Admitted  int64      `json:"admitted"`
		Overage   int64      `json:"overage"`
		RunsOutAt *time.Time `json:"runsOutAt"`
	}
)

// getUsage is GET /v1/usage, beta. Unless it asks for a report, the request counts in no window,
// and the windows in the response are those before the next request.
func getUsage(a *api, x *exchange) error {
	q, err := x.parseUsageRequest()
	if err != nil {
		return err
	}
	t := x.Caller.Tenant
	month, err := a.months.Get(x.Request.Context(), t.ID, x.asked.Now)
	if err != nil {
		return err
	}
	shown := monthOf(month)
	if q.report {
		report, err := a.Usage.UsageReport(x.Request.Context(), t.ID, q.month, x.asked.Now)
		if err != nil {
			return err
		}
		shown = reportOf(&report, q)
	}
	return x.json(&usageAnswer{
		Tenant:   t.Name,
		Plan:     t.Plan,
		Quota:    quotaOf(t.Quota),
		Windows:  windowsOf(&x.Decision),
		Month:    shown,
		Forecast: forecastOf(month, t.Quota.Month, &x.Decision, x.asked.Now),

		NextChange: nextChangeOf(t),
	})
}

// nextChangeOf returns the next change of the tenant's plan or numbers. It skips a version with the
// same numbers as the one before.
func nextChangeOf(t *plans.Tenant) *planChange {
	for before := t; before.Next != nil; before = before.Next {
		if next := before.Next; next.Plan != t.Plan || next.Quota != t.Quota {
			return &planChange{before.Until, next.Plan, quotaOf(next.Quota)}
		}
	}
	return nil
}

func quotaOf(q plans.Quota) usageQuota {
	perMonth, overage := monthOfPlan(q.Month)
	return usageQuota{q.PerMinute, q.PerDay, perMonth, overage}
}

// monthOfPlan returns the included requests and the limit of those above them, in requests. They are
// nil as in usageQuota.
func monthOfPlan(m plans.Month) (included, overage *int64) {
	if m.Kind != plans.SomeMonth {
		return nil, nil
	}
	if limit, ok := m.Overage.Limit(m.Included); ok {
		overage = &limit
	}
	return &m.Included, overage
}

func windowsOf(d *limits.Decision) usageWindows {
	of := func(w *limits.Window) usageWindow {
		return usageWindow{w.Limit, w.Limit - w.Remaining, w.Remaining, w.Reset}
	}
	windows := usageWindows{Minute: of(&d.Minute), Day: of(&d.Day)}
	if d.Month.Limit > 0 {
		windows.Month = new(of(&d.Month))
	}
	if d.Key.Limit > 0 {
		windows.Key = new(of(&d.Key))
	}
	return windows
}

func forecastOf(m usage.Month, of plans.Month, d *limits.Decision, now time.Time) usageForecast {
	day := usage.Predict(m.RateWindow, d.Day.Remaining, now)
	forecast := usageForecast{PerHour: day.PerHour, DayRunsOutAt: timeOrNil(day.RunsOut)}
	if of.Kind == plans.SomeMonth {
		f := m.Forecast(of, d.Month.Remaining, now)
		forecast.Month = &monthForecast{f.Admitted, f.Overage, timeOrNil(f.RunsOut)}
	}
	return forecast
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
