package audit

import "slices"

// Event is a kind of change that writes an entry.
type Event struct {
	// Action is noun.verb.
	Action string
	// Change says in a list what changed; {member} stands for a member after the change. "" shows
	// the members that differ.
	Change string
	// Undo says what the undo does, "" if there is none. For an event without an undo, Final gives
	// the reason, as a sentence without its end, and Hint says what to do instead. {name} stands
	// for the subject's name.
	Undo, Final, Hint string
	// Refuses says that requests of the tenant are refused from then on.
	Refuses bool
}

// Events are all events. The table of docs/audit.md is made from it, and the store has an undo for
// each event with Undo.
var Events = []Event{
	{Action: "tenant.edit", Undo: restores},
	{Action: "key.edit", Undo: restores},
	{Action: "tenant.suspend", Change: "active → suspended", Undo: "resumes the tenant, from now on", Refuses: true},
	{Action: "tenant.resume", Change: "suspended → active", Undo: "suspends the tenant, from now on"},
	{Action: "plan.assign", Undo: assigns},
	{Action: "plan.boost", Undo: assigns},
	{Action: "plan.move", Undo: assigns},
	{Action: "plan.unschedule", Undo: "schedules again what was removed, if it would begin later than now"},
	{Action: "plan.void", Change: "assignment {assignment} is void", Undo: "removes the mark"},
	{Action: "plan.unvoid", Change: "assignment {assignment} is not void", Undo: "restores the mark and its reason"},
	{
		Action: "plan.edit",
		Undo: "withdraws the version; one that has begun is followed by a version with the numbers of before. " +
			"Restores title and price",
	},
	{Action: "plan.withdraw", Undo: "schedules the version again"},
	{Action: "plan.retire", Undo: "restores when the plan retires"},
	{Action: "plan.resell", Undo: "restores when the plan retires"},
	{Action: "key.issue", Undo: "revokes the key"},
	{Action: "key.unrevoke", Change: "revoked → active", Undo: "revokes the key"},
	{
		Action:  "key.revoke",
		Change:  "active → revoked",
		Undo:    "brings the key back, within 15 minutes, by the login that revoked it or by the owner",
		Refuses: true,
	},
	{
		Action: "key.rotate",
		Undo: "restores the expiry of the old key, for 15 minutes after it expired by the clock of the database. " +
			"The new key is another entry, " +
			"`key.issue`",
	},
	{Action: "ban.place", Change: "until {ends_at}", Undo: bans, Refuses: true},
	{Action: "ban.lift", Change: "ban lifted", Undo: bans},
	{Action: "tenant.create", Final: "a tenant is not removed", Hint: "suspend it: petstorectl tenant suspend {name}"},
	{
		Action: "tenant.invite",
		Final:  "the link ends by itself 15 minutes after it was made",
		Hint:   "to end it at once, suspend the tenant: petstorectl tenant suspend {name}",
	},
	{Action: "tenant.ask", Change: "asked to confirm the address", Final: sent},
	{Action: "tenant.confirm", Final: "its customer has confirmed the address"},
	{Action: "tenant.unsubscribe", Final: "its customer wants no more mail"},
	{Action: "tenant.erase", Final: "what was erased is not kept anywhere"},
	{Action: "plan.create", Final: "a plan is never removed", Hint: "retire it: petstorectl plan retire {name}"},
	{Action: "plan.remove", Final: "it was made by SQL", Hint: "take it back by SQL, as the owner of the tables"},
	{Action: "webhook.create", Final: webhooks},
	{Action: "webhook.edit", Final: webhooks},
	{Action: "webhook.rotate", Change: "another secret", Final: webhooks},
	{Action: "webhook.remove", Final: "its secrets are not kept"},
	{Action: "webhook.test", Change: "a ping is queued", Final: sent},
	{Action: "webhook.retry", Change: "an event is queued again", Final: sent},
	{Action: "webhook.replay", Change: "{queued} events are queued again", Final: sent},
	{Action: "webhook.disable", Final: "its customer enables it again"},
	{Action: "webhook.resume", Final: sent},
	{Action: "limits.reset", Final: "requests were counted since, and what was used before is not kept"},
	{Action: "usage.close", Final: "a closed month never changes: what comes late is a correction in the next"},
	{Action: "usage.forget", Final: "a server that delivers again is waited for again"},
	{Action: "usage.events", Final: "what the billing system has received stays there"},
	{Action: "usage.resend", Undo: "moves it back, while none of its events was sent"},
	{Action: "usage.unresend", Change: "moved back", Final: "resend it again"},
	{Action: "usage.waive", Undo: "no longer gives it up: the next `usage hand-on` looks for all that is not sent"},
	{Action: "usage.unwaive", Change: "no longer given up", Final: "waive it again"},
	{Action: "usage.retry", Final: "what was sent meanwhile stays sent"},
	{Action: "usage.settle", Final: "what was sent meanwhile stays sent"},
	{
		Action: "retention.set",
		Final:  "what was removed since does not come back; set it again: petstorectl retention set",
	},
	{Action: "audit.remove", Final: "the entries are gone"},
	{Action: "staff.add", Final: "a login is a role of Postgres", Hint: "remove it: petstorectl staff remove {name}"},
	{Action: "staff.remove", Final: "the password was not kept", Hint: "add it again: petstorectl staff add {name}"},
	{
		Action: "staff.rotate",
		Final:  "the former password was not kept",
		Hint:   "set another one: petstorectl staff rotate {name}",
	},
}

const (
	restores = "restores the values that the change changed. It is refused if the key's former expiry has passed: " +
		"the key would end at once"
	assigns  = "assigns from now on what would be in force without it; one that has not begun is removed"
	webhooks = "its customer changes it again"
	sent     = "what was sent stays sent"
	bans     = "lifts the ban, or places it again until the end that it had"
)

// Actions are the actions of all events, sorted.
func Actions() (actions []string) {
	for _, e := range Events {
		actions = append(actions, e.Action)
	}
	slices.Sort(actions)
	return actions
}

// FindEvent returns the event of an action. An unknown action is final.
func FindEvent(action string) Event {
	if i := slices.IndexFunc(Events, func(e Event) bool { return e.Action == action }); i >= 0 {
		return Events[i]
	}
	return Event{Action: action, Final: "this petstorectl does not know how"}
}
