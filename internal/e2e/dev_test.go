package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// note is the content of dev.json.
type note struct {
	BaseURL     string `json:"base_url"`
	AdminURL    string `json:"admin_url"`
	DatabaseURL string `json:"database_url"`
	APIKey      string `json:"api_key"`
}

// dev is a running petstore dev.
type dev struct {
	server
	note
	dir  string
	took time.Duration
}

// nobody is the id of an unprivileged user. Tests that do not run as root run the programs as themselves.
const nobody = 65534

// devCommand returns petstore dev on free ports, to be run as that user.
func devCommand(t testing.TB, dir string, uid int, args ...string) *exec.Cmd {
	t.Helper()
	all := append([]string{"dev", "--dir", dir, "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0"}, args...)
	cmd := exec.Command(program(t, "petstore"), all...)
	cmd.Dir = "/"
	if uid != 0 && os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	return cmd
}

// startDev starts petstore dev and waits until it serves.
func startDev(t testing.TB, dir string, uid int, args ...string) *dev {
	t.Helper()
	began := time.Now()
	d := &dev{server: server{process: start(t, devCommand(t, dir, uid, args...))}, dir: dir}
	eventually(t, 60*time.Second, "the welcome text of petstore dev", func() bool {
		select {
		case <-d.Done():
			t.Fatalf("petstore dev has ended: %s", d.stderr())
		default:
		}
		return strings.Contains(d.stdout(), "Stop with ^C")
	})
	d.took = time.Since(began)
	if err := json.Unmarshal([]byte(read(t, filepath.Join(dir, "dev.json"))), &d.note); err != nil {
		t.Fatal(err)
	}
	d.url, d.admin = d.BaseURL, d.AdminURL
	return d
}

// openDir returns a directory of that user which every user may enter.
func openDir(t testing.TB, uid int) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "petstore-dev-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, uid, uid); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestDev(t *testing.T) {
	t.Parallel()
	for name, uid := range map[string]int{"as this user": 0, "as nobody": nobody} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(openDir(t, uid), "store")
			c := newClient(t)
			first := startDev(t, dir, uid)
			id := first.tryOut(t, c)
			first.checkNote(t)
			first.checkCtl(t)
			checkRefusals(t, first, uid)
			if n := len(postgresUnder(t, dir)); n < 4 {
				t.Errorf("only %d processes of Postgres found", n)
			}
			if code := first.stop(syscall.SIGINT); code != 0 {
				t.Errorf("exit code %d after ^C, want 0: %s", code, first.stderr())
			}
			if left := postgresUnder(t, dir); len(left) > 0 {
				t.Errorf("^C leaves processes of Postgres: %v", left)
			}

			second := startDev(t, dir, uid)
			if second.APIKey != first.APIKey {
				t.Errorf("the second start has another key")
			}
			if a := c.get(&second.server, second.APIKey, fmt.Sprintf("/pets/%d", id)); a.status != 200 {
				t.Errorf("the animal of the first start: %v", a)
			}
			second.kill()
			killed := time.Now()
			eventually(t, 10*time.Second, "no Postgres after kill -9", func() bool { return len(postgresUnder(t, dir)) == 0 })
			gone := time.Since(killed)

			third := startDev(t, dir, uid)
			if a := c.get(&third.server, first.APIKey, fmt.Sprintf("/pets/%d", id)); a.status != 200 {
				t.Errorf("after kill -9, the animal of the first start: %v", a)
			}
			t.Logf("first start %v, second %v, third (after kill -9) %v; Postgres gone %v after kill -9",
				first.took.Round(time.Millisecond), second.took.Round(time.Millisecond), third.took.Round(time.Millisecond), gone.Round(time.Millisecond))
			if least := min(second.took, third.took); least > 2*time.Second {
				t.Errorf("started again in %v, want 2 s at most", least)
			}
			third.stop(syscall.SIGINT)
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
	if got := c.get(&d.server, d.APIKey, fmt.Sprintf("/pets/%d", p.ID)); got.status != 200 {
		t.Errorf("get: %v", got)
	}
	if n := list.integer("X-RateLimit-Limit"); n != 300 {
		t.Errorf("limit %d, want Pro's 300", n)
	}
	for _, word := range []string{d.APIKey, "curl", d.BaseURL, "petstorectl"} {
		if !strings.Contains(d.stdout(), word) {
			t.Errorf("the welcome does not hold %q", word)
		}
	}
	return p.ID
}

