package deploycheck

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

var deploy = filepath.Join(root, "deploy")

func TestSystemd(t *testing.T) {
	t.Parallel()
	fine(t, checkSystemd(t.Context(), deploy, t.TempDir()))
	for _, m := range []mistake{
		{"systemd/petstore.service", "ProtectClock=yes", "ProtectClok=yes", "Unknown key 'ProtectClok'"},
		{"systemd/petstore.service", "Type=notify", "Type=notice", "notice"},
		{"systemd/petstore.service", "/usr/bin/petstore serve", "/usr/bin/petstored serve",
			"petstored is not executable"},
		{"systemd/petstore.service", "SystemCallFilter=~@privileged", "SystemCallFilter=~@priviledged", "priviledged"},
		{"systemd/petstore.service", "ProtectSystem=strict\nProtectHome=yes\nPrivateTmp=yes\nPrivateDevices=yes\nPrivateUsers=yes\nProtectClock=yes\n", "", "exposure level"},
		{"systemd/petstore.socket", "ListenStream=127.0.0.1:8080", "ListenStream=127.0.0.1:80800", "80800"},
		{"systemd/petstore-migrate.service",
			"NoNewPrivileges=yes\nUMask=0077\nProtectSystem=strict\nProtectHome=yes\nPrivateTmp=yes\nPrivateDevices=yes\n", "", "exposure level"},
	} {
		expect(t, checkSystemd(t.Context(), plant(t, m), t.TempDir()), m.want)
	}
}

func TestProxies(t *testing.T) {
	t.Parallel()
	certificate := newCertificate(t)
	fine(t, checkProxies(t.Context(), deploy, t.TempDir(), certificate))
	for _, m := range []mistake{
		{"proxy/nginx.conf", "proxy_next_upstream", "proxy_next_upstreams", "nginx: exit status 1"},
		{"proxy/nginx.conf", "petstore2:8080", "petstore3.invalid:8080", "host not found"},
		{"proxy/haproxy.cfg", "option httpchk", "option httpchek", "haproxy: exit status 1"},
		{"proxy/Caddyfile", "lb_policy", "lb_polcy", "caddy: exit status 1"},
	} {
		expect(t, checkProxies(t.Context(), plant(t, m), t.TempDir(), certificate), m.want)
	}
}

// newCertificate returns a directory with tls.crt and tls.key.
func newCertificate(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"postgres", "owner", "server", "staff", "grafana", "tls"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(filepath.Join(deploy, "compose", "secrets.sh"), dir)
	cmd.Env = append(os.Environ(), "PGHOST=postgres")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return filepath.Join(dir, "tls")
}

func TestPrometheus(t *testing.T) {
	t.Parallel()
	fine(t, checkPrometheus(t.Context(), deploy))
	for _, m := range []mistake{
		{"prometheus/prometheus.yml", "scrape_interval", "scrape_intervall", "scrape_intervall"},
		{"prometheus/prometheus.yml", "  - alerts.yml", "  - alert.yml", "alert.yml"},
		{"prometheus/alerts.yml", "rate(", "rates(", "rates"},
		{"prometheus/alerts.yml", "expr:", "exp:", "exp"},
		{"prometheus/targets.yml", "- targets:", "- target:", "target"},
	} {
		expect(t, checkPrometheus(t.Context(), plant(t, m)), m.want)
	}
}

// TestServerNames: Prometheus and the load balancers have the names of docs/running.md.
func TestServerNames(t *testing.T) {
	t.Parallel()
	names := func(file string) []string {
		all := regexp.MustCompile(`\bpetstore-?[0-9]+:`).FindAllString(string(readFile(t, file)), -1)
		slices.Sort(all)
		return slices.Compact(all)
	}
	for _, file := range []string{"prometheus/targets.yml", "compose/targets.yml", "proxy/nginx.conf",
		"proxy/haproxy.cfg", "proxy/Caddyfile"} {
		if got := names(filepath.Join(deploy, file)); !slices.Equal(got, []string{"petstore1:", "petstore2:"}) {
			t.Errorf("%s names the servers %q", file, got)
		}
	}
}
