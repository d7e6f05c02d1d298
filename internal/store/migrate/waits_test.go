package migrate_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/migrate"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
	"petstore.example/migrations"
)

// lines are what a migration says.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, line)
}

// matching returns how many lines match.
func (l *lines) matching(pattern string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.all {
		if regexp.MustCompile(pattern).MatchString(line) {
			n++
		}
	}
	return n
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.all, "\n")
}

// reader begins a transaction of another program, which stays idle after the statements.
func reader(t *testing.T, url, statements string) *sql.Tx {
	t.Helper()
	db, err := sql.Open("postgres", url+"&application_name=forgotten")
	assert.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	tx, err := db.BeginTx(t.Context(), nil)
	assert.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback() })
	_, err = tx.ExecContext(t.Context(), statements)
	assert.NoError(t, err)
	return tx
}

// begin starts up, and returns what it says and its end.
func begin(t *testing.T, m migrate.Migrator, url string) (*lines, <-chan error) {
	t.Helper()
	said, done := &lines{}, make(chan error, 1)
	go func() { done <- m.With(said.add).Up(t.Context(), url) }()
	return said, done
}

// kinds are the kinds of steps by what they lock. Each comes after all migrations.
var kinds = map[string]string{
	"alter": "lock table tenants, api_keys, pets in access exclusive mode;\n" +
		"alter table tenants add column added int; alter table api_keys add column added int;\n" +
		"alter table pets add column added int",
	"trigger": "lock table tenants, pets in share row exclusive mode;\n" +
		"create trigger added after delete on pets for each row execute function notify_all();\n" +
		"create table added (tenant_id bigint references tenants(id))",
	"view": "do $$ begin\n" +
		"execute 'create or replace view quota_periods as ' || pg_get_viewdef('quota_periods'); end $$",
	"index":    outside + "create index concurrently if not exists added on pets (created_at);",
	"no index": outside + "drop index concurrently if exists pets_by_category;",
}

// TestNoRequestWaitsLong: somebody has forgotten a transaction that read and wrote, as a dump and a
// job do. Each kind of step waits for it, says for whom, and takes effect when it has ended.
// Meanwhile no request of a server is answered 503: make soak PARTS=bounds counts none, make test-all
// one in a hundred.
func TestNoRequestWaitsLong(t *testing.T) {
	t.Parallel()
	for kind, step := range kinds {
		t.Run(kind, func(t *testing.T) { // one after the other: the machine should be no reason to wait
			database := storetest.New(t)
			key := storetest.IssueKey(t, storetest.Open(t, database.URL, store.Options{}),
				tenancy.NewTenant{Name: "acme", Plan: plans.Enterprise, Own: &plans.Quota{PerMinute: 1e9, PerDay: 1e9}})
			s := programs.Serve(t, programs.Path(t, "petstore"),
				"PETSTORE_DATABASE_URL="+database.APIURL, "PETSTORE_ADDRESS_LIMIT=1000000")
			load := begins(t, s.URL, key)

			held := reader(t, database.URL, `
				select from tenants, api_keys, pets, quota_periods limit 1;
				lock table tenants, api_keys, pets in row exclusive mode`)
			said, done := begin(t, newMigrator(all(step)).Timed(), database.URL)
			waits := `^migration 9999_added waits for pid \d+, login "postgres", application "forgotten", ` +
				`in a transaction since 20\S+Z, from the machine of Postgres; `
			times := 3
			if strings.HasPrefix(step, outside) {
				waits, times = waits+"nobody waits for it$", 1
			} else {
				waits += `it tries again in \S+, for \S+ at most$`
			}
			wait.Until(
				t,
				"a migration that says for whom it waits",
				func() bool { return said.matching(waits) >= times },
				said,
			)
			load.more(t, 100)
			assert.NoError(t, held.Rollback())
			assert.NoError(t, <-done)
			load.more(t, 100)
			load.end()
			sent, failed, longest := load.sent.Load(), load.failed.Load(), time.Duration(load.longest.Load())
			// Steps that keep their locks for ten seconds fail more than half of the requests. One whose
			// server gets no processor for 400 ms may fail too, but for a machine with nothing else to do.
			most := sent / 100
			if wait.Bounds() {
				most = 0
			}
			if failed > most {
				t.Errorf("%d of %d requests were answered otherwise than 201 or 401, the last one %v",
					failed, sent, load.last.Load())
			}
			wait.Bound(t, "the longest request beside a step of the kind "+kind, longest, 800*time.Millisecond)
			t.Logf("%d requests beside a step of the kind %s: %d × 503, the longest took %v",
				sent, kind, failed, longest.Round(time.Millisecond))
		})
	}
}

// all returns the migrations with one more.
func all(step string) fstest.MapFS {
	files := fstest.MapFS{}
	names, _ := fs.Glob(migrations.FS, "*.sql")
	for _, name := range names {
		text, _ := migrations.FS.ReadFile(name)
		files[name] = &fstest.MapFile{Data: text}
	}
	maps.Copy(files, fstest.MapFS{"9999_added.up.sql": {Data: []byte(step)}, "9999_added.down.sql": {}})
	return files
}

// load are requests that read and write the tables that the steps lock.
type load struct {
	sent, failed, longest atomic.Int64
	last                  atomic.Value
	end                   func()
}

// begins starts requests: animals are made, and keys looked up that the server has not seen.
func begins(t *testing.T, url, key string) *load {
	t.Helper()
	l := &load{}
	client := &http.Client{Transport: &http.Transport{}}
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for n := range 3 {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				token, err := keys.NewToken(keys.Live)
				assert.NoError(t, err)
				method, with, want := http.MethodGet, token.Reveal(), http.StatusUnauthorized
				if n > 0 {
					method, with, want = http.MethodPost, key, http.StatusCreated
				}
				began := time.Now()
				if got := l.send(client, method, url+"/pets", with); !strings.HasPrefix(got, fmt.Sprint(want)) {
					l.failed.Add(1)
					l.last.Store(got)
				}
				took := time.Since(began).Nanoseconds()
				for longest := l.longest.Load(); took > longest && !l.longest.CompareAndSwap(longest, took); {
					longest = l.longest.Load()
				}
				l.sent.Add(1)
				time.Sleep(10 * time.Millisecond) // A busy machine would be the reason to wait.
			}
		})
	}
	l.end = sync.OnceFunc(func() {
		close(stop)
		clients.Wait()
		client.CloseIdleConnections()
	})
	t.Cleanup(l.end)
	l.more(t, 20)
	return l
}

// send returns the status and the body of a response.
func (l *load) send(client *http.Client, method, url, key string) string {
	r, err := http.NewRequest(method, url, bytes.NewReader([]byte(`{"name":"Rex","categoryId":1}`)))
	if err != nil {
		return err.Error()
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	response, err := client.Do(r)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return fmt.Sprintf("%d %s", response.StatusCode, body)
}

// more waits for so many requests.
func (l *load) more(t *testing.T, n int64) {
	t.Helper()
	to := l.sent.Load() + n
	wait.Until(t, "more requests", func() bool { return l.sent.Load() >= to })
}

// only returns the migrations before one.
func only(t *testing.T, before string) fstest.MapFS {
	t.Helper()
	files := all("")
	for name := range files {
		if name >= before {
			delete(files, name)
		}
	}
	return files
}
