package account

import (
	"context"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"petstore.example/internal/diagnose"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/spelling"
	"petstore.example/internal/usage"
	"petstore.example/internal/webhooks"
)

// titles are the titles of the pages, by the names of their files.
var titles = map[string]string{
	"overview":   "Overview",
	"usage":      "Usage",
	"keys":       "Keys",
	"webhooks":   "Webhooks",
	"webhook":    "New webhook",
	"requests":   "Failed requests",
	"request":    "Failed request",
	"key":        "New key",
	"sign-ins":   "Sign-ins",
	"sign-in":    "Sign in",
	"invitation": "Sign in",
	"mail":       "Mail",
	"message":    "Account",
}

var functions = template.FuncMap{
	"number": spelling.Thousands,
	"time":   func(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04:05 UTC") },
	"clock":  func(t time.Time) string { return t.UTC().Format("15:04:05 UTC") },
	"rfc":    func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"date":   func(t time.Time) string { return t.Format(time.DateOnly) },
	"month":  func(t time.Time) string { return t.Format(monthLayout) },
	"sum": func(m usage.Month) usage.Day {
		admitted, refused := m.Sum()
		return usage.Day{Admitted: admitted, Refused: refused}
	},
	"answered": answerText,
	"types":    func() []string { return webhooks.Types },
	"among":    slices.Contains[[]string],
	"named":    func(t time.Time) string { return t.Format("January 2006") },
}

const monthLayout = "2006-01"

// show makes the page with that name.
func (v *visit) show(name string, data any) error {
	page := struct {
		Name, Title, Prefix, Tenant, SupportURL, SupportEmail string
		Data                                                  any
	}{name, titles[name], v.prefix, "", v.SupportURL, v.SupportEmail, data}
	if v.who.Tenant != nil {
		page.Tenant = v.who.Tenant.Name
	}
	if err := v.pages[name].Execute(&v.body, page); err != nil {
		return fmt.Errorf("make page %s: %w", name, err)
	}
	return nil
}

// message makes a page with the text for kind.
func (v *visit) message(status int, kind string) error {
	v.body.Reset()
	v.status = status
	return v.show("message", kind)
}

// meter is one window.
type meter struct {
	Name                   string
	Used, Limit, Remaining int64
	ResetsAt               time.Time
	// Percent is how much is used, rounded down. Level is "used", from 80 % on "near", or from 100
	// % on "full".
	Percent int64
	Level   string
	// Forecast is the forecast of the day, nil for another window.
	Forecast *usage.Forecast
	// Month is what only the month has, nil for another window.
	Month *monthMeter
}

// monthMeter is what the meter of a month shows besides.
type monthMeter struct {
	// Forecast is of the whole month.
	Forecast usage.MonthForecast
	// Included is the included number, and Mark where it is, in per cent of the limit. Overage is
	// the number of requests above it.
	Included, Mark, Overage int64
	// Unlimited is true without a limit per month. The meter then ends with what is used.
	Unlimited bool
}

func meterOf(name string, w limits.Window) meter {
	m := meter{
		Name:      name,
		Used:      w.Limit - w.Remaining,
		Limit:     w.Limit,
		Remaining: w.Remaining,
		ResetsAt:  time.Unix(w.Reset, 0),
	}
	m.Percent = int64(float64(m.Used) / float64(max(1, m.Limit)) * 100)
	switch m.Level = "used"; {
	case m.Remaining <= 0:
		m.Percent, m.Level = max(100, m.Percent), "full"
	case m.Percent >= 80:
		m.Level = "near"
	}
	return m
}

// monthMeterOf returns the meter of a month, whose window is zero if the quota has no limit.
func monthMeterOf(q plans.Month, d *limits.Decision, m *usage.Month, now time.Time) meter {
	month := monthMeter{
		Forecast:  m.Forecast(q, d.Month.Remaining, now),
		Included:  q.Included,
		Overage:   d.Overage,
		Unlimited: d.Month.Limit == 0,
	}
	w := d.Month
	if month.Unlimited {
		// Of what is included and not used, the records say how much.
		used := q.Included + d.Overage
		if d.Overage == 0 {
			used = min(used, m.Counted())
		}
		w.Limit, w.Reset = max(q.Included, used, 1), limits.MonthReset(limits.MonthAt(now))
		w.Remaining = w.Limit - used
	}
	shown := meterOf("This month", w)
	if month.Unlimited {
		shown.Percent = min(shown.Percent, 100)
		shown.Level = "used"
	}
	month.Mark = int64(float64(q.Included) / float64(w.Limit) * 100)
	shown.Month = &month
	return shown
}

// change is a plan and its numbers that will be in force from an instant on.
type change struct {
	At   time.Time
	Plan string
	plans.Quota
}

// overview shows what the tenant has now, and what will change.
func (v *visit) overview() error {
	t := v.who.Tenant
	data := struct {
		Plan              string
		Boosted           bool
		Quota             plans.Quota
		Meters            []meter
		Bans              []keys.Key
		Dead              []webhooks.Endpoint
		Ending            []keys.CustomerKey
		Changes           []change
		Admitted, Refused int64
		Now               time.Time
		Days              int
		RefusedOf         int64
		Plans             []diagnose.LargerPlan
	}{Days: usage.ReplayDays, Plan: t.Plan, Quota: t.Quota, Now: v.now}
	minute, day, inMonth := t.Boosted()
	data.Boosted = minute || day || inMonth
	err := v.turn(func(ctx context.Context) (err error) {
		data.Bans, err = v.SignIns.Bans(ctx, v.session, v.now)
		return err
	})
	if err != nil {
		return err
	}
	month, err := v.Usage.UsageMonth(v.Context(), t.ID, v.now)
	if err != nil {
		return err
	}
	data.Admitted, data.Refused = month.Sum()
	d := v.Limiter.Peek(v.Context(), limits.Claim{TenantID: t.ID, Quota: t.Quota}, v.now)
	if !d.Undecided {
		data.Meters = []meter{meterOf("This minute", d.Minute), meterOf("Today", d.Day)}
		data.Meters[1].Forecast = new(usage.Predict(month.RateWindow, d.Day.Remaining, v.now))
		if t.Quota.Month.Kind == plans.SomeMonth {
			data.Meters = append(data.Meters, monthMeterOf(t.Quota.Month, &d, &month, v.now))
		}
	}
	for before := t; before.Next != nil; before = before.Next {
		if next := before.Next; next.Plan != before.Plan || next.Quota != before.Quota {
			data.Changes = append(data.Changes, change{before.Until, next.Plan, next.Quota})
		}
	}
	if !v.URL.Query().Has("refresh") {
		if data.Dead, err = v.deadEndpoints(); err != nil {
			return err
		}
		if data.Ending, err = v.endingKeys(); err != nil {
			return err
		}
		if data.RefusedOf, data.Plans, err = v.larger(); err != nil {
			return err
		}
	}
	return v.show("overview", data)
}

// endingKeys returns the keys that expire soon, the soonest first.
func (v *visit) endingKeys() ([]keys.CustomerKey, error) {
	list, err := v.listKeys(shownKeys, keys.Active, keys.Banned)
	list = slices.DeleteFunc(list, func(k keys.CustomerKey) bool {
		return k.ExpiresAt.IsZero() || k.ExpiresAt.Sub(v.now) > keys.ExpiryNotice
	})
	slices.SortFunc(list, func(a, b keys.CustomerKey) int { return a.ExpiresAt.Compare(b.ExpiresAt) })
	return list, err
}

// maxReplay is how long the overview waits to learn what larger plans would have refused.
const maxReplay = time.Second

// larger returns what larger plans would have refused in the last days, or nothing if that takes
// too long.
func (v *visit) larger() (refused int64, list []diagnose.LargerPlan, err error) {
	ctx, cancel := context.WithTimeout(v.Context(), maxReplay)
	defer cancel()
	hours, err := v.Failed.ReplayHours(ctx, v.who.Tenant.ID, v.now)
	if err == nil && slices.ContainsFunc(hours, func(h usage.Hour) bool { return h.Refused > 0 }) {
		var sold []plans.Plan
		if sold, err = v.Sold(ctx); err == nil {
			refused, list = diagnose.LargerPlans(hours, v.who.Tenant, sold, "")
		}
	}
	if ctx.Err() != nil {
		return 0, nil, v.Context().Err()
	}
	return refused, list, err
}

// usage shows a month, by default the present one.
func (v *visit) usage() error {
	present := usage.MonthStart(v.now)
	month := present
	if asked := v.URL.Query().Get("month"); asked != "" {
		var err error
		if month, err = time.Parse(
			monthLayout,
			asked,
		); err != nil || month.After(present) ||
			!strings.HasPrefix(asked, "2") {
			return v.message(http.StatusNotFound, "noMonth")
		}
	}
	report, err := v.Usage.UsageReport(v.Context(), v.who.Tenant.ID, month, v.now)
	if err != nil {
		return err
	}
	created := v.who.Tenant.CreatedAt.UTC()
	data := struct {
		usage.Report
		Month, Before, After time.Time
		Admitted, Refused    int64
		Chart                chart
	}{Report: report, Month: month, Chart: chartOf(report.Days, month)}
	data.Admitted, data.Refused = report.Sum()
	if month.After(created) {
		data.Before = month.AddDate(0, -1, 0)
	}
	if month.Before(present) {
		data.After = month.AddDate(0, 1, 0)
	}
	return v.show("usage", data)
}

// chart has a bar for each day. It is Width × chartHeight, and is stretched to the page.
type chart struct {
	Width int
	Most  int64
	Bars  []bar
}

// bar has the refused requests of a day above the admitted ones. Y and the heights are counted from
// the top of the chart.
type bar struct {
	usage.Day
	X, AdmittedY, AdmittedHeight, RefusedY, RefusedHeight int64
}

const barWidth, chartHeight = 10, 1000

func chartOf(days []usage.Day, month time.Time) chart {
	c := chart{Width: barWidth * month.AddDate(0, 1, -1).Day(), Most: 1}
	for _, d := range days {
		c.Most = max(c.Most, d.Admitted+d.Refused)
	}
	height := func(n int64) int64 { return int64(float64(max(0, n)) / float64(c.Most) * chartHeight) }
	for i, d := range days {
		b := bar{Day: d, X: int64(i)*barWidth + 1, AdmittedHeight: height(d.Admitted), RefusedHeight: height(d.Refused)}
		b.AdmittedY = chartHeight - b.AdmittedHeight
		b.RefusedY = b.AdmittedY - b.RefusedHeight
		c.Bars = append(c.Bars, b)
	}
	return c
}
