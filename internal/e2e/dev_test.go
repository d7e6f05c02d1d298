package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/wait"
)

// note is the content of dev.json.
type note struct {
	BaseURL     string `json:"base_url"`
	AdminURL    string `json:"admin_url"`
	DatabaseURL string `json:"database_url"`
	APIKey      string `json:"api_key"`
	TestAPIKey  string `json:"test_api_key"`
}

// dev is a running petstore dev.
type dev struct {
	server
	note
	dir  string
	took time.Duration
}

// nobody is the id of an unprivileged user. Tests that do not run as root run the programs as
// themselves.
const nobody = 65534

// devCommand returns petstore dev on free ports, to be run as that user.
func devCommand(t testing.TB, dir string, uid int, args ...string) *exec.Cmd {
	t.Helper()
	all := append([]string{"dev", "--dir", dir, "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0"}, args...)
	cmd := sandbox.Command(t, program(t, "petstore"), all...)
	cmd.Dir = "/"
	if uid != 0 && os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	return cmd
}

// startDev starts petstore dev and waits until it serves.
func startDev(t testing.TB, dir string, uid int, args ...string) *dev {
	t.Helper()
	return awaitDev(t, dir, devCommand(t, dir, uid, args...))
}

// awaitDev starts a command of petstore dev, and waits until it serves.
func awaitDev(t testing.TB, dir string, cmd *exec.Cmd, env ...string) *dev {
	t.Helper()
	began := time.Now()
	d := &dev{server: server{&programs.Server{Process: programs.Start(t, cmd, env...)}}, dir: dir}
	wait.Until(t, "the welcome text of petstore dev", func() bool {
		select {
		case <-d.Done():
			t.Fatalf("petstore dev has ended: %s", d.Stderr())
		default:
		}
		return strings.Contains(d.Stdout(), "Stop with ^C")
	})
	d.took = time.Since(began)
	assert.NoError(t, json.Unmarshal([]byte(programs.Read(t, filepath.Join(dir, "dev.json"))), &d.note))
	d.URL, d.Addr, d.Admin = d.BaseURL, strings.TrimSuffix(
		strings.TrimPrefix(d.BaseURL, "http://"),
		"/v1",
	), strings.TrimPrefix(
		d.AdminURL,
		"http://",
	)
	return d
}

// openDir returns a directory of that user which every user may enter.
func openDir(t testing.TB, uid int) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "petstore-dev-")
	assert.NoError(t, err)
	t.Cleanup(func() {
		assert.Equal(t, os.RemoveAll(dir), nil)
	})
	assert.NoError(t, os.Chmod(dir, 0o755))
	if os.Geteuid() == 0 {
		assert.NoError(t, os.Chown(dir, uid, uid))
	}
	return dir
}

func TestDev(t *testing.T) {
	t.Parallel()
	for name, uid := range map[string]int{"as this user": 0, "as nobody": nobody} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(openDir(t, uid), "store")
			c := newPatientClient(t)
			first := startDev(t, dir, uid)
			id := first.tryOut(t, c)
			first.checkNote(t)
			first.checkCtl(t)
			checkRefusals(t, first, uid)
			if uid == 0 {
				first.checkCommands(t)
				first.checkBan(t, c)
			}
			n := len(postgresUnder(t, dir))
			assert.True(t, n >= 4, "only", n, "processes of Postgres found")
			if code := first.Stop(syscall.SIGINT); code != 0 {
				t.Errorf("exit code %d after ^C, want 0: %s", code, first.Stderr())
			}
			if left := postgresUnder(t, dir); len(left) > 0 {
				t.Errorf("^C leaves processes of Postgres: %v", left)
			}

			second := startDev(t, dir, uid)
			if second.APIKey != first.APIKey || second.TestAPIKey != first.TestAPIKey {
				t.Errorf("the second start has other keys")
			}
			if a := c.get(&second.server, second.APIKey, fmt.Sprintf("/pets/%d", id)); a.status != 200 {
				t.Errorf("the animal of the first start: %v", a)
			}
			second.Kill()
			killed := time.Now()
			wait.Until(t, "no Postgres after kill -9", func() bool { return len(postgresUnder(t, dir)) == 0 })
			gone := time.Since(killed)

			third := startDev(t, dir, uid)
			if a := c.get(&third.server, first.APIKey, fmt.Sprintf("/pets/%d", id)); a.status != 200 {
				t.Errorf("after kill -9, the animal of the first start: %v", a)
			}
			t.Logf(
				"first start %v, second %v, third (after kill -9) %v; Postgres gone %v after kill -9",
				first.took.Round(time.Millisecond),
				second.took.Round(time.Millisecond),
				third.took.Round(time.Millisecond),
				gone.Round(time.Millisecond),
			)
			again := min(second.took, third.took)
			if again > first.took { // which creates a database
				t.Errorf("started again in %v, the first time in %v", again, first.took)
			}
			wait.Bound(t, "another start", again, 2*time.Second)
			third.Stop(syscall.SIGINT)
		})
	}
}