func (d *dev) checkNote(t *testing.T) {
	t.Helper()
	info, err := os.Stat(filepath.Join(d.dir, "dev.json"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("dev.json has mode %#o, want 0600", info.Mode().Perm())
	}
	var members map[string]string
	if err := json.Unmarshal([]byte(read(t, filepath.Join(d.dir, "dev.json"))), &members); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"base_url": d.BaseURL, "admin_url": d.AdminURL, "database_url": d.DatabaseURL, "api_key": d.APIKey}
	if diff := cmp.Diff(want, members); diff != "" || slices.Contains(slices.Collect(maps.Values(members)), "") {
		t.Errorf("dev.json has the members %v, want %v", members, want)
	}
}

// checkCtl: petstorectl finds the database through .petstore/dev.json in the working directory.
func (d *dev) checkCtl(t *testing.T) {
	t.Helper()
	folder := t.TempDir()
	own := filepath.Join(folder, ".petstore") // petstorectl trusts no link, and no other user's file
	if err := errors.Join(os.Mkdir(own, 0o700), os.WriteFile(filepath.Join(own, "dev.json"), []byte(read(t, filepath.Join(d.dir, "dev.json"))), 0o600)); err != nil {
		t.Fatal(err)
	}
	if c := runCtl(&deployment{t: t}, folder, nil, "key", "list", "demo", "-o", "json"); c.code != 0 || !strings.Contains(c.stdout, "key_") {
		t.Errorf("petstorectl in the folder: exit %d: %s%s", c.code, c.stdout, c.stderr)
	}
}

// checkRefusals: petstore dev that cannot start ends at once with one line that says what to do.
func checkRefusals(t *testing.T, running *dev, uid int) {
	t.Helper()
	taken := running.host()
	for _, c := range []struct {
		dir, want string
		args      []string
	}{
		{openDir(t, uid), "is in use", []string{"--addr", taken}},
		{openDir(t, uid), "is in use", []string{"--admin-addr", taken}},
		{running.dir, "another petstore dev", nil},
		{openDir(t, uid), "--addr", []string{"--addr", "invalid"}},
	} {
		start(t, devCommand(t, c.dir, uid, c.args...)).failsWith(c.want)
	}
}

// TestDevInPrivateDirectory: in a directory that PostgreSQL's user cannot enter, petstore dev keeps the data elsewhere and says where.
// The next start finds it.
func TestDevInPrivateDirectory(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("the database runs as this user, who may enter every folder of its own")
		return
	}
	outer := openDir(t, 0)
	if err := os.Chmod(outer, 0o700); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(outer, "store")
	first := startDev(t, dir, 0)
	t.Cleanup(func() {
		for _, data := range dataDirs(first.process) {
			if err := os.RemoveAll(filepath.Dir(data)); err != nil {
				t.Error(err)
			}
		}
	})
	c := newClient(t)
	id := first.tryOut(t, c)
	output := dataDirs(first.process)
	if len(output) != 1 || !strings.HasPrefix(output[0], "/var/tmp/") {
		t.Errorf("want one line that says where the data is: %s", first.stderr())
	}
	first.stop(syscall.SIGINT)
	second := startDev(t, dir, 0)
	if a := c.get(&second.server, first.APIKey, fmt.Sprintf("/pets/%d", id)); a.status != 200 {
		t.Errorf("the animal of the first start: %v", a)
	}
	second.stop(syscall.SIGINT)
}

// dataDirs returns the data directories that petstore dev printed.
func dataDirs(p *process) (dirs []string) {
	for line := range strings.Lines(p.stderr()) {
		if _, dir, ok := strings.Cut(line, "the data of "); ok {
			if _, dir, ok = strings.Cut(dir, " is stored in "); ok {
				dirs = append(dirs, strings.TrimSpace(dir))
			}
		}
	}
	return dirs
}

// TestDevOnOtherVersionsData: petstore dev refuses data of another version of PostgreSQL in one line.
func TestDevOnOtherVersionsData(t *testing.T) {
	t.Parallel()
	dir := openDir(t, 0)
	startDev(t, dir, 0).stop(syscall.SIGINT)
	versions, err := filepath.Glob(filepath.Join(dir, "*", "*", "data", "PG_VERSION"))
	if err != nil || len(versions) == 0 {
		versions, err = filepath.Glob(filepath.Join(dir, "*", "data", "PG_VERSION"))
	}
	if err != nil || len(versions) != 1 {
		t.Fatalf("data under %s: %v %v", dir, versions, err)
	}
	if err := os.WriteFile(versions[0], []byte("9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, devCommand(t, dir, 0)).failsWith("PostgreSQL 9")
}

// postgresUnder returns the processes of the Postgres server whose data is under dir. Their working directory is the data directory.
func postgresUnder(t testing.TB, dir string) (pids []string) {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		// A process that has ended, zombies included, has no working directory.
		if cwd, err := os.Readlink(link); err == nil && strings.HasPrefix(cwd, dir+"/") {
			pids = append(pids, filepath.Base(filepath.Dir(link)))
		}
	}
	return pids
}
