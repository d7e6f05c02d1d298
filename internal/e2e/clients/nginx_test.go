package clients_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/freeport"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/wait"
)

// nginxConfig is of an nginx that compresses what it may.
const nginxConfig = `daemon off;
master_process off;
pid nginx.pid;
error_log stderr warn;
events { worker_connections 100; }
http {
	client_body_temp_path 1;
	proxy_temp_path 2;
	fastcgi_temp_path 3;
	uwsgi_temp_path 4;
	scgi_temp_path 5;
	access_log off;
	gzip on;
	gzip_types *;
	upstream petstore { SERVERS }
	server {
		listen ADDR;
		location / { proxy_pass http://petstore; }
	}
}
`

// startNginx starts an nginx before servers, and returns its address.
func startNginx(t *testing.T, servers ...string) string {
	t.Helper()
	path, err := exec.LookPath("nginx")
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/nginx") // not in the PATH of users on Debian
	}
	assert.NoError(t, err, "install it with tools/install.sh nginx, as make test does")
	dir, addr := t.TempDir(), freeport.Address(t)
	upstream := "server " + strings.Join(servers, " max_fails=0; server ") + " max_fails=0;" // as deploy/proxy has it
	config := strings.NewReplacer("ADDR", addr, "SERVERS", upstream).Replace(nginxConfig)
	assert.NoError(t, os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(config), 0o600))
	cmd := sandbox.Command(t, path, "-p", dir, "-c", filepath.Join(dir, "nginx.conf"))
	nginx := programs.Start(t, cmd)
	wait.Until(t, "nginx listens", func() bool {
		if nginx.Ended() {
			t.Fatalf("nginx has ended: %s", nginx.Stderr())
		}
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return addr
}
