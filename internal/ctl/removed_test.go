package ctl

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/store"
	"petstore.example/internal/store/admin"
	"petstore.example/internal/store/billing"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/usage"
	"petstore.example/internal/usage/events"
)

// removed is a database in which much refers to what is gone: a tenant was erased, and what servers
// and the owner remove when it is old.
type removed struct {
	*fixture.Books
	// token is the key of zoo.
	token, key string
}

func newRemoved(t *testing.T) removed {
	t.Helper()
	b := fixture.NewFilledBooks(t)
	owner := storetest.Open(t, b.URL, store.Options{})
	r := removed{Books: b, token: storetest.IssueKey(t, owner, tenancy.NewTenant{Name: "okapi", Plan: "pro"})}
	r.key = b.Text(t, `select id from api_keys where tenant_id = 3`)
	today := time.Now().UTC().Truncate(time.Hour)
	// zoo's first key ended long ago.
	old := usage.Count{
		Bucket: usage.Bucket{
			TenantID:   fixture.Zoo,
			KeyID:      "key_0000000000000002",
			Assignment: fixture.Free,
			Version:    1,
		},
		Admitted: 5,
		Refused:  1,
	}
	for _, hour := range []time.Time{fixture.Oct.Add(40 * time.Hour), today} {
		old.Hour = hour.Unix()
		b.Deliver(t, "s1", hour.Add(time.Hour), old, fixture.Used(fixture.Business, hour, 3, 2))
	}
	b.Exec(t, `
		select set_config('petstore.audited', 'on', false);
		with made as (
		  insert into endpoints (tenant_id, environment, url, events, verified_at)
		  select id, 'live', 'https://a.example', '{*}', now() from tenants order by id returning id
		)
		insert into endpoint_slots (endpoint_id, slot) select id, 0 from made;
		update tenants set billing_ref = 'cus_' || name;
		insert into failed_requests (tenant_id, server_id, number, key_id, at, request_id, code, plan, limited_by,
			allowed, partial, method, route, suppressed, status, reason, took_micros)
		select k.tenant_id, k.id, n, k.id, now() - (n - 4) * interval '1 month', 'request-' || n, 'pet_not_found',
		  'pro', '', 0, false, 'GET', '/v1/pets/{petId}', 0, 404, '', 5
		from api_keys k, generate_series(4, 5) n;
		insert into bans (tenant_id, key_id, source, reason, starts_at, ends_at)
		select tenant_id, id, 'staff', 'loop', now() - n * interval '1 year',
		  now() + interval '1 hour' - n * interval '1 year'
		from api_keys, generate_series(0, 2) n where (id, n) <> ('key_0000000000000002', 0);
		update api_keys set revoked_at = '2025-11-01Z' where id = 'key_0000000000000002'`)
	b.Close(t, fixture.Oct)
	b.Deliver(t, "s1", today, fixture.Used(fixture.Business, fixture.Oct.Add(500*time.Hour), 9, 0)) // late
	by := audit.By{Actor: "ops", Reason: "order"}
	q := billing.EventQuery{From: fixture.Oct, To: today, Receiver: "stripe", Format: events.CloudEvents}
	assert.NoError(t, b.Billing.Events.Send(t.Context(), by, q, allEvents{}))
	b.Exec(t, `update tenant_plans set voided_at = now(), void_reason = 'wrong' where id = 1`)

	_, err := owner.Tenants.Suspend(t.Context(), by, "acme", time.Now())
	assert.NoError(t, err)
	_, err = owner.TenantData.Erase(t.Context(), by, "acme", func(int) {})
	assert.NoError(t, err)
	// All of that was in 2015.
	assert.NoError(t, storetest.RewriteAudit(t.Context(), b.URL, `e.at := '2015-06-15Z'`))
	b.Exec(t, `set session_replication_role = replica; update usage_months set sealed_at = '2015-06-15Z'`)
	b.Exec(t, `reset session_replication_role`)
	_, err = b.API.Retention.CutAudit(t.Context())
	assert.NoError(t, err)
	_, err = owner.Tenants.Suspend(t.Context(), by, "zoo", time.Now())
	assert.NoError(t, err)
	b.EndPartition(t, fixture.Nov)
	b.Exec(t, `update retention set keep = least`)
	b.RollUp(t, 1000)
	for _, kind := range []string{admin.RetentionBans, admin.RetentionKeys, admin.RetentionFailed} {
		n, _, err := b.API.Retention.Prune(t.Context(), kind, 1000)
		assert.True(t, err == nil && n > 0, kind, n, err)
	}
	gone, err := owner.Retention.RemoveAudit(t.Context(), by)
	assert.True(t, err == nil && gone.Entries > 0, "audit", gone, err)
	b.Want(t, "0", `select count(*) from api_keys where id like 'key_000%'`)
	return r
}

// allEvents is a sink that sends everything.
type allEvents struct{}

func (allEvents) Write(page []events.Event) ([]events.Event, error) { return page, nil }

func (allEvents) Close() error { return nil }

