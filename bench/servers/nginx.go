package servers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// Nginx is a running nginx before one server.
type Nginx struct {
	*Child
	URL       string // http://127.0.0.1:port
	accessLog string
}

// proxyAddr is the address from which Nginx connects. petstore trusts its X-Forwarded-For.
const proxyAddr = "127.0.0.2"

// nginxHere are pairs of texts: what deploy/proxy/nginx.conf says, and what takes its place here.
// Without TLS, which would cost the load tool as much as nginx.
var nginxHere = []string{
	"user www-data;",
	"user root;",
	"worker_rlimit_nofile 65536;",
	"",
	"/run/nginx.pid;",
	"DIR/nginx.pid;\ndaemon off;",
	"/var/log/nginx/error.log warn",
	"stderr warn",
	"worker_connections 20000;",
	"worker_connections 1000;",
	"http {",
	"http {\nclient_body_temp_path DIR/1;\nproxy_temp_path DIR/2;\nfastcgi_temp_path DIR/3;\nuwsgi_temp_path " +
		"DIR/4;\nscgi_temp_path DIR/5;",
	"server petstore1:8080 max_fails=0;",
	"server SERVER max_fails=0;",
	"server petstore2:8080 max_fails=0;",
	"",
	"/var/log/nginx/access.log",
	"DIR/access.log",
	"listen 443 ssl http2;",
	"listen ADDR;",
	"listen [::]:443 ssl http2;",
	"",
	"proxy_connect_timeout",
	"proxy_bind " + proxyAddr + ";\n        proxy_connect_timeout",
}

var nginxTLS = regexp.MustCompile(`(?m)^\s*ssl_.*\n`)

// StartNginx starts an nginx with the configuration in deploy/proxy before the server at that URL.
func StartNginx(ctx context.Context, dir, name, serverURL string) (*Nginx, error) {
	text, err := os.ReadFile("deploy/proxy/nginx.conf")
	if err != nil {
		return nil, err
	}
	config := nginxTLS.ReplaceAllString(string(text), "")
	for i := 0; i < len(nginxHere); i += 2 {
		if !strings.Contains(config, nginxHere[i]) {
			return nil, fmt.Errorf("deploy/proxy/nginx.conf has no %q", nginxHere[i])
		}
		config = strings.ReplaceAll(config, nginxHere[i], nginxHere[i+1])
	}
	return startNginx(ctx, dir, name, strings.ReplaceAll(config, "SERVER", strings.TrimPrefix(serverURL, "http://")))
}

// nginxFile answers a list with a file, and counts the requests of each key.
const nginxFile = `
user root;
worker_processes auto;
pid DIR/nginx.pid;
daemon off;
error_log stderr warn;
events { worker_connections 1000; }
http {
	client_body_temp_path DIR/1; proxy_temp_path DIR/2;
	fastcgi_temp_path DIR/3; uwsgi_temp_path DIR/4; scgi_temp_path DIR/5;
	access_log DIR/access.log;
	keepalive_requests 1000000000;
	default_type application/json;
	limit_req_zone $http_authorization zone=keys:10m rate=1000000r/s;
	server {
		listen ADDR;
		root DIR;
		limit_req zone=keys burst=100000 nodelay;
	}
}`

// StartNginxFile starts an nginx that answers lists with a file.
func StartNginxFile(ctx context.Context, dir string, list []byte) (*Nginx, error) {
	const name = "nginx_file"
	file := filepath.Join(dir, name, CreatePath)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(file, list, 0o600); err != nil {
		return nil, err
	}
	return startNginx(ctx, dir, name, nginxFile)
}

// startNginx starts an nginx with a configuration in which DIR is its directory, and ADDR its
// address.
func startNginx(ctx context.Context, dir, name, config string) (*Nginx, error) {
	path, err := exec.LookPath("nginx")
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/nginx") // not in the PATH of users on Debian
	}
	if err != nil {
		return nil, fmt.Errorf("%w: install it with tools/install.sh nginx, as make bench does", err)
	}
	own := filepath.Join(dir, name)
	if err := os.MkdirAll(own, 0o700); err != nil {
		return nil, err
	}
	n := &Nginx{accessLog: filepath.Join(own, "access.log")}
	file := filepath.Join(own, "nginx.conf")
	return n, onFreePorts(ctx, 1, func(addrs []string) (err error) {
		here := strings.NewReplacer("DIR", own, "ADDR", addrs[0])
		if err := os.WriteFile(file, []byte(here.Replace(config)), 0o600); err != nil {
			return err
		}
		n.URL = "http://" + addrs[0]
		n.Child, err = start(
			ctx,
			dir,
			name,
			exec.Command(path, "-p", own, "-c", file),
			func(ctx context.Context) bool { return accepts(ctx, addrs[0]) },
		)
		return err
	})
}

// TruncateLog empties the log of requests.
func (n *Nginx) TruncateLog() error { return os.Truncate(n.accessLog, 0) }
