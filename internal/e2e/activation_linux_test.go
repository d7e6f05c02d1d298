package e2e_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/freeport"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/wait"
)

// restarted runs a program three times on the sockets that the shell was handed over, as systemd does with a service that is restarted.
const restarted = `for i in 1 2 3; do sh -c 'export LISTEN_PID=$$; exec "$0" serve' "$0" || exit; done`

// TestUpgradeWithoutAClosedPort restarts a server twice on a socket that is handed over, under load on connections that are new for every request.
// None is refused or lost. Each server says that it is ready, alive and stopping.
func TestUpgradeWithoutAClosedPort(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, false)
	tn := d.tenant(plans.Enterprise, hugeQuota, 1)
	states := listenNotify(t)
	addr := freeport.Address(t)
	args := []string{"-l", addr, "--fdname=api"}
	for _, variable := range append(d.serverEnv([]string{"PETSTORE_ADDR=" + addr}), "NOTIFY_SOCKET="+states.path, "WATCHDOG_USEC=600000") {
		args = append(args, "-E", variable)
	}
	p := programs.Start(t, sandbox.Command(t, "systemd-socket-activate", append(args, "sh", "-c", restarted, d.petstore)...))
	t.Cleanup(func() {
		for _, pid := range serverPIDs(p) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	wait.Until(t, "a socket", func() bool { return strings.Contains(p.Stderr(), "Listening on") })

	load := startNewConnections("http://"+addr+"/v1/pets?limit=1", tn.keys[0].token)
	for restart := range 3 {
		wait.Until(t, "a server on the socket", func() bool { return len(serverPIDs(p)) == restart+1 })
		served := load.served.Load()
		wait.Until(t, "responses of it", func() bool { return load.served.Load() > served+100 })
		wait.Until(t, "a ping of it", func() bool { return states.count("WATCHDOG=1\nSTATUS=ready") > 0 })
		if restart == 2 {
			break
		}
		if err := syscall.Kill(serverPIDs(p)[restart], syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		states.reset()
	}
	failures, slowest := load.stop()
	t.Logf("%d requests over two restarts, the slowest took %v", load.served.Load(), slowest.Round(time.Millisecond))
	if len(failures) > 0 {
		t.Errorf("%d requests failed: %q", len(failures), failures)
	}
	if err := syscall.Kill(serverPIDs(p)[2], syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := p.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	wait.Until(t, "the end of it", func() bool { return states.count("STOPPING=1\nSTATUS=stopping") > 0 })
	if n := states.all("READY=1\nSTATUS=ready"); n != 3 {
		t.Errorf("%d servers said that they are ready, want 3", n)
	}
}

// TestSocketsThatAreRefused: systemd's mistakes are named.
func TestSocketsThatAreRefused(t *testing.T) {
	t.Parallel()
	for want, listens := range map[string][]string{
		`petstore: systemd hands over a socket named "web": name it api or admin (FileDescriptorName=)`:               {"api", "web"},
		`petstore: systemd hands over two sockets named api: use one, ListenStream=PORT, for IPv4 and IPv6`:           {"api", "api"},
		`petstore: systemd hands over a socket named api that is not TCP: use ListenStream=PORT`:                      {"unix"},
		`petstore: systemd hands over a socket named api that does not listen: use ListenStream= and Accept=no`:       {"datagram"},
		`petstore: PETSTORE_DATABASE_URL: reach the database: database unavailable: dial tcp 127.0.0.1:1: connect: c`: {"admin"},
	} {
		t.Run(strings.Join(listens, ","), func(t *testing.T) {
			t.Parallel()
			args := []string{"-E", "PETSTORE_DATABASE_URL=postgres://jo@127.0.0.1:1/none?sslmode=disable", "-E", "PETSTORE_ADDR=127.0.0.1:0"}
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
			p := programs.Start(t, sandbox.Command(t, "systemd-socket-activate", append(args, program(t, "petstore"), "serve")...))
			wait.Until(t, "a socket", func() bool { return strings.Count(p.Stderr(), "Listening on") == len(listens) })
			// It starts the server, which may end and reset the connection before Dial or Write has returned.
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
	first    int // those before are not counted
}

func listenNotify(t *testing.T) *notifications {
	t.Helper()
	n := &notifications{path: filepath.Join(t.TempDir(), "notify")}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: n.path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
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

func (n *notifications) countFrom(first func() int, state string) (found int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.received[first():] {
		if s == state {
			found++
		}
	}
	return found
}

// count returns how often a state was told since the last reset, all since the start.
func (n *notifications) count(state string) int {
	return n.countFrom(func() int { return n.first }, state)
}

func (n *notifications) all(state string) int {
	return n.countFrom(func() int { return 0 }, state)
}

func (n *notifications) reset() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.first = len(n.received)
}

// newConnections sends requests, each on a connection of its own.
type newConnections struct {
	served atomic.Int64
	end    chan struct{}
	all    sync.WaitGroup

	mu       sync.Mutex
	failures []string
	slowest  time.Duration
}

func startNewConnections(url, token string) *newConnections {
	l := &newConnections{end: make(chan struct{})}
	client := &http.Client{Timeout: timeout, Transport: &http.Transport{DisableKeepAlives: true}}
	for range 4 {
		l.all.Go(func() {
			for {
				select {
				case <-l.end:
					return
				default:
					l.send(client, url, token)
				}
			}
		})
	}
	return l
}

func (l *newConnections) send(client *http.Client, url, token string) {
	req, err := http.NewRequest(http.MethodGet, url, http.NoBody)
	if err != nil {
		panic(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	began, failure := time.Now(), ""
	res, err := client.Do(req)
	if err != nil {
		failure = time.Now().Format(time.StampMicro) + err.Error()
	} else {
		if _, err := io.Copy(io.Discard, res.Body); err != nil || !slices.Contains([]int{200, 503}, res.StatusCode) {
			failure = res.Status
		}
		_ = res.Body.Close()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if failure != "" {
		l.failures = append(l.failures, failure)
		return
	}
	l.slowest = max(l.slowest, time.Since(began))
	if res.StatusCode == http.StatusOK {
		l.served.Add(1)
	}
}

// stop returns what failed, and how long the slowest of the others took.
func (l *newConnections) stop() ([]string, time.Duration) {
	close(l.end)
	l.all.Wait()
	return l.failures, l.slowest
}
