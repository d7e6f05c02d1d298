package billing_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/store"
	"petstore.example/internal/store/billing"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/usage/events"
)

// taker sends what its receiver takes, as usage hand-on does.
type taker struct {
	format events.Format
	now    time.Time
	list   []string
}

func (k *taker) Write(page []events.Event) (sent []events.Event, err error) {
	for _, e := range page {
		if !k.format.Counts(e) {
			continue
		}
		what := "sent to " + e.BillingRef
		if reason := k.format.Refuses(e, k.now); reason != "" {
			what = string(reason)
		} else {
			sent = append(sent, e)
		}
		k.list = append(
			k.list,
			fmt.Sprintf("%s %s %d: %s", e.Tenant, e.Hour.Format("01-02T15"), k.format.Value(e), what),
		)
	}
	return sent, nil
}

func (*taker) Close() error { return nil }

// wantHandedOn runs usage hand-on at an instant.
func wantHandedOn(t *testing.T, d billing.Events, format events.Format, from, now time.Time, want ...string) {
	t.Helper()
	k := taker{format: format, now: now}
	err := d.Send(t.Context(), audit.By{Actor: "bill"}, billing.EventQuery{
		From: from, To: now.Truncate(time.Hour), Receiver: string(format), Format: format, Waiting: true,
	}, &k)
	assert.Result(t, strings.Join(k.list, "\n"), err, strings.Join(want, "\n"), "at", now)
}

// TestLeftOut: usage of a tenant without a billing reference is named from the receiver's first hour
// on, until it is sent or given up.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	h := newHandOn(t)
	run := func(from, now time.Time, want ...string) {
		t.Helper()
		wantHandedOn(t, h.Events, events.Lago, from, now, want...)
	}
	refer := func(ref any) { h.owner.MustExec(`update tenants set billing_ref = $1 where name = 'zoo'`, ref) }
	use := func(hour time.Time, n int) {
		h.owner.MustExec(`select test_usage(2, $1, 'key_0000000000000002', 'pro', $2, 0)`, hour, n)
	}
	day := func(n int) time.Time { return fixture.November.AddDate(0, 0, n-1) }
	refer(nil)
	use(day(1).Add(-time.Hour), 1000) // before the receiver
	run(day(1), day(25), "acme 11-20T12 110: sent to cus_acme", "acme 11-20T12 1000: sent to cus_acme",
		"zoo 11-20T12 7: no billing reference")
	const left = "zoo 11-20T12 7: no billing reference"
	run(time.Time{}, day(70), left)
	run(day(1), day(71), left) // as a cron job whose first --from stayed
	use(day(60), 5)
	run(time.Time{}, day(130), left, "zoo 12-30T00 5: no billing reference")
	if err := h.send(t, billing.EventQuery{
		From: day(2), To: day(130), Receiver: "lago", Format: events.Lago, Waiting: true,
	}, &sink{}); !strings.Contains(fmt.Sprint(err), "begins with 2026-11-01T00:00:00Z") {
		t.Errorf("a later first hour: %v", err)
	}

	waive := func(receiver string, until time.Time, missing string) {
		t.Helper()
		done, err := h.Events.Waive(t.Context(), audit.By{Actor: "bill", Reason: "a trial"}, "zoo", receiver, until)
		assert.Result(t, fmt.Sprint(done.Missing, done.Already), err, missing, "waived until", until)
	}
	undo := func(receiver string) {
		t.Helper()
		var number int64
		assert.NoError(t, h.owner.Get(&number, `
			select number from audit_entries where action = 'usage.waive' and after ->> 'receiver' = $1`, receiver))
		_, err := h.Undos.Do(t.Context(), audit.By{Actor: "bill"}, []int64{number}, time.Now())
		assert.NoError(t, err)
	}
	waive("lago", day(30), "[{lago lago 1 7}] false")
	waive("lago", day(25), "[{lago lago 0 0}] true")
	run(time.Time{}, day(130), "zoo 12-30T00 5: no billing reference")
	waive("", day(100), "[{lago lago 1 5}] false")
	run(time.Time{}, day(200))
	use(day(98), 3) // late, and given up
	run(time.Time{}, day(201))
	undo("")
	run(time.Time{}, day(300), "zoo 12-30T00 5: no billing reference", "zoo 02-06T00 3: no billing reference")
	undo("lago")
	run(time.Time{}, day(301), left, "zoo 12-30T00 5: no billing reference", "zoo 02-06T00 3: no billing reference")
	waive("lago", day(30), "[{lago lago 1 7}] false")
	refer("cus_zoo")
	run(time.Time{}, day(400), "zoo 12-30T00 5: sent to cus_zoo", "zoo 02-06T00 3: sent to cus_zoo")
	run(time.Time{}, day(800))
	_, err := h.Events.Waive(t.Context(), audit.By{Actor: "bill"}, "zoo", "other", day(30))
	assert.ErrorIs(t, err, billing.ErrReceiverNew, "another receiver")
	list, err := h.Events.Waivers(t.Context(), 2)
	assert.Result(t, len(list), err, 1, "waivers", list)

	// What was sent of hours that were given up can be taken back, and nothing is added.
	h.owner.MustExec(`update usage_hourly set admitted = admitted - 1 where tenant_id = 2 and hour = $1`, day(60))
	waive("", day(801), "[{lago lago 0 0}] false")
	run(time.Time{}, day(93), "zoo 12-30T00 -1: sent to cus_zoo")
	use(day(60), 4)
	run(time.Time{}, day(93))
}

