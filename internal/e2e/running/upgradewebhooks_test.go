//go:build linux

package running_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
	"petstore.example/internal/webhooks"
)

// told: what a server and a petstorectl of the last release change is delivered, once. Servers send
// nothing to this machine, so the test sends, as they do.
func (u *upgrade) told() {
	u.Helper()
	var mu sync.Mutex
	told := map[string]int{}
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var event struct{ Type string }
		err := json.NewDecoder(r.Body).Decode(&event)
		mu.Lock()
		defer mu.Unlock()
		told[event.Type]++
		assert.NoError(u, err)
	}))
	defer receiver.Close()
	key := u.tenant(u.old, "free")
	name := fmt.Sprint("tenant-", u.tenants)
	sealer, err := webhooks.NewSealer(webhooks.NewKey())
	assert.NoError(u, err)
	u.endpoint(name, receiver.URL, sealer)

	api := storetest.Open(u, u.database.APIURL, store.Options{AsAPI: true})
	ctx, stop := context.WithCancel(u.Context())
	var sending sync.WaitGroup
	sending.Go(func() {
		_ = webhooks.NewDeliverer(webhooks.Options{
			Outbox: api.Outbox, Sealer: sealer, Refused: store.IsServerError, Log: zerolog.Nop(),
			Sender:   webhooks.NewSender(webhooks.LocalRules(), sealer, "https://api.example.com", time.Now),
			OnResult: func(webhooks.Result) {}, OnBacklog: func(webhooks.Backlog) {},
		}).Run(ctx)
	})
	defer sending.Wait()
	defer stop()
	assert.Equal(u, u.ask(0, key, http.MethodPost, "/pets", `{"name":"Rex","categoryId":7}`).StatusCode, 201)
	var issued struct{ ID string }
	u.decode(response{body: u.old.ctl(
		u, u.database.SupportURL, "key", "issue", name, "--environment", "live", "-o", "json")}, &issued)
	u.change(u.old, "plan", "assign", name, "pro")
	u.change(u.old, "ban", "place", issued.ID, "--for", "1h", "--reason", "test")
	u.change(u.old, "key", "revoke", issued.ID)
	want := map[string]int{
		"pet.created": 1, "key.issued": 1, "plan.changed": 1, "key.banned": 1, "key.revoked": 1,
	}
	wait.Until(u, "what the last release changes is told", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(told) == len(want)
	}, func() any { return fmt.Sprint(told) })
	mu.Lock()
	defer mu.Unlock()
	assert.Equal(u, fmt.Sprint(told), fmt.Sprint(want), "events")
}

// endpoint adds an endpoint of a tenant, as if it had answered a ping.
func (u *upgrade) endpoint(tenant, url string, sealer *webhooks.Sealer) {
	u.Helper()
	db, err := sql.Open("postgres", u.database.URL)
	assert.NoError(u, err)
	defer func() { _ = db.Close() }()
	var id int64
	assert.NoError(u, db.QueryRow(`
		insert into endpoints (tenant_id, environment, url, events, verified_at)
		select id, 'live', $2, '{*,pet.created}', now() from tenants where name = $1 returning id`,
		tenant, url).Scan(&id))
	seal, _ := sealer.NewSecret()
	s := seal(id)
	_, err = db.Exec(`with slots as (insert into endpoint_slots (endpoint_id, slot) values ($1, 0), ($1, 1))
		insert into endpoint_secrets (endpoint_id, key_id, sealed) values ($1, $2, $3)`, id, s.KeyID, s.Ciphertext)
	assert.NoError(u, err)
}