// tryOut does what the printed curl commands do, and returns the id of the new animal.
func (d *dev) tryOut(t *testing.T, c *client) int64 {
	t.Helper()
	list := c.get(&d.server, d.APIKey, "/pets?limit=3")
	added := c.post(&d.server, d.APIKey, "Rex")
	var p pet
	if err := json.Unmarshal(added.body, &p); err != nil || list.status != 200 || added.status != 201 {
		t.Fatalf("list: %v; add: %v", list, added)
	}
	got := c.get(&d.server, d.APIKey, fmt.Sprintf("/pets/%d", p.ID))
	assert.Equal(t, got.status, 200, "get", got)
	assert.Equal(t, list.integer("X-RateLimit-Limit"), 300, "limit")
	for _, word := range []string{d.APIKey, "curl", d.BaseURL, "petstorectl"} {
		assert.True(t, strings.Contains(d.Stdout(), word), "the welcome does not hold", word)
	}
	return p.ID
}

func (d *dev) checkNote(t *testing.T) {
	t.Helper()
	info, err := os.Stat(filepath.Join(d.dir, "dev.json"))
	assert.NoError(t, err)
	assert.Equal(t, info.Mode().Perm(), 0o600, "dev.json has mode")
	var members map[string]string
	assert.NoError(t, json.Unmarshal([]byte(programs.Read(t, filepath.Join(d.dir, "dev.json"))), &members))
	want := map[string]string{
		"base_url":     d.BaseURL,
		"admin_url":    d.AdminURL,
		"database_url": d.DatabaseURL,
		"api_key":      d.APIKey,
		"test_api_key": d.TestAPIKey,
	}
	if diff := cmp.Diff(want, members); diff != "" || slices.Contains(slices.Collect(maps.Values(members)), "") {
		t.Errorf("dev.json has the members %v, want %v", members, want)
	}
}

// checkCtl: petstorectl finds the database through .petstore/dev.json in the working directory.
func (d *dev) checkCtl(t *testing.T) {
	t.Helper()
	if c := runCtl(
		&deployment{t: t},
		d.folder(t),
		nil,
		"key",
		"list",
		"--tenant",
		"demo",
		"-o",
		"json",
	); c.code != 0 ||
		!strings.Contains(c.stdout, "key_") {
		t.Errorf("petstorectl in the folder: exit %d: %s%s", c.code, c.stdout, c.stderr)
	}
}

// folder returns a new folder in which petstorectl finds the database. It trusts no link, and no
// other user's file.
func (d *dev) folder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	own := filepath.Join(folder, ".petstore")
	assert.NoError(
		t,
		errors.Join(
			os.Mkdir(own, 0o700),
			os.WriteFile(
				filepath.Join(own, "dev.json"),
				[]byte(programs.Read(t, filepath.Join(d.dir, "dev.json"))),
				0o600,
			),
		),
	)
	return folder
}

