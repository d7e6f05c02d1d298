package generators_test

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

// nginxConfig is of an nginx that compresses every response for who accepts that. Many companies
// have one between their programs and the world. It weakens the ETag of what it compresses, and
// here it says by itself who may keep a response.
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
	log_format short '$status $gzip_ratio $http_user_agent';
	access_log access.log short;
	gzip on;
	gzip_types application/json;
	gzip_min_length 1;
	server {
		listen ADDR;
		proxy_hide_header Cache-Control;
		add_header Cache-Control private always;
		location / {
			proxy_pass http://SERVER;
			# It compresses what comes to it as it is.
			proxy_set_header Accept-Encoding identity;
		}
	}
}
`

// nginx is a running one.
type nginx struct {
	*programs.Process
	t         *testing.T
	addr, log string
}

// startNginx starts an nginx before a server.
func startNginx(t *testing.T, server string) *nginx {
	t.Helper()
	path, err := exec.LookPath("nginx")
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/nginx") // not in the PATH of users on Debian
	}
	assert.NoError(t, err, "install it with tools/install.sh nginx, as make test does")
	dir := t.TempDir()
	n := &nginx{t: t, addr: freeport.Address(t), log: filepath.Join(dir, "access.log")}
	config := strings.NewReplacer("ADDR", n.addr, "SERVER", server).Replace(nginxConfig)
	file := filepath.Join(dir, "nginx.conf")
	assert.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	n.Process = programs.Start(t, sandbox.Command(t, path, "-p", dir, "-c", file))
	wait.Until(t, "nginx listens", func() bool {
		if n.Ended() {
			t.Fatalf("nginx has ended: %s", n.Stderr())
		}
		conn, err := net.Dial("tcp", n.addr)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return n
}

// checkCompressed checks that programs of all kinds got compressed responses: a proxy that changes
// nothing shows nothing.
func (n *nginx) checkCompressed(clients int) {
	n.t.Helper()
	compressed := 0
	for line := range strings.Lines(programs.Read(n.t, n.log)) {
		if fields := strings.Fields(line); fields[0] == "200" && fields[1] != "-" {
			compressed++
		}
	}
	// Each reads three pages, an animal, a changed one, an order, a list of orders and its usage.
	if want := 7 * clients; compressed < want {
		n.t.Errorf("nginx has compressed %d responses, want %d at least", compressed, want)
	}
}