// TestLeftOutDays: what was left out is named also after its hours were summed into days, and when
// its tenant was erased.
func TestLeftOutDays(t *testing.T) {
	t.Parallel()
	b := fixture.NewFilledBooks(t)
	b.Close(t, fixture.Oct)
	run := func(format events.Format, from time.Time, want ...string) {
		t.Helper()
		wantHandedOn(t, b.Billing.Events, format, from, fixture.Dec, want...)
	}
	const reason = ": no billing reference"
	hours := []string{"acme 10-02T09 8030" + reason, "acme 10-20T10 10" + reason, "acme 10-20T10 44100" + reason}
	run(events.Lago, fixture.Oct, hours...)
	run(events.CloudEvents, fixture.Oct, "acme 10-02T09 8030: sent to ", "acme 10-20T10 10: sent to ",
		"acme 10-20T10 44100: sent to ")
	b.EndPartition(t, fixture.Nov)
	b.RollUp(t, 1000)
	const byDay = " 52140: its hours are summed into days: bill them by hand"
	run(events.Lago, time.Time{}, "acme 10-02T00"+byDay)
	run(events.CloudEvents, time.Time{})
	b.Exec(t, `update tenants set suspended_at = now() where name = 'acme'`)
	owner := storetest.Open(t, storetest.As(t, b.URL, storetest.OwnerLogin), store.Options{})
	missing, err := owner.Events.Missing(t.Context(), fixture.Acme, fixture.Dec)
	assert.Result(t, fmt.Sprint(missing), err, "[{lago lago 1 52140}]", "missing")
	_, err = owner.TenantData.Erase(t.Context(), fixture.Bill, "acme", func(int) {})
	assert.NoError(t, err)
	run(events.Lago, time.Time{}, "erased-1 10-02T00"+byDay)
	by := audit.By{Actor: "bill", Reason: "billed by hand"}
	_, err = b.Billing.Events.Waive(t.Context(), by, "erased-1", "lago", fixture.Oct.Add(48*time.Hour))
	assert.NoError(t, err)
	run(events.Lago, time.Time{}, "erased-1 10-20T00 44110: its hours are summed into days: bill them by hand")
	numbers, err := b.Billing.Undos.Latest(t.Context(), 0)
	assert.NoError(t, err)
	_, err = b.Billing.Undos.Do(t.Context(), by, numbers, time.Now())
	assert.NoError(t, err)
	run(events.Lago, time.Time{}, "erased-1 10-02T00"+byDay)
	_, err = b.Billing.Events.Waive(t.Context(), by, "erased-1", "", fixture.Dec)
	assert.NoError(t, err)
	run(events.Lago, time.Time{})
}

// TestLeftOutOverageDays: overage that was left out is named, too.
func TestLeftOutOverageDays(t *testing.T) {
	t.Parallel()
	b := fixture.NewBooks(t)
	b.Exec(t, agreedMonth)
	b.Deliver(
		t,
		"s1",
		fixture.Dec,
		fixture.Used(4, fixture.Nov, 90, 3),
		fixture.Used(4, fixture.Nov.AddDate(0, 0, 1), 67, 0),
	)
	b.Close(t, fixture.Nov)
	run := func(from time.Time, want ...string) {
		t.Helper()
		wantHandedOn(t, b.Billing.Events, events.StripeOverage, from, fixture.Dec, want...)
	}
	run(fixture.Nov, "acme 11-02T00 57: no billing reference")
	b.EndPartition(t, fixture.Dec)
	b.RollUp(t, 1000)
	run(time.Time{}, "acme 11-02T00 57: its hours are summed into days: bill them by hand")
	_, err := b.Billing.Events.Waive(t.Context(), audit.By{Actor: "bill"}, "acme", "stripe-overage", fixture.Dec)
	assert.NoError(t, err)
	run(time.Time{})
}
