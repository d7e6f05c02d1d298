package deploycheck

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// apartDir is set in the second run of TestComposeServes: the directory that it works in.
const apartDir = "DEPLOYCHECK_DIR"

// TestComposeServes starts what compose.yaml starts, without Docker: its jobs, then two servers
// from their image as their user and with files that nobody may change, behind nginx, on PostgreSQL
// and Redis of this machine. It runs in a network and a table of mounts of its own.
func TestComposeServes(t *testing.T) {
	t.Parallel()
	dir := os.Getenv(apartDir)
	if dir == "" {
		apart(t)
		return
	}
	upLoopback(t)
	p := newPlay(t, dir)
	for range 2 { // each start of the containers runs the jobs
		p.run(p.foreign("secrets"))
	}
	p.startPostgres()
	p.start(exec.Command("redis-server", "--bind", p.hosts["redis"], "--save", "", "--dir", p.dir))
	for range 2 {
		p.run(p.foreign("roles"))
		p.run(p.container("migrate"))
	}
	servers := []*exec.Cmd{p.startServer("petstore1"), p.startServer("petstore2")}
	p.startNginx()
	p.run(p.container("petstorectl", "/petstorectl", "tenant", "create", "acme", "--plan", "free"))
	key := strings.TrimSpace(
		p.run(p.container("petstorectl", "/petstorectl", "key", "issue", "acme", "--output", "json", "--jq", ".key")),
	)
	p.get(key)

	for _, s := range servers {
		p.must(s.Process.Signal(syscall.SIGTERM))
	}
	for _, s := range servers {
		if err := s.Wait(); err != nil {
			t.Errorf("a server ended with %v after SIGTERM", err)
		}
	}
}

// apart runs this test again in namespaces.
func apart(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("", "deploycheck-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // Other users must reach what is theirs in it.
		t.Fatal(err)
	}
	args := []string{"--net", "--mount", "--pid", "--fork", "--kill-child"}
	if os.Getuid() != 0 { // as root of a namespace of users, with the IDs of /etc/subuid
		args = append(args, "--user", "--map-root-user", "--map-auto")
	}
	cmd := exec.CommandContext(
		t.Context(),
		"unshare",
		append(args, os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")...)
	cmd.Env = append(os.Environ(), apartDir+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	if strings.HasPrefix(string(out), "unshare:") || errors.Is(err, exec.ErrNotFound) {
		t.Fatalf("no namespaces: %v\n%s"+
			"This test needs unshare (apt-get install util-linux) and root with CAP_SYS_ADMIN (docker run "+
			"--privileged), or as another user newuidmap "+
			"(apt-get install uidmap), entries in /etc/subuid and /etc/subgid, and a kernel that allows namespaces "+
			"of users", err, out)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func upLoopback(t *testing.T) {
	t.Helper()
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(socket)
	loopback, err := unix.NewIfreq("lo")
	if err != nil {
		t.Fatal(err)
	}
	loopback.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, loopback); err != nil {
		t.Fatal(err)
	}
}

// startServer starts a server and waits until its container's health check passes.
func (p *play) startServer(name string) *exec.Cmd {
	p.t.Helper()
	addresses := []string{
		"PETSTORE_ADDR=" + p.hosts[name] + ":8080",
		"PETSTORE_ADMIN_ADDR=" + p.hosts[name] + ":8081",
	} // one network for all
	cmd := p.container(name)
	cmd.Env = append(cmd.Env, addresses...)
	p.start(cmd)
	check := p.project.Services[name].HealthCheck.Test
	if check[0] != "CMD" {
		p.t.Fatalf("the health check of %s is %q", name, check)
	}
	p.eventually(name, func() error {
		cmd := p.container(name, check[1:]...)
		cmd.Env = append(cmd.Env, addresses...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	return cmd
}

// startNginx starts nginx with the paths of its configuration changed to those of this machine.
func (p *play) startNginx() {
	p.t.Helper()
	text := string(readFile(p.t, filepath.Join(root, "deploy", "proxy", "nginx.conf")))
	changed := strings.NewReplacer(
		"/etc/petstore/tls",
		p.volume("tls"),
		"/run/",
		p.dir+"/",
		"/var/log/nginx/",
		p.dir+"/",
	).Replace(text)
	p.write("nginx.conf", []byte(changed), 0o644)
	nginx := exec.Command("nginx", "-c", filepath.Join(p.dir, "nginx.conf"), "-g", "daemon off;")
	nginx.Env = append(os.Environ(), "PATH=/usr/sbin:"+os.Getenv("PATH"))
	if path, err := exec.LookPath("/usr/sbin/nginx"); err == nil {
		nginx.Path = path
	}
	p.start(nginx)
}

// get lists animals through nginx, by the name and the certificate of localhost.
func (p *play) get(key string) {
	p.t.Helper()
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(readFile(p.t, filepath.Join(p.volume("tls"), "tls.crt"))) {
		p.t.Fatal("no certificate")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport}
	port := p.project.Services["nginx"].Ports[0].Target
	p.eventually("the first request", func() error {
		request, err := http.NewRequestWithContext(
			p.t.Context(),
			http.MethodGet,
			fmt.Sprintf("https://localhost:%d/v1/pets", port),
			nil,
		)
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer "+key)
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK || response.ProtoMajor != 2 {
			return fmt.Errorf("%s %s", response.Proto, response.Status)
		}
		return nil
	})
}
