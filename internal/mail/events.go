package mail

import (
	"fmt"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/spelling"
)

// data has the members of all events that are mailed, as openapi.yaml describes them.
type data struct {
	ID, Name, Environment string
	ExpiresAt             time.Time
	ReplacedBy            string
	Reason                string
	EndsAt                time.Time

	quota  // what holds from Since on
	Since  time.Time
	Before quota

	Limit, Used, Percent int64
	Window               string
	Enforced             bool
	ResetsAt             time.Time

	Host           string
	FailingSince   time.Time
	DisabledReason string
}

// quota is a plan with its numbers.
type quota struct {
	Plan                   string
	PerMinute, PerDay      int64
	PerMonth, OverageLimit *int64
	Overage                string
}

func (q quota) String() string {
	of := plans.Quota{PerMinute: q.PerMinute, PerDay: q.PerDay}
	if q.PerMonth != nil {
		of.Month = plans.Month{Kind: plans.SomeMonth, Included: *q.PerMonth}
		if of.Month.Overage.Kind = plans.OverageUnlimited; q.OverageLimit != nil {
			of.Month.Overage = plans.Overage{Kind: plans.OverageNumber, Value: *q.OverageLimit}
		}
	}
	return fmt.Sprintf("plan %s, %s", q.Plan, of.Words())
}

// key names a key as customers know it.
func (d *data) key() string {
	switch {
	case d.Name == "":
		return "A key"
	case d.Environment == "test":
		return "Key " + d.Name + ", for staging,"
	}
	return "Key " + d.Name
}

// events makes the content of each type of event. Its link is below that of the account.
var events = map[string]func(*data) content{
	"key.expiring": func(d *data) content {
		next := "Put another one in its place, or let it last longer."
		if d.ReplacedBy != "" {
			next = "Its replacement is " + d.ReplacedBy + "."
		}
		return content{
			d.key() + " ends on " + instant(d.ExpiresAt),
			[]string{"Requests with " + d.ID + " are refused from then on.", next},
			"/keys", "Your keys",
		}
	},
	"key.banned": func(d *data) content {
		return content{
			d.key() + " is banned until " + instant(d.EndsAt),
			[]string{
				"Requests with " + d.ID + " are refused with 429 until then. The reason: " + d.Reason + ".",
				"Bans that begin within an hour of this one are not mailed: your account shows all.",
			},
			"", "Your account",
		}
	},
	"plan.changing": func(d *data) content {
		return content{
			"Your plan changes on " + instant(d.Since),
			[]string{"From then on: " + d.String() + ".", "Until then: " + d.Before.String() + "."},
			"", "Your account",
		}
	},
	"plan.changed": func(d *data) content {
		return content{
			"Your plan has changed",
			[]string{"Since " + instant(d.Since) + ": " + d.String() + ".", "Before: " + d.Before.String() + "."},
			"", "Your account",
		}
	},
	"quota.threshold_reached": func(d *data) content {
		of, above := "your requests per "+d.Window, "Requests above the limit are refused with 429 until then."
		if !d.Enforced {
			of, above = "the requests that your "+d.Window+" includes", "Requests above that are billed apart."
		}
		return content{
			fmt.Sprintf("%d %% of %s are used", d.Percent, of),
			[]string{
				fmt.Sprintf("%s of %s used. %s remain. Resets at %s.", spelling.Thousands(d.Used),
					spelling.Thousands(d.Limit), spelling.Thousands(max(0, d.Limit-d.Used)), instant(d.ResetsAt)),
				above,
			},
			"", "Your account",
		}
	},
	"endpoint.failing": func(d *data) content {
		return content{
			"Your webhook to " + d.Host + " fails",
			[]string{
				"Every attempt to reach webhook " + d.ID + " has failed since " + instant(d.FailingSince) + ".",
				"After 5 days of that it is disabled.",
			},
			"/webhooks", "Your webhooks",
		}
	},
	"endpoint.disabled": func(d *data) content {
		why := "Every attempt of 5 days has failed."
		if d.DisabledReason == "gone" {
			why = "It has answered with 410."
		}
		return content{
			"Your webhook to " + d.Host + " is disabled",
			[]string{
				"Webhook " + d.ID + " gets nothing any more. " + why,
				"Its events are kept for 30 days. Enable it for what comes next, and replay the rest.",
			},
			"/webhooks", "Your webhooks",
		}
	},
}
