package clients_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/freeport"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/wait"
)

// receivers start a program of the guide in a folder of its own, by its language.
var receivers = map[string]func(t *testing.T, dir, program string) *exec.Cmd{
	"go": func(t *testing.T, dir, program string) *exec.Cmd {
		t.Helper()
		module := "module example.com/shop\n\ngo 1.26\n\nrequire petstore.example/client v1.0.0\n\n" +
			"replace petstore.example/client => " + absolute(t, "../../../clients/go") + "\n"
		write(t, filepath.Join(dir, "go.mod"), module)
		write(t, filepath.Join(dir, "main.go"), program)
		build := sandbox.Command(t, "go", "build", "-mod=mod", "-o", "receiver", ".")
		build.Dir = dir
		out, err := build.CombinedOutput()
		assert.NoError(t, err, string(out))
		return sandbox.Command(t, filepath.Join(dir, "receiver"))
	},
	"ts": func(t *testing.T, dir, program string) *exec.Cmd {
		t.Helper()
		buildTypeScript(t)
		assert.NoError(t, os.Mkdir(filepath.Join(dir, "node_modules"), 0o700))
		assert.NoError(t, os.Symlink(absolute(t, typescript), filepath.Join(dir, "node_modules", "petstore")))
		write(t, filepath.Join(dir, "receiver.mjs"), program)
		return sandbox.Command(t, "node", filepath.Join(dir, "receiver.mjs"))
	},
	"python": func(t *testing.T, _, program string) *exec.Cmd {
		t.Helper()
		cmd := sandbox.Command(t, pythonToolsVenv(t), "-c", program)
		cmd.Env = append(cmd.Env, "PYTHONPATH="+absolute(t, filepath.Join(python, "src")), "PYTHONDONTWRITEBYTECODE=1")
		return cmd
	},
}

// TestDocumentedReceivers runs the receivers of the guide as printed, but for their port: with two
// secrets each takes an event that one of them has signed, and no other.
func TestDocumentedReceivers(t *testing.T) {
	t.Parallel()
	guide := "../../../docs/webhooks.md"
	programs.Read(t, guide)
	text, err := os.ReadFile(guide)
	assert.NoError(t, err)
	for language, start := range receivers {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			printed := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindSubmatch(text)
			assert.True(t, printed != nil, "the guide has no program")
			address := freeport.Address(t)
			_, port, err := net.SplitHostPort(address)
			assert.NoError(t, err)
			secret := bytes.Repeat([]byte{7}, 32)
			dir := t.TempDir()
			run := start(t, dir, strings.Replace(string(printed[1]), "8090", port, 1))
			said, err := os.Create(filepath.Join(dir, "said"))
			assert.NoError(t, err)
			run.Stdout, run.Stderr = said, said
			run.Env = append(run.Env, "PETSTORE_WEBHOOK_SECRETS=whsec_"+
				base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{9}, 32))+" whsec_"+
				base64.StdEncoding.EncodeToString(secret))
			assert.NoError(t, run.Start())
			t.Cleanup(func() {
				_ = run.Process.Kill()
				_ = run.Wait() // It was killed.
			})
			wait.Until(t, "the receiver listens", func() bool {
				c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
				return err == nil && c.Close() == nil
			})
			assert.Equal(
				t,
				post(t, address, "e1", bytes.Repeat([]byte{8}, 32)),
				http.StatusBadRequest,
				"another secret",
			)
			assert.Equal(t, post(t, address, "e2", secret), http.StatusNoContent)
			wait.Until(t, "it handles the event", func() bool {
				out, err := os.ReadFile(said.Name())
				return err == nil && strings.Contains(string(out), "e2 key.revoked {") &&
					!strings.Contains(string(out), "e1 ")
			})
		})
	}
}

// post sends an event that is signed with the secret, and returns the status of the answer.
func post(t *testing.T, address, id string, secret []byte) int {
	t.Helper()
	const body = `{"type":"key.revoked","timestamp":"2026-11-20T09:21:48Z","data":{"id":"key_1","name":"Schlüssel"}}`
	at := fmt.Sprint(time.Now().Unix())
	mac := hmac.New(sha256.New, secret)
	_, _ = mac.Write([]byte(id + "." + at + "." + body)) // A hash never fails.
	r, err := http.NewRequestWithContext(
		t.Context(),
		http.MethodPost,
		"http://"+address+"/petstore",
		strings.NewReader(body),
	)
	assert.NoError(t, err)
	r.Header.Set("webhook-id", id)
	r.Header.Set("webhook-timestamp", at)
	r.Header.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	response, err := http.DefaultTransport.RoundTrip(r)
	assert.NoError(t, err)
	assert.NoError(t, response.Body.Close())
	return response.StatusCode
}

func write(t *testing.T, path, text string) {
	t.Helper()
	assert.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}
