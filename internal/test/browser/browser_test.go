package browser_test

import (
	"bytes"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"petstore.example/internal/account"
	"petstore.example/internal/api"
	"petstore.example/internal/api/problem"
	"petstore.example/internal/catalog"
	"petstore.example/internal/fairqueue"
	"petstore.example/internal/keys"
	"petstore.example/internal/keys/callers"
	"petstore.example/internal/keys/strikes"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/test/contract"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/usage"
	"petstore.example/internal/webhooks"
)

// The memory store of address buckets has a goroutine that ends when the garbage collector finds
// the store.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(
		storetest.Suite{M: m},
		goleak.IgnoreAnyFunction("github.com/ulule/limiter/v3/drivers/store/memory.(*cleaner).Run"),
	)
}

// tools is where npm has its packages.
const tools = "../../../tools/npm"

// TestPages runs pages.mjs. PETSTORE_SCREENSHOT names a file for a picture of the reference.
func TestPages(t *testing.T) {
	t.Parallel()
	url, key, _ := serve(t)
	args := []string{url}
	if file := os.Getenv("PETSTORE_SCREENSHOT"); file != "" {
		args = append(args, file)
	}
	run(t, "pages.mjs", args, "PETSTORE_API_KEY="+key)
}

// run runs a script with Chromium, and has it say what is wrong.
func run(t *testing.T, script string, args []string, env ...string) {
	t.Helper()
	install(t)
	cmd := sandbox.Command(t, "node", append([]string{script, chromium(t)}, args...)...)
	cmd.Dir, cmd.Env = ".", append(cmd.Env, env...)
	out, err := output(cmd)
	if err != nil {
		t.Errorf("%s: %v\n%s", script, err, out)
	}
	t.Logf("%s", out)
}

// output runs a command for eight minutes at most. It is of a process group, so that a browser ends
// with the script that started it.
func output(cmd *exec.Cmd) ([]byte, error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr, cmd.WaitDelay = &syscall.SysProcAttr{Setpgid: true}, 5*time.Second
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer time.AfterFunc(8*time.Minute, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }).Stop()
	err := cmd.Wait()
	return out.Bytes(), err
}

// chromium returns the path of the browser.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable",
		"google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("Chromium is not installed: install it with tools/install.sh chromium, as make test does")
	return ""
}

var installing sync.Mutex

// install has npm install what the scripts need, unless it is there in the versions of the lock
// file.
func install(t *testing.T) {
	t.Helper()
	installing.Lock()
	defer installing.Unlock()
	lock, err := os.Stat(filepath.Join(tools, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	installed, err := os.Stat(filepath.Join(tools, "node_modules", ".package-lock.json"))
	if err == nil && !installed.ModTime().Before(lock.ModTime()) {
		return
	}
	if _, err := exec.LookPath("npm"); err != nil {
		t.Fatalf("%v: install it with tools/install.sh npm, as make test does", err)
	}
	cmd := sandbox.Command(t, "npm", "ci", "--no-audit", "--no-fund")
	cmd.Dir = tools
	if out, err := output(cmd); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
}

// serve starts the API with a few animals, and returns its address, a key, and the database as
// staff see it.
func serve(t *testing.T) (url, key string, staff *store.DB) {
	t.Helper()
	database := storetest.New(t)
	staff = storetest.Open(t, database.URL, store.Options{})
	key = storetest.IssueKey(t, staff, tenancy.NewTenant{Name: "acme", Plan: plans.Pro})
	db := storetest.Open(t, database.APIURL, store.Options{AsAPI: true})
	for i, name := range []string{"Rex the first", "Mia", "Luna", "Otto"} {
		if _, err := db.Pets.CreatePet(
			t.Context(),
			1,
			catalog.NewPet{Name: name, CategoryID: int64(i), Status: catalog.Available},
		); err != nil {
			t.Fatal(err)
		}
	}
	strikes := strikes.New(strikes.Options{Bans: db.Bans})
	t.Cleanup(strikes.Close)
	s := httptest.NewUnstartedServer(nil)
	url = "http://" + s.Listener.Addr().String()
	limiter, data := limits.NewMemory(), fairqueue.New(
		fairqueue.Stores{
			Pets:     db.Pets,
			Orders:   db.Orders,
			Requests: db.Idempotency,
			Usage:    db.Usage,
			Keys:     db.CustomerKeys,
			Failed:   db.FailedRequests,
		},
		fairqueue.Options{Slots: 4, PerTenant: 4, Timeout: time.Minute, Places: 2},
	)
	sealer, err := webhooks.NewSealer(webhooks.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	customers, err := account.New(account.Config{
		Stores: account.Stores{
			SignIns:    db.SignIns,
			Usage:      data,
			Keys:       data,
			Failed:     data,
			FailedPage: api.ReadFailedPage,
			Sold:       db.PriceList.Sold,
			Webhooks:   db.Endpoints,
			Addresses:  db.Mail,
			Sealer:     sealer,
			Rules:      webhooks.NewRules([]uint16{443}, nil),
			Turn:       data.Run,
			Place:      data.Place,
		},
		Limits: account.Limits{
			Limiter:    limiter,
			KeyChanges: &limits.TenantMinute{},
		},
		Site: account.Site{
			BaseURL:      url + "/v1",
			SupportEmail: "support@example.org",
			Environment:  keys.Live,
		},
		Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	h, err := api.New(api.Config{
		Stores: api.Stores{
			Pets:     db.Pets,
			Orders:   db.Orders,
			Requests: db.Idempotency,
			Usage:    db.Usage,
			Failed:   db.FailedRequests,
			Plans:    db.PriceList,
		},
		Limits: api.Limits{
			Directory: callers.NewDirectory(db.Keys, keys.Live, time.Now),
			Limiter:   limiter,
			Addresses: limits.NewAddresses(6000),
			Strikes:   strikes,
			Meter:     usage.NewMeter(db.Usage, usage.Options{}),
			BodyBytes: api.MinBodyBytes,
		},
		Site: api.Site{
			Account: customers,
			TrustedProxies: []string{
				"127.0.0.1",
			},
			BaseURL: url + "/v1",
			Support: problem.Support{URL: "https://support.example.org", Email: "support@example.org"},
		},
		Log: zerolog.Nop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	document, err := contract.Load(text)
	if err != nil {
		t.Fatal(err)
	}
	s.Config.Handler = document.Handler(h, func(err error) { t.Error(err) })
	s.Start()
	t.Cleanup(s.Close)
	return url, key, staff
}
