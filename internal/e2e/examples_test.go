package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
)

// example is a client of docs/clients.md in one language: its library, and the program that imports
// lines with many workers.
type example struct {
	language, interpreter, library, program string
	// hurry lets 60 seconds of the program pass in one. It is loaded before the program, by its
	// name or by args.
	hurry, hurryFile string
	args             []string
}

var examples = map[string]example{
	"Python": {
		language:    "python",
		interpreter: "python3",
		library:     "petstore.py",
		program:     "program.py",
		hurryFile:   "sitecustomize.py",
		hurry: "import time\nsleep, monotonic = time.sleep, time.monotonic\ntime.sleep, time.monotonic = " +
			"lambda s: sleep(s / 60), lambda: monotonic() * 60\n",
	},
	"JavaScript": {
		language:    "js",
		interpreter: "node",
		library:     "petstore.mjs",
		program:     "program.mjs",
		hurryFile:   "hurry.mjs",
		args:        []string{"--import", "./hurry.mjs"},
		hurry: `import timers from "node:timers/promises";
import { syncBuiltinESMExports } from "node:module";
const { setTimeout } = timers, now = performance.now.bind(performance);
timers.setTimeout = (ms) => setTimeout(ms / 60);
performance.now = () => now() * 60;
syncBuiltinESMExports();
`,
	},
}

// workers is how many the programs have in these tests: more than make sense, and than they have in
// docs/clients.md.
const workers = 16

// install writes the library and the program to a new folder, as they are printed but for the number
// of workers.
func (e example) install(t *testing.T, workers int) (dir string) {
	t.Helper()
	blocks := regexp.MustCompile(
		"(?s)```"+e.language+"\n(.*?)```",
	).FindAllStringSubmatch(
		programs.Read(t, "../../docs/clients.md"),
		-1,
	)
	if len(blocks) != 2 {
		t.Fatalf("docs/clients.md has %d blocks in %s, want the library and the program", len(blocks), e.language)
	}
	few := regexp.MustCompile(`(ThreadPoolExecutor\(|length: )4\b`)
	if !few.MatchString(blocks[1][1]) {
		t.Fatalf("the program in %s has no 4 workers", e.language)
	}
	dir = t.TempDir()
	write(t, dir, e.library, blocks[0][1])
	write(t, dir, e.program, few.ReplaceAllString(blocks[1][1], fmt.Sprint("${1}", workers)))
	return dir
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	assert.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}

// command runs a file of that folder.
func (e example) command(t *testing.T, dir, url, token string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := sandbox.Command(t, e.interpreter, args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Env, "PYTHONPATH="+dir, "PETSTORE_URL="+url, "PETSTORE_API_KEY="+token)
	return cmd
}

// run runs the library by itself, or the program with these lines, and returns what it prints.
func (e example) run(t *testing.T, file, url, token, lines string, hurry bool) string {
	t.Helper()
	dir := e.install(t, workers)
	var args []string
	if hurry {
		write(t, dir, e.hurryFile, e.hurry)
		args = e.args
	}
	write(t, dir, "animals.txt", lines)
	out, err := e.command(t, dir, url, token, slices.Concat(args, []string{file, "animals.txt"})...).CombinedOutput()
	assert.NoError(t, err, file, out)
	return string(out)
}

func names(n int) string {
	var lines strings.Builder
	for i := range n {
		fmt.Fprintf(&lines, "animal %d\n", i)
	}
	return lines.String()
}

// TestExampleClients: the examples of docs/clients.md list and add animals, and with many workers
// they add more than the limit of Free allows in a minute, without a ban.
func TestExampleClients(t *testing.T) {
	t.Parallel()
	for name, e := range examples {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			animals := 100
			if long() {
				animals = 500
			}
			d := newDeployment(t, true)
			s := d.serve(patientRedis)
			d.avoidMidnight()
			tn := d.tenantEnding(time.Now().Add(8*time.Second), plans.Free, nil, 1)
			added := strings.Count(e.run(t, e.program, s.URL, tn.keys[0].token, names(animals), false), "added ")
			refused := d.number(`select coalesce(sum(refused), 0) from usage_hourly where tenant_id = $1`, tn.ID)
			t.Logf("%d added, %d × 429", added, refused)
			if n := d.number(
				`select count(*) from pets where tenant_id = $1`,
				tn.ID,
			); added != animals ||
				n != int64(animals) {
				t.Errorf("%d added, and %d are there, want %d", added, n, animals)
			}
			assert.Equal(t, d.number(`select count(*) from bans`), 0, "bans")
			out := e.run(t, e.library, s.URL, d.tenant(plans.Pro, nil, 1).keys[0].token, "", false)
			assert.True(t, strings.HasPrefix(out, "added "), "the library by itself says", out)
		})
	}
}

// TestExampleClientsShareAPause: 16 workers add 500 animals on Free. When one is refused, no other
// sends a request before the pause ends. So each is refused once a minute at most. The minutes of
// the API and of the program last a second.
func TestExampleClientsShareAPause(t *testing.T) {
	t.Parallel()
	for name, e := range examples {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := &hurriedAPI{refused: map[int64]int{}}
			server := httptest.NewServer(api)
			t.Cleanup(server.Close)
			added := strings.Count(e.run(t, e.program, server.URL, "key", names(500), true), "added ")
			t.Logf("%d added, %d during the first pause, 429s by minute: %v", added, api.early, api.refused)
			assert.Equal(t, added, 500, "added")
			assert.Equal(t, api.early, 0, "requests during the first pause")
			for minute, n := range api.refused {
				if n > workers {
					t.Errorf("%d × 429 in minute %d, want at most one for each of %d workers", n, minute, workers)
				}
			}
		})
	}
}

// hurriedAPI admits 60 requests a second, and says that it is a minute. It refuses the very first
// request for a while, and answers the others that came with it in the middle of that.
type hurriedAPI struct {
	mu       sync.Mutex
	requests int
	first    time.Time
	early    int // requests during the first pause, without those that came with the first one
	minute   int64
	used     int
	refused  map[int64]int // by minute
}

const firstPause = 90 * time.Second / 60

func (a *hurriedAPI) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	switch a.requests++; {
	case a.requests == 1:
		a.first = now
		refuse(w, firstPause)
		return
	case a.requests <= workers:
		a.mu.Unlock()
		time.Sleep(firstPause / 2) // the refused one has been told meanwhile
		a.mu.Lock()
	case now.Before(a.first.Add(firstPause)):
		a.early++
	}
	now = time.Now()
	if now.Unix() != a.minute {
		a.minute, a.used = now.Unix(), 0
	}
	if a.used++; a.used <= 60 {
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"id":%d}`, a.used)
		return
	}
	a.refused[a.minute]++
	refuse(w, now.Truncate(time.Second).Add(time.Second).Sub(now))
}

// refuse says 60 times as long.
func refuse(w http.ResponseWriter, wait time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(int((wait*60+time.Second-1)/time.Second)))
	w.WriteHeader(http.StatusTooManyRequests)
	fmt.Fprint(w, `{"code":"rate_limit_exceeded","message":"Wait.","status":429}`)
}
