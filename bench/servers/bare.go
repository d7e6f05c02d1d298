package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"time"

	"github.com/gin-gonic/gin"
)

// Bare is a bare Gin server in a process of its own.
type Bare struct {
	*Child
	URL string
}

// bareCommand is the argument by which this program knows that it is to be the bare server: see BareMain.
const bareCommand = "serve-bare"

// StartBare starts a bare server that answers GET /v1/pets with these bytes.
func StartBare(ctx context.Context, dir string, body []byte) (*Bare, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	b := &Bare{}
	return b, anywhere(ctx, 1, func(addrs []string) (err error) {
		cmd := exec.Command(self, bareCommand, addrs[0])
		cmd.Env = []string{}
		cmd.Stdin = bytes.NewReader(body)
		b.URL = "http://" + addrs[0] + "/v1/pets"
		b.Child, err = start(ctx, dir, "bare", cmd, func(ctx context.Context) bool {
			got, err := get(ctx, b.URL)
			return err == nil && bytes.Equal(got, body)
		})
		return err
	})
}

// BareMain serves when the arguments say that this process is the bare server, and reports whether they do.
func BareMain(args []string) (isBare bool, err error) {
	if len(args) != 2 || args[0] != bareCommand {
		return false, nil
	}
	body, err := io.ReadAll(os.Stdin)
	if err != nil {
		return true, fmt.Errorf("read the body: %w", err)
	}
	l, err := net.Listen("tcp", args[1])
	if err != nil {
		return true, err
	}
	server := &http.Server{Handler: bareHandler(body), ReadHeaderTimeout: 10 * time.Second}
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return true, err
	}
	return true, nil
}

// bareHandler is what nobody can be faster than with Gin: one route, no middleware, fixed bytes.
func bareHandler(body []byte) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.GET("/v1/pets", func(c *gin.Context) { c.Data(http.StatusOK, "application/json", body) })
	return engine
}
