package webhooks_test

import (
	"path/filepath"
	"testing"
	"time"

	"petstore.example/internal/store"
	"petstore.example/internal/store/webhooks"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/storetest"
)

// TestARestoredDumpSendsNothing: what a dump holds is not sent again by the database that it is
// restored to, until support resumes it, or the part since an instant. What happens after the
// restore is sent at once.
func TestARestoredDumpSendsNothing(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	e := b.enabled(t, "*")
	b.fill(t, e, 3, "key.issued")
	b.Exec(t, `update deliveries set created_at = now() - interval '1 hour' where id % 3 = 0`)
	b.Exec(t, `update tenants set email = 'ops@acme.example'`) // has a mail that asks to confirm
	into := fixture.NewDatabase(t)
	dump := filepath.Join(t.TempDir(), "dump")
	run := func(name string, args ...string) {
		t.Helper()
		out, err := sandbox.Command(t, storetest.Program(t, name), args...).CombinedOutput()
		assert.NoError(t, err, string(out))
	}
	run("pg_dump", "--format=custom", "--file", dump, "--dbname", b.URL)
	into.Exec(t, `drop table usage_hourly, usage_daily, audit_entries cascade`) // --clean can't
	run("pg_restore", "--clean", "--if-exists", "--dbname", into.URL, dump)

	// The dumped database goes on.
	assert.Equal(t, len(b.claim(t)), 1, "batches of the dumped database")
	r := b
	r.Office = fixture.Office{DB: storetest.Open(t, into.SupportURL, store.Options{}), Database: into,
		API: storetest.Open(t, into.APIURL, store.Options{AsAPI: true, Timeout: fixture.LongTimeout})}
	for range 3 {
		assert.Equal(t, len(r.claim(t)), 0, "batches of the restored database")
		r.Want(t, "0", `select count(*)::text from claim_mails(4)`)
	}
	backlog, err := r.API.Outbox.Report(t.Context(), holder, k1, nil)
	assert.NoError(t, err)
	assert.Equal(t, backlog.Held, 4, "held deliveries and mails")
	r.Issue(t, "acme")
	assert.DeepEqual(t, r.deliver(t), []string{"key.issued"})

	since := time.Now().Add(-time.Minute)
	done, err := r.StaffWebhooks.Resume(t.Context(), fixture.Dry, since)
	assert.Result(t, done, err, webhooks.Resumed{Released: 3, Dropped: 1})
	assert.Equal(t, len(r.claim(t)), 0, "batches after a dry run")
	done, err = r.StaffWebhooks.Resume(t.Context(), fixture.Jo, since)
	assert.Result(t, done, err, webhooks.Resumed{Released: 3, Dropped: 1})
	assert.Equal(t, len(r.deliver(t)), 2, "deliveries after they were resumed")
	r.Want(t, "confirm", `select kind from claim_mails(4)`)
	r.Want(t, `{"dropped": 1, "released": 3}`, `select after::text from audit_entries where action = 'webhook.resume'`)
	done, err = r.StaffWebhooks.Resume(t.Context(), fixture.Jo, since)
	assert.Result(t, done, err, webhooks.Resumed{})
}