// pasted is a line that people paste, with those that it continues on.
var pasted = regexp.MustCompile(`(?m)^(?:  |\$ )((?:export|curl|bin/petstorectl) (?:.*\\\n)*.*)$`)

// commands returns the commands of a text, with this test's petstorectl.
func commands(t *testing.T, text string) (all []string) {
	t.Helper()
	for _, found := range pasted.FindAllStringSubmatch(text, -1) {
		all = append(all, strings.Replace(found[1], "bin/petstorectl", "'"+program(t, "petstorectl")+"'", 1))
	}
	return all
}

// checkCommands: what the welcome and the README tell people to paste works as it is, whatever
// --dir and --addr are, and fits into a line.
func (d *dev) checkCommands(t *testing.T) {
	t.Helper()
	printed := commands(t, d.Stdout())
	isExport := func(c string) bool { return strings.HasPrefix(c, "export ") }
	readme := append(slices.DeleteFunc(slices.Clone(printed), func(c string) bool { return !isExport(c) }),
		slices.DeleteFunc(commands(t, programs.Read(t, "../../README.md")), isExport)...)
	for line := range strings.Lines(d.Stdout()) {
		assert.True(t, len(line) <= 120, "a line of the welcome has", len(line), "characters", line)
	}
	for name, c := range map[string]struct {
		commands []string
		// want is how many responses are good, ctl how many commands are for staff.
		want, ctl int
	}{"README": {readme, 1, 2}, "welcome": {printed, 4, 3}} {
		text := strings.Replace(strings.Join(c.commands, "\n"), "ban lift demo", "ban list", 1) // There is no ban yet.
		cmd := sandbox.Command(t, "sh", "-eu")
		cmd.Dir, cmd.Stdin = t.TempDir(), strings.NewReader(text)
		out, err := cmd.Output()
		good := strings.Count(string(out), "HTTP/1.1 200 OK") + strings.Count(string(out), "HTTP/1.1 201 Created")
		if simulated := strings.Count(string(out), `{"code":"daily_quota_exceeded","message":"Plan `); simulated != 1 {
			t.Errorf("the commands of the %s simulate %d errors, want 1:\n%s", name, simulated, out)
		}
		ctl := strings.Count(text, "/petstorectl' ")
		if err != nil || good != c.want || ctl != c.ctl || strings.Contains(string(out), "Deprecation:") {
			t.Errorf(
				"the commands of the %s: %d responses of %d are good, %d commands of %d are for staff, %v\n%s\n%s",
				name,
				good,
				c.want,
				ctl,
				c.ctl,
				err,
				text,
				out,
			)
		}
	}
	c := runCtl(&deployment{t: t}, d.folder(t), nil, "plan", "assign", "demo", "pro", "--yes")
	assert.Equal(t, c.code, 0, "back to Pro: exit", c.stderr)
	for path, want := range map[string]string{"/v1/openapi.yaml": "    name: bin/petstorectl key issue demo\n",
		"/docs/getting-a-key.md": "`bin/petstorectl key issue demo` issues keys"} {
		page, err := sandbox.Command(t, "curl", "-s", strings.TrimSuffix(d.BaseURL, "/v1")+path).Output()
		if err != nil || !strings.Contains(string(page), want) {
			t.Errorf("%s does not say who issues keys: %v: %s", path, err, page)
		}
	}
}

