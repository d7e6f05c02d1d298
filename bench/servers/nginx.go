package servers

import (
	"context"
	_ "embed" // nginx_file.conf
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// proxyAddr is the address from which nginx connects. petstore trusts its X-Forwarded-For.
const proxyAddr = "127.0.0.2"

// nginxHere are texts of deploy/proxy/nginx.conf and what replaces them here. There is no TLS,
// because it would cost the load tool as much as nginx.
var nginxHere = []struct{ text, here string }{
	{"user www-data;", "user root;"},
	{"worker_rlimit_nofile 65536;", ""},
	{"/run/nginx.pid;", "DIR/nginx.pid;\ndaemon off;"},
	{"/var/log/nginx/error.log warn", "stderr warn"},
	{"worker_connections 20000;", "worker_connections 1000;"},
	{"http {", "http {\n" + nginxTemp},
	{"server petstore1:8080 max_fails=0;", "server SERVER max_fails=0;"},
	{"server petstore2:8080 max_fails=0;", ""},
	{"/var/log/nginx/access.log", "DIR.access.log"},
	{"listen 443 ssl http2;", "listen ADDR;"},
	{"listen [::]:443 ssl http2;", ""},
	{"proxy_connect_timeout", "proxy_bind " + proxyAddr + ";\n        proxy_connect_timeout"},
}

const nginxTemp = "client_body_temp_path DIR/1; proxy_temp_path DIR/2; fastcgi_temp_path DIR/3;" +
	"uwsgi_temp_path DIR/4; scgi_temp_path DIR/5;"

var nginxTLS = regexp.MustCompile(`(?m)^\s*ssl_.*\n`)

// StartNginx starts an nginx with the configuration in deploy/proxy in front of the server at that
// URL.
func StartNginx(ctx context.Context, dir, name, serverURL string) (*Server, error) {
	text, err := os.ReadFile("deploy/proxy/nginx.conf")
	if err != nil {
		return nil, err
	}
	config := nginxTLS.ReplaceAllString(string(text), "")
	for _, r := range nginxHere {
		if !strings.Contains(config, r.text) {
			return nil, fmt.Errorf("deploy/proxy/nginx.conf has no %q", r.text)
		}
		config = strings.ReplaceAll(config, r.text, r.here)
	}
	return startNginx(ctx, dir, name, strings.ReplaceAll(config, "SERVER", strings.TrimPrefix(serverURL, "http://")))
}

// nginxFile answers a list with a file, and counts the requests of each key.
//
//go:embed nginx_file.conf
var nginxFile string

// StartNginxFile starts an nginx that answers lists with a file.
func StartNginxFile(ctx context.Context, dir string, list []byte) (*Server, error) {
	const name = "nginx_file"
	file := filepath.Join(dir, name, CreatePath)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, list, 0o600)); err != nil {
		return nil, err
	}
	return startNginx(ctx, dir, name, nginxFile)
}

// startNginx starts an nginx with a configuration in which DIR and ADDR stand for its directory and
// address.
func startNginx(ctx context.Context, dir, name, config string) (*Server, error) {
	path, err := exec.LookPath("nginx")
	if err != nil {
		path = "/usr/sbin/nginx" // where Debian installs it, not in the PATH of users
	}
	own := filepath.Join(dir, name)
	return serve(ctx, dir, name, func(addrs [2]string) (*exec.Cmd, error) {
		file, here := filepath.Join(own, "nginx.conf"), strings.NewReplacer("DIR", own, "ADDR", addrs[0])
		err := errors.Join(os.MkdirAll(own, 0o700), os.WriteFile(file, []byte(here.Replace(config)), 0o600))
		return exec.Command(path, "-p", own, "-c", file), err
	}, accepts)
}
