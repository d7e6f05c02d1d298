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
		// NextChange is nil if none is known.
		NextChange *planChange `json:"nextChange"`
	}
	planChange struct {
		At    time.Time  `json:"at"`
		Plan  string     `json:"plan"`
		Quota usageQuota `json:"quota"`
	}
	usageQuota struct {
		PerMinute int64 `json:"perMinute"`
		PerDay    int64 `json:"perDay"`
	}
	// usageWindows have the names of RateLimit-Policy. Key is nil for a key without a limit of its
	// own.
	usageWindows struct {
		Minute usageWindow  `json:"minute"`
		Day    usageWindow  `json:"day"`
		Key    *usageWindow `json:"key"`
	}
	usageWindow struct {
		Limit     int64 `json:"limit"`
		Used      int64 `json:"used"`
		Remaining int64 `json:"remaining"`
		Reset     int64 `json:"reset"`
	}
	usageMonth struct {
		Admitted int64      `json:"admitted"`
		Refused  int64      `json:"refused"`
		Days     []usageDay `json:"days"`
		// These are in reports only; keys also not in each of them.
		Month       string            `json:"month,omitzero"`
		Corrections []usageCorrection `json:"corrections,omitzero"`
		Keys        []usageOfKey      `json:"keys,omitzero"`
	}
	usageCorrection struct {
		Month    string `json:"month"`
		Admitted int64  `json:"admitted"`
		Refused  int64  `json:"refused"`
	}
	usageOfKey struct {
		ID       string     `json:"id"`
		Name     string     `json:"name"`
		Admitted int64      `json:"admitted"`
		Refused  int64      `json:"refused"`
		Days     []usageDay `json:"days"`
	}
	usageDay struct {
		Date     string `json:"date"`
		Admitted int64  `json:"admitted"`
		Refused  int64  `json:"refused"`
	}
	// In a usageForecast DayRunsOutAt is nil if the daily quota lasts until the end of the day.
	usageForecast struct {
		PerHour      int64      `json:"perHour"`
		DayRunsOutAt *time.Time `json:"dayRunsOutAt"`
	}
)

// getUsage is GET /v1/usage, beta. Without a report it counts in no window. The windows are those
// before the next request.
func getUsage(a *api, x *exchange) error {
	q, err := x.parseUsageRequest()
	if err != nil {
		return err
	}
	t := x.caller.Tenant
	month, err := a.months.Get(x.Request.Context(), t.ID, x.now)
	if err != nil {
		return err
	}
	shown := monthOf(month)
	if q.report {
		report, err := a.Usage.UsageReport(x.Request.Context(), t.ID, q.month, x.now)
		if err != nil {
			return err
		}
		shown = reportOf(&report, q)
	}
	return x.json(&usageAnswer{
		Tenant:   t.Name,
		Plan:     t.Plan,
		Quota:    usageQuota{t.Quota.PerMinute, t.Quota.PerDay},
		Windows:  windowsOf(&x.decision),
		Month:    shown,
		Forecast: forecastOf(usage.Predict(month.RateWindow, x.decision.Day.Remaining, x.now)),

		NextChange: nextChangeOf(t),
	})
}

// nextChangeOf returns the next change of the tenant's plan or numbers. A version with the numbers
// of the one before changes neither.
func nextChangeOf(t *plans.Tenant) *planChange {
	for before := t; before.Next != nil; before = before.Next {
		if next := before.Next; next.Plan != t.Plan || next.Quota != t.Quota {
			return &planChange{before.Until, next.Plan, usageQuota{next.Quota.PerMinute, next.Quota.PerDay}}
		}
	}
	return nil
}

func windowsOf(d *limits.Decision) usageWindows {
	of := func(w *limits.Window) usageWindow {
		return usageWindow{w.Limit, w.Limit - w.Remaining, w.Remaining, w.Reset}
	}
	windows := usageWindows{Minute: of(&d.Minute), Day: of(&d.Day)}
	if d.Key.Limit > 0 {
		windows.Key = new(of(&d.Key))
	}
	return windows
}

func monthOf(m usage.Month) usageMonth {
	admitted, refused := m.Sum()
	days := make([]usageDay, len(m.Days))
	for i, d := range m.Days {
		days[i] = usageDay{d.Date.Format(time.DateOnly), d.Admitted, d.Refused}
	}
	return usageMonth{Admitted: admitted, Refused: refused, Days: days}
}

func forecastOf(f usage.Forecast) usageForecast {
	forecast := usageForecast{PerHour: f.PerHour}
	if !f.RunsOut.IsZero() {
		forecast.DayRunsOutAt = &f.RunsOut
	}
	return forecast
}
