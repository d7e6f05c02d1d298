package servers

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"time"

	"petstore.example/bench/must"
)

// selfCommand is the first argument of this program when it runs as a server (see SelfMain).
const selfCommand = "serve-for-bench"

// handlers make a server's handler from its options in JSON.
var handlers = map[string]func(options []byte) http.Handler{"bare": bareHandler, "stock": stockHandler}

// StartSelf starts this program as the server "bare" with BareOptions (gin.New() in release mode
// without middleware), or "stock" with StockOptions. It passes the options on standard input, where
// no other user can read them.
func StartSelf(ctx context.Context, dir, name string, options any) (*Server, error) {
	text, err := json.Marshal(options)
	if err != nil {
		return nil, err
	}
	return serve(ctx, dir, name, func(addrs [2]string) (*exec.Cmd, error) {
		self, err := os.Executable()
		cmd := exec.Command(self, selfCommand, name, addrs[0])
		cmd.Env, cmd.Stdin = []string{}, bytes.NewReader(text)
		return cmd, err
	}, accepts)
}

// SelfMain runs a server if the arguments are StartSelf's. main calls it first.
func SelfMain(args []string) (isServer bool, err error) {
	if len(args) != 3 || args[0] != selfCommand {
		return false, nil
	}
	isServer = true
	defer must.Recover(&err)
	handler := handlers[args[1]](must.Get(io.ReadAll(os.Stdin)))
	server := &http.Server{Addr: args[2], Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	return isServer, server.ListenAndServe()
}