// checkBan: a key that floods is banned as in production, but for seconds. The command that was
// printed lifts the ban.
func (d *dev) checkBan(t *testing.T, c *client) {
	t.Helper()
	var last response
	for n := 0; last.code != "key_banned"; n++ {
		if n == 20_000 {
			t.Fatalf("%d requests, and no ban: %v", n, last)
		}
		last = c.get(&d.server, d.APIKey, "/pets?limit=1")
	}
	if wait := last.integer("Retry-After"); wait > 10 {
		t.Errorf("banned for %d seconds: %v", wait, last)
	}
	found := regexp.MustCompile(
		`(?ms)^ +export (PETSTORE_DATABASE_URL_FILE='[^']+')$.*^ +bin/petstorectl (ban lift demo)$`,
	).FindStringSubmatch(
		d.Stdout(),
	)
	if found == nil {
		t.Fatalf("it is not said how to lift the ban: %s", d.Stdout())
	}
	ctl := func(command string) *exec.Cmd {
		return sandbox.Command(t, "sh", "-c", found[1]+" '"+program(t, "petstorectl")+"' "+command)
	}
	if out, err := ctl("ban list --past --source automatic").CombinedOutput(); err != nil ||
		!strings.Contains(string(out), "automatic") {
		t.Errorf("the ban is not listed: %v: %s", err, out)
	}
	// It works in any folder. The ban may have ended meanwhile: exit code 3.
	lift := ctl(found[2])
	if out, err := lift.CombinedOutput(); err != nil && lift.ProcessState.ExitCode() != 3 {
		t.Errorf("lift: %v: %s", err, out)
	}
	wait.Until(
		t,
		"the end of the ban",
		func() bool { return c.get(&d.server, d.APIKey, "/pets?limit=1").code != "key_banned" },
	)
}

// checkRefusals: petstore dev that cannot start ends at once with one line that says what to do.
func checkRefusals(t *testing.T, running *dev, uid int) {
	t.Helper()
	taken := running.Addr
	for _, c := range []struct {
		dir, want string
		args      []string
	}{
		{openDir(t, uid), "is in use", []string{"--addr", taken}},
		{openDir(t, uid), "is in use", []string{"--admin-addr", taken}},
		{running.dir, "another petstore dev", nil},
		{openDir(t, uid), "--addr", []string{"--addr", "invalid"}},
	} {
		programs.Start(t, devCommand(t, c.dir, uid, c.args...)).FailsWith(c.want)
	}
}

// TestDevInPrivateDirectory: in a directory that PostgreSQL's user cannot enter, petstore dev keeps
// the data elsewhere and says where. The next start finds it.
func TestDevInPrivateDirectory(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("the database runs as this user, who may enter every folder of its own")
		return
	}
	outer := openDir(t, 0)
	assert.NoError(t, os.Chmod(outer, 0o700))
	dir := filepath.Join(outer, "store")
	first := startDev(t, dir, 0)
	t.Cleanup(func() {
		for _, data := range dataDirs(first.Process) {
			assert.Equal(t, os.RemoveAll(filepath.Dir(data)), nil)
		}
	})
	c := newPatientClient(t)
	id := first.tryOut(t, c)
	output := dataDirs(first.Process)
	if len(output) != 1 || !strings.HasPrefix(output[0], "/var/tmp/") {
		t.Errorf("want one line that says where the data is: %s", first.Stderr())
	}
	first.Stop(syscall.SIGINT)
	second := startDev(t, dir, 0)
	a := c.get(&second.server, first.APIKey, fmt.Sprintf("/pets/%d", id))
	assert.Equal(t, a.status, 200, "the animal of the first start", a)
	second.Stop(syscall.SIGINT)
}

// dataDirs returns the data directories that petstore dev printed.
func dataDirs(p *programs.Process) (dirs []string) {
	for line := range strings.Lines(p.Stderr()) {
		if _, dir, ok := strings.Cut(line, "the data of "); ok {
			if _, dir, ok = strings.Cut(dir, " is stored in "); ok {
				dirs = append(dirs, strings.TrimSpace(dir))
			}
		}
	}
	return dirs
}

// postgresUnder returns the processes of the Postgres server whose data is under dir. Their working
// directory is the data directory.
func postgresUnder(t testing.TB, dir string) (pids []string) {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	assert.NoError(t, err)
	for _, link := range links {
		// A process that has ended, zombies included, has no working directory.
		if cwd, err := os.Readlink(link); err == nil && strings.HasPrefix(cwd, dir+"/") {
			pids = append(pids, filepath.Base(filepath.Dir(link)))
		}
	}
	return pids
}
