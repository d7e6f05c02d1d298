package alerts_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/freeport"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// machines are two servers on a Postgres with a standby, behind nginx with its configuration in
// deploy/proxy, with the exporters of Debian.
type machines struct {
	*deployment
	primary, standby *storetest.PrivateServer
	redisClient      *redis.Client
	nginx            *programs.Process
	// dir has the files of nginx and those of node's textfile collector.
	dir, edge string
	free      func()
	// node is the exporter. In make soak it has a disk of 4 MB of its own, at disk.
	node *programs.Process
	disk string
	// redisExporter is killed and started again.
	redisExporter func() *programs.Process
	exporter      *programs.Process
}

const host = "api.example.com"

func newMachines(t *testing.T) (*machines, *prometheus) {
	t.Helper()
	m := &machines{primary: storetest.NewServer(t), dir: t.TempDir()}
	m.standby = m.primary.Standby()
	m.deployment = &deployment{
		t:        t,
		database: &m.primary.Database,
		redis:    redistest.New(t),
		staffURL: m.primary.SupportURL,
	}
	for range 2 {
		m.add(
			"PETSTORE_DATABASE_URL="+storetest.HostsURL(t, storetest.APILogin, m.primary, m.standby),
			"PETSTORE_REDIS_URL="+m.redis.URL,
			"PETSTORE_TRUSTED_PROXIES=127.0.0.1",
		)
	}
	staff := storetest.Open(t, m.primary.SupportURL, store.Options{MaxConns: 2})
	own := &plans.Quota{PerMinute: 1_000_000, PerDay: 1_000_000}
	m.token = storetest.IssueKey(t, staff, tenancy.NewTenant{Name: "acme", Plan: plans.Enterprise, Own: own})
	m.redisClient = redis.NewClient(&redis.Options{Addr: m.redis.Addr})
	t.Cleanup(func() { _ = m.redisClient.Close() })
	m.certify(400)
	m.startNginx()
	return m, m.observe()
}

// certify gives nginx, and a file of this machine, certificates that end after so many days.
func (m *machines) certify(days int) {
	m.t.Helper()
	m.run(
		"openssl",
		"req",
		"-x509",
		"-newkey",
		"rsa:2048",
		"-nodes",
		"-days",
		fmt.Sprint(days),
		"-subj",
		"/CN="+host,
		"-addext",
		"subjectAltName=DNS:"+host,
		"-keyout",
		filepath.Join(m.dir, "tls.key"),
		"-out",
		filepath.Join(m.dir, "tls.crt"),
	)
	script, err := filepath.Abs(root + "deploy/prometheus/certificates.sh")
	assert.NoError(m.t, err)
	m.run("sh", script, m.dir, filepath.Join(m.dir, "tls.crt"))
	if m.nginx != nil {
		assert.NoError(m.t, m.nginx.Signal(syscall.SIGHUP), "nginx")
	}
}

func (m *machines) run(program string, args ...string) {
	m.t.Helper()
	out, err := sandbox.Command(m.t, program, args...).CombinedOutput()
	assert.NoError(m.t, err, program, string(out))
}

func (m *machines) startNginx() {
	t := m.t
	m.edge = freeport.Address(t)
	text := strings.NewReplacer(
		"user www-data;",
		"user root;",
		"/run/nginx.pid;",
		"nginx.pid;\ndaemon off;",
		"/var/log/nginx/error.log warn",
		"stderr crit",
		"/var/log/nginx/access.log",
		"access.log",
		"listen 443",
		"listen "+m.edge,
		"listen [::]:443 ssl http2;",
		"",
		"/etc/petstore/tls/",
		"",
		"http {",
		"http {\nclient_body_temp_path 1;\nproxy_temp_path 2;\nfastcgi_temp_path 3;\nuwsgi_temp_path "+
			"4;\nscgi_temp_path 5;",
		"worker_rlimit_nofile 65536;",
		"",
		"20000;",
		"500;",
		"petstore1:8080",
		m.addrs[0],
		"petstore2:8080",
		m.addrs[1],
	).Replace(programs.Read(t, root+"deploy/proxy/nginx.conf"))
	config := filepath.Join(m.dir, "nginx.conf")
	assert.NoError(t, os.WriteFile(config, []byte(text), 0o600))
	path, err := exec.LookPath("nginx")
	if err != nil {
		path = "/usr/sbin/nginx" // not in the PATH of users on Debian
	}
	m.nginx = programs.Start(t, sandbox.Command(t, path, "-p", m.dir, "-c", config))
	wait.Until(t, "nginx listens", func() bool { return reached(m.edge) })
}

// reached reports whether somebody listens at the address.
func reached(addr string) bool {
	conn, err := net.Dial("tcp", addr)
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}

