//go:build linux

package running_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/certtest"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/wait"
)

// proxy is a load balancer that runs with its configuration in deploy/proxy.
type proxy struct {
	*programs.Process
	addr string
	dir  string // its files; also its access log, if it does not log to stdout or stderr
}

// proxyKind says how a load balancer is started.
type proxyKind struct {
	program string // of Debian
	config  string
	// here are pairs of texts: what the configuration says, and what takes its place on this
	// machine: files are in the working folder, whose path may have spaces, and PORT is a free
	// port.
	here []string
	// adminPort is how the configuration names the port of /readyz, "" if it does not.
	adminPort string
	// notReady is what the load balancer logs of each server that it finds not ready.
	notReady string
	args     func(config string) []string
}

var nginx = proxyKind{
	program: "nginx", config: "nginx.conf",
	here: []string{
		"user www-data;",
		"user root;",
		"/run/nginx.pid;",
		"nginx.pid;\ndaemon off;",
		"/var/log/nginx/error.log warn",
		"stderr warn",
		"/var/log/nginx/access.log",
		"access.log",
		"listen 443",
		"listen 127.0.0.1:PORT",
		"listen [::]:443",
		"listen [::1]:PORT",
		"http {",
		"http {\nclient_body_temp_path 1;\nproxy_temp_path 2;\nfastcgi_temp_path 3;\nuwsgi_temp_path " +
			"4;\nscgi_temp_path 5;",
		"worker_rlimit_nofile 65536;",
		"",
		"worker_connections 20000;",
		"worker_connections 500;",
		"worker_processes auto;",
		"worker_processes 2;",
	},
	args: func(config string) []string { return []string{"-p", ".", "-c", config} },
}

var haproxy = proxyKind{
	program: "haproxy", config: "haproxy.cfg",
	here: []string{
		"    user haproxy\n",
		"",
		"    group haproxy\n",
		"",
		"bind :443",
		"bind 127.0.0.1:PORT",
		"bind :::443 v6only",
		"bind ::1:PORT",
		"maxconn 20000",
		"maxconn 500",
	},
	adminPort: "port 8081",
	notReady:  " is DOWN",
	args:      func(config string) []string { return []string{"-db", "-f", config} },
}

var caddy = proxyKind{
	program: "caddy",
	config:  "Caddyfile",
	here: []string{
		"{\n\tauto_https",
		"{\n\tadmin off\n\tauto_https",
		"api.example.com {",
		"api.example.com:PORT {\n\tbind 127.0.0.1",
		"http://:8082 {\n\tbind 127.0.0.1",
		"http://:PORT {\n\tbind 127.0.0.3",
		"127.0.0.1:8082",
		"127.0.0.3:PORT",
	},
	adminPort: "health_port 8081",
	notReady:  "health_checker.active",
	args:      func(config string) []string { return []string{"run", "--adapter", "caddyfile", "--config", config} },
}

// start starts the load balancer before two servers. changes are further pairs of texts.
func (k proxyKind) start(t testing.TB, f *pair, changes ...string) *proxy {
	t.Helper()
	path, err := exec.LookPath(k.program)
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/" + k.program) // not in the PATH of users on Debian
	}
	assert.NoError(t, err, "install it with tools/install.sh", k.program, "as make test does")
	port := freePort(t)
	p := &proxy{addr: "127.0.0.1:" + port, dir: t.TempDir()}
	authority := certtest.New(t)
	authority.Write(t, p.dir)
	authority.Issue(t, filepath.Join(p.dir, "tls"), "api.example.com")
	assert.NoError(t, os.Rename(filepath.Join(p.dir, "tls.pem"), filepath.Join(p.dir, "tls.crt")))
	text := programs.Read(t, filepath.Join("../../../deploy/proxy", k.config))
	changes = slices.Concat([]string{
		"petstore1:8080",
		f.hosts[0] + ":" + f.port,
		"petstore2:8080",
		f.hosts[1] + ":" + f.port,
		"/etc/petstore/tls/tls",
		"tls",
	}, k.here, changes)
	if k.adminPort != "" {
		changes = append(changes, k.adminPort, strings.Replace(k.adminPort, "8081", f.adminPort, 1))
	}
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(text, changes[i]) {
			t.Fatalf("deploy/proxy/%s has no %q", k.config, changes[i])
		}
		text = strings.ReplaceAll(text, changes[i], changes[i+1])
	}
	text = strings.ReplaceAll(text, "PORT", port)
	config := filepath.Join(p.dir, k.config)
	assert.NoError(t, os.WriteFile(config, []byte(text), 0o600))
	cmd := sandbox.Command(t, path, k.args(config)...)
	cmd.Dir = p.dir
	p.Process = programs.Start(t, cmd)
	wait.Until(t, k.program+" listens", func() bool {
		if p.Ended() {
			t.Fatalf("%s has ended: %s%s", k.program, p.Stdout(), p.Stderr())
		}
		conn, err := net.Dial("tcp", p.addr)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return p
}

// client returns a client that reaches the proxy as api.example.com, from an address of this
// machine.
func (p *proxy) client(t testing.TB, from string) *http.Client {
	t.Helper()
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM([]byte(programs.Read(t, filepath.Join(p.dir, "ca.pem")))) {
		t.Fatal("no authority")
	}
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, p.addr)
	}
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
		DialContext: dial, MaxIdleConnsPerHost: 64,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: wait.Limit}
}

// base is the base URL of the API. A client of a proxy reaches it.
const base = "https://api.example.com/v1"

// logged returns what the proxy has written, everywhere.
func (p *proxy) logged(t testing.TB) string {
	t.Helper()
	text := p.Stdout() + p.Stderr()
	if log := filepath.Join(p.dir, "access.log"); exists(log) {
		text += programs.Read(t, log)
	}
	return text
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
