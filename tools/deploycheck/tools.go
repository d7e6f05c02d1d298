package deploycheck

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// run runs one of Debian's programs. A failure is a finding, with the program's output.
func (f *findings) run(ctx context.Context, dir, name string, args ...string) {
	if _, err := exec.LookPath(name); err != nil { // not in the PATH of users
		name = filepath.Join("/usr/sbin", name)
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir) // caddy writes there
	if out, err := cmd.CombinedOutput(); err != nil {
		f.add("%s: %v\n%s", filepath.Base(name), err, out)
	}
}

// maxExposure is the highest exposure of a service that systemd-analyze may find, in tenths.
const maxExposure = "20"

// checkSystemd checks the units, in a root directory that has nothing but them and the programs
// that they start.
func checkSystemd(ctx context.Context, deploy, work string) []string {
	var f findings
	dir := filepath.Join(work, "etc", "systemd", "system")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(deploy, "systemd"))); err != nil {
		return []string{err.Error()}
	}
	services, _ := fs.Glob(os.DirFS(dir), "*.service")
	sockets, _ := fs.Glob(os.DirFS(dir), "*.socket")
	for _, p := range programs {
		if err := writeFile(filepath.Join(work, "usr", "bin", p.name), "#!/bin/sh\n"); err != nil {
			return []string{err.Error()}
		}
	}
	// Without --recursive-errors systemd only warns of an unknown key.
	f.run(
		ctx,
		work,
		"systemd-analyze",
		slices.Concat([]string{"verify", "--man=no", "--recursive-errors=no", "--root=" + work}, services, sockets)...)
	for _, s := range services {
		f.run(ctx, work, "systemd-analyze", "security", "--offline=yes", "--threshold="+maxExposure, "--root="+work, s)
	}
	return f
}

// checkProxies checks the configurations of the load balancers. tls.crt and tls.key are in the
// directory certificate.
func checkProxies(ctx context.Context, deploy, work, certificate string) []string {
	var f findings
	here := strings.NewReplacer(
		"/etc/petstore/tls",
		certificate,
		"petstore1:",
		"127.0.0.1:",
		"petstore2:",
		"127.0.0.1:",
		"/run/",
		work+"/",
		"/var/log/nginx/",
		work+"/",
	)
	for _, name := range []string{"nginx.conf", "haproxy.cfg", "Caddyfile"} {
		text, err := os.ReadFile(filepath.Join(deploy, "proxy", name))
		if err != nil {
			return []string{err.Error()}
		}
		if err := writeFile(filepath.Join(work, name), here.Replace(string(text))); err != nil {
			return []string{err.Error()}
		}
	}
	f.run(ctx, work, "nginx", "-t", "-q", "-c", filepath.Join(work, "nginx.conf"))
	f.run(ctx, work, "haproxy", "-c", "-q", "-f", "haproxy.cfg")
	f.run(ctx, work, "caddy", "validate", "--adapter", "caddyfile", "--config", "Caddyfile")
	return f
}

// checkPrometheus checks the configuration, and the rules and targets that it names.
func checkPrometheus(ctx context.Context, deploy string) []string {
	var f findings
	f.run(ctx, filepath.Join(deploy, "prometheus"), "promtool", "check", "config", "--lint-fatal", "prometheus.yml")
	return f
}

// writeFile writes a program or a configuration.
func writeFile(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o755)
}
