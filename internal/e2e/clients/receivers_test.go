package clients_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/wait"
	"petstore.example/internal/webhooks"
)

// one is an outbox that hands out its batch once.
type one struct {
	mu      sync.Mutex
	batch   []webhooks.Batch
	results []webhooks.Result
}

func (o *one) Claim(context.Context, uuid.UUID, []string, int, int) ([]webhooks.Batch, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	batch := o.batch
	o.batch = nil
	return batch, nil
}

func (o *one) Finish(_ context.Context, _ uuid.UUID, results []webhooks.Result) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.results = append(o.results, results...)
	return nil
}

func (o *one) finished() []webhooks.Result {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.results
}

func (o *one) Report(context.Context, uuid.UUID, []string, *string) (webhooks.Backlog, error) {
	return webhooks.Backlog{Endpoints: 1}, nil
}

func (o *one) Tell(context.Context) error { return nil }

func (o *one) Prune(context.Context) error { return nil }

func (o *one) Stale(context.Context, []string, int) ([]webhooks.StoredSecret, error) { return nil, nil }

func (o *one) Reseal(context.Context, webhooks.StoredSecret, webhooks.Sealed) error { return nil }

// TestWebhooksAreVerifiedByOthers: the libraries of Standard Webhooks for JavaScript and Python
// verify what we send during a rotation, with the old secret and with the new one, and with no
// other. They read IDs and texts as they are.
func TestWebhooksAreVerifiedByOthers(t *testing.T) {
	t.Parallel()
	const folder = "receivers"
	npmInstall(t, folder)
	tools := pythonToolsVenv(t)
	packages := prepared(t, "receivers", folder+"/requirements.txt", func(dir string) {
		runPython(t, folder, nil, tools, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
			"--only-binary", ":all:", "--require-hashes", "--target", dir, "-r", "requirements.txt")
	})
	secret, text := webhooks.NewSecret()
	old, oldText := webhooks.NewSecret()
	_, foreign := webhooks.NewSecret()
	for language, command := range map[string][]string{
		"JavaScript": {"node", "receiver.mjs"}, "Python": {tools, "receiver.py"},
	} {
		for name, c := range map[string]struct {
			secret string
			want   webhooks.Outcome
		}{
			"new": {text, webhooks.Delivered}, "old": {oldText, webhooks.Delivered},
			"another": {foreign, webhooks.Failed},
		} {
			t.Run(language+" "+name, func(t *testing.T) {
				t.Parallel()
				cmd := sandbox.Command(t, command[0], command[1:]...)
				cmd.Dir = folder
				p := programs.Start(t, cmd, "SECRET="+c.secret, "PYTHONPATH="+packages, "PYTHONDONTWRITEBYTECODE=1")
				wait.Until(t, "its port", func() bool { return strings.Contains(p.Stdout(), "\n") }, p.Stderr)
				port := strings.TrimPrefix(strings.TrimSpace(p.Stdout()), "port ")
				id, r := deliver(t, "http://127.0.0.1:"+port, secret, old)
				assert.Equal(t, r.Outcome, c.want, r.Status, string(r.Answer), r.Said)
				line := id + " pet.created 9007199254740993 Schlüssel 🐕\n"
				assert.Equal(t, strings.HasSuffix(p.Stdout(), line), c.want == webhooks.Delivered, p.Stdout())
				p.Kill()
			})
		}
	}
}

// deliver sends one event, signed with the secrets, and returns its ID.
func deliver(t *testing.T, url string, secrets ...[]byte) (id string, r webhooks.Result) {
	t.Helper()
	sealer, err := webhooks.NewSealer(webhooks.NewKey())
	assert.NoError(t, err)
	event := uuid.New()
	b := webhooks.Batch{EndpointID: 1, URL: url, Deliveries: []webhooks.Delivery{{
		ID: 1, Attempt: 1, EventID: event, Type: "pet.created",
		Body: []byte(`{"type":"pet.created","timestamp":"2026-11-29T12:00:00Z","data":{"id":"9007199254740993",` +
			`"name":"Schlüssel 🐕"}}`),
	}}}
	for _, secret := range secrets {
		b.Secrets = append(b.Secrets, sealer.Seal(1, secret))
	}
	outbox := &one{batch: []webhooks.Batch{b}}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		_ = webhooks.NewDeliverer(webhooks.Options{
			Outbox: outbox, Sealer: sealer, Log: zerolog.Nop(),
			Sender:    webhooks.NewSender(webhooks.LocalRules(), sealer, "https://api.example.com", time.Now),
			Refused:   func(error) bool { return false },
			OnResult:  func(webhooks.Result) {},
			OnBacklog: func(webhooks.Backlog) {},
		}).Run(ctx)
	})
	wait.Until(t, "a result", func() bool { return len(outbox.finished()) == 1 })
	stop()
	running.Wait()
	return event.String(), outbox.finished()[0]
}
