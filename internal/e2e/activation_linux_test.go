package e2e_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/freeport"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/wait"
)

// restarted runs a program three times on the sockets that the shell was handed over, as systemd
// does with a service that is restarted.
const restarted = `for i in 1 2 3; do sh -c 'export LISTEN_PID=$$; exec "$0" serve' "$0" || exit; done`

// TestUpgradeWithoutAClosedPort restarts a server twice on a socket that is handed over, under load
// on connections that are new for every request. None is refused or lost. Each server says that it
// is ready, alive and stopping.
func TestUpgradeWithoutAClosedPort(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, false)
	tn := d.tenant(plans.Enterprise, hugeQuota, 1)
	states := listenNotify(t)
	addr := freeport.Address(t)
	args := []string{"-l", addr, "--fdname=api"}
	for _, variable := range append(d.serverEnv([]string{"PETSTORE_ADDR=" + addr}), "NOTIFY_SOCKET="+states.path,
		"WATCHDOG_USEC=600000") {
		args = append(args, "-E", variable)
	}
	p := programs.Start(
		t,
		sandbox.Command(t, "systemd-socket-activate", append(args, "sh", "-c", restarted, d.petstore)...),
	)
	t.Cleanup(func() {
		for _, pid := range serverPIDs(p) {
			// the number may be another process's by now
			if program, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); program == d.petstore {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	wait.Until(t, "a socket", func() bool { return strings.Contains(p.Stderr(), "Listening on") })

	var served atomic.Int64
	client := &http.Client{Timeout: timeout, Transport: &http.Transport{DisableKeepAlives: true}}
	stop := startLoad(4, func(int, int) response {
		a := get(client, "http://"+addr+"/v1/pets?limit=1", tn.keys[0].token)
		if a.status == http.StatusOK {
			served.Add(1)
		}
		return a
	})
	for restart := range 3 {
		wait.Until(t, "a server on the socket", func() bool { return len(serverPIDs(p)) == restart+1 })
		before, pings := served.Load(), states.count("WATCHDOG=1\nSTATUS=ready")
		wait.Until(t, "responses of it", func() bool { return served.Load() > before+100 })
		wait.Until(t, "a ping of it", func() bool { return states.count("WATCHDOG=1\nSTATUS=ready") > pings })
		if restart == 2 {
			break
		}
		assert.NoError(t, syscall.Kill(serverPIDs(p)[restart], syscall.SIGTERM))
	}
	slowest, lost := time.Duration(0), 0
	for _, a := range stop() {
		if slowest = max(slowest, a.took()); a.err != nil {
			lost++
			t.Logf("a request failed: %v", a)
		} else if a.status != http.StatusOK && a.status != http.StatusServiceUnavailable {
			t.Errorf("a request failed: %v", a)
		}
	}
	// A server that stops gives its last connections 200 ms to send their requests, and a busy
	// machine may take longer to read one.
	if lost > 0 && long() || lost > 2 {
		t.Errorf("%d requests were lost", lost)
	}
	t.Logf("%d requests over two restarts, the slowest took %v", served.Load(), slowest.Round(time.Millisecond))
	assert.NoError(t, syscall.Kill(serverPIDs(p)[2], syscall.SIGTERM))
	assert.Equal(t, p.Wait(), 0, "exit code")
	wait.Until(t, "the end of it", func() bool { return states.count("STOPPING=1\nSTATUS=stopping") > 0 })
	assert.Equal(t, states.count("READY=1\nSTATUS=ready"), 3, "servers said that they are ready")
}

// TestSocketsThatAreRefused: systemd's mistakes are named.
func TestSocketsThatAreRefused(t *testing.T) {
	t.Parallel()
	for want, listens := range map[string][]string{
		`petstore: systemd hands over a socket named "web": name it api or admin ` +
			`(FileDescriptorName=)`: {"api", "web"},
		`petstore: systemd hands over two sockets named api: use one, ` +
			`ListenStream=PORT, for IPv4 and IPv6`: {"api", "api"},
		`petstore: systemd hands over a socket named api that is not TCP: use ` +
			`ListenStream=PORT`: {"unix"},
		`petstore: systemd hands over a socket named api that does not listen: use ` +
			`ListenStream= and Accept=no`: {"datagram"},
		`petstore: PETSTORE_DATABASE_URL: reach the database: database unavailable: ` +
			`dial tcp 127.0.0.1:1: connect: c`: {"admin"},
	} {
		t.Run(strings.Join(listens, ","), func(t *testing.T) {
			t.Parallel()
			args := []string{
				"-E",
				"PETSTORE_DATABASE_URL=postgres://jo@127.0.0.1:1/none?sslmode=disable",
				"-E",
				"PETSTORE_ADDR=127.0.0.1:0",
			}
			addr, network := freeport.Address(t), "tcp"
			switch listens[0] {
			case "unix":
				network, addr = "unix", filepath.Join(t.TempDir(), "socket")
				args = append(args, "-l", addr)
			case "datagram":
				network, args = "udp", append(args, "--datagram", "-l", addr)
			default:
				for range listens[1:] {
					args = append(args, "-l", freeport.Address(t))
				}
				args = append(args, "-l", addr, "--fdname="+strings.Join(listens, ":"))
			}
			p := programs.Start(
				t,
				sandbox.Command(t, "systemd-socket-activate", append(args, program(t, "petstore"), "serve")...),
			)
			wait.Until(t, "a socket", func() bool { return strings.Count(p.Stderr(), "Listening on") == len(listens) })
			// It starts the server, which may end and reset the connection before Dial or Write has
			// returned.
			if conn, err := net.Dial(network, addr); err == nil {
				_, _ = conn.Write([]byte("x"))
				_ = conn.Close()
			}
			if code := p.Wait(); code != 1 || !strings.Contains(p.Stderr(), want) {
				t.Errorf("exit code %d, %s\nwant 1 and %q", code, p.Stderr(), want)
			}
		})
	}
}

// serverPIDs are the process IDs of the servers that began to serve, in their order.
func serverPIDs(p *programs.Process) (pids []int) {
	for line := range strings.Lines(p.Stderr()) {
		var e struct {
			Message string
			PID     int
		}
		if json.Unmarshal([]byte(line), &e) == nil && e.Message == "serving" {
			pids = append(pids, e.PID)
		}
	}
	return pids
}

// notifications are what servers told systemd.
type notifications struct {
	path string

	mu       sync.Mutex
	received []string
}

func listenNotify(t *testing.T) *notifications {
	t.Helper()
	n := &notifications{path: filepath.Join(t.TempDir(), "notify")}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: n.path, Net: "unixgram"})
	assert.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for buffer := make([]byte, 64<<10); ; {
			size, err := conn.Read(buffer)
			if err != nil {
				return
			}
			n.mu.Lock()
			n.received = append(n.received, string(buffer[:size]))
			n.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		<-done
	})
	return n
}

// count returns how often a state was told.
func (n *notifications) count(state string) (found int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.received {
		if s == state {
			found++
		}
	}
	return found
}