// lines are the arguments with which a command that reads is tried, in several ways.
func (r removed) lines(t *testing.T, name string) []string {
	if lines, ok := map[string][]string{
		"tenant show":   {"zoo", "erased-1", "1"},
		"tenant export": {"zoo", "erased-1"},
		"key show":      {r.key},
		"key identify":  {""},
		"plan show":     {"pro", "business"},
		"plan history":  {"zoo", "erased-1"},
		"plan simulate": {"zoo free", "erased-1 pro"},
		"usage show":    {"", "--month 2025-10", "--month 2025-10 --tenant erased-1"},
		"usage export":  {"--month 2025-10", "--month 2025-11", "--month " + time.Now().UTC().Format("2006-01")},
		"usage verify":  {"--month 2025-10"},
		"audit show":    {r.Text(t, `select max(number)::text from audit_entries`)},
		"webhook show":  {r.Text(t, `select id::text from endpoints where tenant_id = $1`, fixture.Zoo)},
		"why":           {"zoo", "erased-1", "acme", r.key, fixture.AcmeKey, "key_0000000000000002", "-", "request-4"},
		"tail":          {"erased-1 --for 1s"},
	}[name]; ok {
		return lines
	}
	return []string{""}
}

// run runs a command line in a format, "" for that of a pipe.
func (r removed) run(t *testing.T, args []string, format string) (code int, stdout, stderr string) {
	t.Helper()
	var out, messages bytes.Buffer
	if format != "" {
		args = append(slices.Clone(args), "-o", format)
	}
	f := cmdutil.NewFactory(
		&cmdutil.IOStreams{In: strings.NewReader(r.token), Out: &out, ErrOut: &messages, Width: 80},
	)
	f.Getenv = func(name string) string {
		return map[string]string{"PETSTORE_DATABASE_URL": r.URL, "PETSTORE_ACTOR": "test"}[name]
	}
	defer f.Close()
	return Run(t.Context(), f, args), out.String(), messages.String()
}

// TestReadingWhatIsGone runs every command that only reads, in every format, and with each of its
// flags that takes no value or that a shell completes.
func TestReadingWhatIsGone(t *testing.T) {
	t.Parallel()
	r := newRemoved(t)
	const note = "is not compared: entries up to 2015-06-15T00:00:00Z were removed"
	_, _, stderr := r.run(t, strings.Fields("usage verify --month 2025-10"), "")
	assert.True(t, strings.Contains(stderr, note), "usage verify says", stderr)
	f := cmdutil.NewFactory(&cmdutil.IOStreams{ErrOut: &bytes.Buffer{}})
	f.Getenv = func(name string) string { return map[string]string{"PETSTORE_DATABASE_URL": r.URL}[name] }
	defer f.Close()
	eachCommand(newCmdRoot(f), func(c *cobra.Command) {
		name := strings.TrimPrefix(c.CommandPath(), "petstorectl ")
		if c.HasSubCommands() || c.Flags().Lookup("database-url") == nil || c.Flags().Lookup("dry-run") != nil ||
			name == "login" {
			return
		}
		c.SetContext(t.Context())
		for _, line := range r.lines(t, name) {
			line = strings.TrimSpace(name + " " + line)
			for _, format := range append(completions(c, "output"), "") {
				r.read(t, line, "", format)
			}
			for _, flag := range flagsOf(c) {
				r.read(t, line, flag, "")
			}
		}
	})
}

// flagsOf are the flags that can be tried one by one.
func flagsOf(c *cobra.Command) (list []string) {
	c.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		switch {
		case slices.Contains([]string{"output", "columns", "profile", "help", "for"}, flag.Name):
		case strings.HasPrefix(flag.Value.Type(), "bool"):
			list = append(list, "--"+flag.Name)
		default:
			for _, value := range completions(c, flag.Name) {
				list = append(list, "--"+flag.Name+" "+value)
			}
		}
	})
	return list
}

func completions(c *cobra.Command, flag string) (values []string) {
	complete, ok := c.GetFlagCompletionFunc(flag)
	if !ok {
		return nil
	}
	found, _ := complete(c, nil, "")
	for _, value := range found[:min(len(found), 6)] { // There may be a year of months.
		value, _, _ = strings.Cut(value, "\t")
		values = append(values, value)
	}
	return values
}

// refused are command lines with another exit code than 0.
func (r removed) refused(line string) int {
	return map[string]int{
		"doctor":                   cmdutil.ExitFailed, // No server is alive.
		"tail erased-1 --for 1s":   cmdutil.ExitUsage,  // As JSON.
		"tenant export erased-1":   cmdutil.ExitRefused,
		"why acme":                 cmdutil.ExitNotFound,
		"why " + fixture.AcmeKey:   cmdutil.ExitNotFound,
		"why key_0000000000000002": cmdutil.ExitNotFound,
	}[line]
}

// read runs a command line. A flag more may not go with the others.
func (r removed) read(t *testing.T, line, flag, format string) {
	t.Helper()
	code, stdout, stderr := r.run(t, strings.Fields(line+" "+flag), format)
	mayRefuse := flag != "" && code >= cmdutil.ExitUsage && code <= cmdutil.ExitRefused
	if code != cmdutil.ExitOK && code != r.refused(line) && !mayRefuse {
		t.Errorf("%s %s -o %s: exit %d: %s", line, flag, format, code, stderr)
	}
	if strings.HasPrefix(format, "json") {
		for d := json.NewDecoder(strings.NewReader(stdout)); d.More(); {
			var v any
			if err := d.Decode(&v); err != nil {
				t.Fatalf("%s %s -o %s: %v in %s", line, flag, format, err, stdout)
			}
		}
	}
}