// observe starts the exporters, and a Prometheus that reads all of them.
func (m *machines) observe() *prometheus {
	t := m.t
	all := []targets{{Targets: m.admins()}}
	start := func(job string, cmd func(addr string) *exec.Cmd, env ...string) func() *programs.Process {
		addr := freeport.Address(t)
		if job != "" {
			all = append(all, targets{[]string{addr}, map[string]string{"job": job}})
		}
		run := func() *programs.Process {
			p := programs.Start(t, cmd(addr), env...)
			p.Chatty = true
			return p
		}
		return run
	}
	exporter := func(name string, args ...string) func(string) *exec.Cmd {
		return func(addr string) *exec.Cmd {
			return sandbox.Command(t, "prometheus-"+name+"-exporter", append(args, "--web.listen-address="+addr)...)
		}
	}
	m.redisExporter = start("redis", exporter("redis", "--redis.addr="+m.redis.URL))
	m.exporter = m.redisExporter()
	m.exec(`create role prometheus login in role pg_monitor`, `grant connect on database postgres to prometheus`)
	for _, s := range []*storetest.PrivateServer{m.primary, m.standby} {
		// half the work
		own := exporter("postgres", "--disable-settings-metrics", "--no-collector.bgwriter", "--no-collector.database")
		start("postgres", own, "DATA_SOURCE_NAME="+storetest.As(t, s.URL, "prometheus"))()
	}
	collectors := []string{
		"--collector.disable-defaults",
		"--collector.textfile",
		"--collector.textfile.directory=" + m.dir,
	}
	m.node = start("node", func(addr string) *exec.Cmd {
		if os.Getenv("PETSTORE_SOAK") == "" {
			return exporter("node", collectors...)(addr)
		}
		// It sees its own disk alone: those of this machine may really fill up. It reads the mounts
		// of process 1.
		mounts := t.TempDir()
		m.disk = t.TempDir()
		assert.NoError(t, os.Symlink("/proc/self", filepath.Join(mounts, "1")))
		cmd := exporter(
			"node",
			append(
				collectors,
				"--path.procfs="+mounts,
				"--collector.filesystem",
				"--collector.filesystem.fs-types-exclude=^[^t]",
				"--collector.filesystem.mount-points-exclude=^/(dev|mnt|proc|run|sys)/",
			)...)(addr)
		script := `mount -t tmpfs -o size=4m tmpfs "$1" && shift && exec "$@"`
		return sandbox.Command(t, "unshare", append([]string{"-rm", "sh", "-c", script, "sh", m.disk}, cmd.Args...)...)
	})()
	program, err := filepath.Abs(root + "deploy/prometheus/edge.mtail")
	assert.NoError(t, err)
	start("edge", func(addr string) *exec.Cmd {
		ip, port, _ := net.SplitHostPort(addr)
		return sandbox.Command(
			t,
			"mtail",
			"--progs",
			program,
			"--logs",
			filepath.Join(m.dir, "access.log"),
			"--address",
			ip,
			"--port",
			port,
		)
	})()
	modules := filepath.Join(m.dir, "blackbox.yml")
	assert.NoError(
		t,
		os.WriteFile(
			modules,
			[]byte(`modules: {http_2xx: {prober: http, http: {tls_config: {insecure_skip_verify: true}}}}`),
			0o600,
		),
	)
	blackbox := freeport.Address(t)
	p := programs.Start(t, exporter("blackbox", "--config.file="+modules, "--timeout-offset=0")(blackbox))
	p.Chatty = true
	wait.Until(t, "the exporters answer", func() bool {
		for _, one := range all {
			for _, addr := range one.Targets {
				if !reached(addr) {
					return false
				}
			}
		}
		return reached(blackbox)
	})
	return newPrometheus(t, all, blackbox, "https://"+m.edge+"/v1/plans")
}

// load sends 40 requests a second to nginx until the test ends.
func (m *machines) load() {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{
			ServerName:         host,
			InsecureSkipVerify: true,
		}, // #nosec G402 -- this test's own nginx
	}}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			req, _ := http.NewRequest(
				http.MethodPost,
				"https://"+m.edge+"/v1/pets",
				strings.NewReader(`{"name":"Rex","categoryId":7}`),
			)
			req.Header.Set("Authorization", "Bearer "+m.token)
			req.Header.Set("Content-Type", "application/json")
			if res, err := client.Do(req); err == nil {
				_ = res.Body.Close()
			}
			time.Sleep(25 * time.Millisecond) // a caller's own work
		}
	}()
	m.t.Cleanup(func() {
		stop()
		<-done
		client.CloseIdleConnections()
	})
}
