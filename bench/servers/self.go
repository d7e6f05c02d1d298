package servers

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"time"

	"petstore.example/bench/must"
	"petstore.example/internal/httpfast"
)

// Self is this program, running as a server in a child process.
type Self struct {
	*Child
	URL string // http://127.0.0.1:port
}

// selfCommand is the first argument of a Self: see SelfMain.
const selfCommand = "serve-for-bench"

// Names of servers.
const (
	Bare           = "bare"          // gin.New() in release mode without middleware
	BareOnHTTPFast = "bare-httpfast" // the same on the connections of internal/httpfast, as petstore is served
	Stock          = "stock"
)

// handlers make the handler of a server from its options in JSON.
var handlers = map[string]func(options []byte) http.Handler{
	Bare:           bareHandler,
	BareOnHTTPFast: bareHandler,
	Stock:          stockHandler,
}

// StartSelf starts the server of that name with BareOptions or StockOptions. It passes them on
// standard input, where no other user can read them.
func StartSelf(ctx context.Context, dir, name string, options any) (*Self, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(options)
	if err != nil {
		return nil, err
	}
	s := &Self{}
	return s, onFreePorts(ctx, 1, func(addrs []string) (err error) {
		cmd := exec.Command(self, selfCommand, name, addrs[0])
		cmd.Env = []string{}
		cmd.Stdin = bytes.NewReader(text)
		s.URL = "http://" + addrs[0]
		s.Child, err = start(ctx, dir, name, cmd, func(ctx context.Context) bool { return accepts(ctx, addrs[0]) })
		return err
	})
}

// accepts reports whether a server accepts connections there.
func accepts(ctx context.Context, addr string) bool {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// SelfMain runs a server if the arguments are those of a Self. main calls it first.
func SelfMain(args []string) (isServer bool, err error) {
	if len(args) != 3 || args[0] != selfCommand {
		return false, nil
	}
	isServer = true
	defer must.Recover(&err)
	handler := handlers[args[1]](must.Get(io.ReadAll(os.Stdin)))
	l := must.Get(net.Listen("tcp", args[2]))
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	if args[1] == BareOnHTTPFast {
		l = httpfast.WrapServer(server, l)
	}
	return isServer, server.Serve(l)
}
