package redistest

import (
	"net"
	"path/filepath"
	"testing"

	"petstore.example/internal/test/certtest"
	"petstore.example/internal/test/freeport"
)

// NewTLS starts a server that also answers by TLS, at tlsURL. Its certificate is for name, a host's
// name or address. The file ca has the certificate of the authority that signed it.
func NewTLS(t testing.TB, name string) (s *Server, tlsURL, ca string) {
	t.Helper()
	dir := t.TempDir()
	authority, ca := certtest.New(t), filepath.Join(dir, "ca.pem")
	authority.Write(t, dir)
	authority.Issue(t, filepath.Join(dir, "server"), name)
	addr := freeport.Address(t)
	_, port, _ := net.SplitHostPort(addr)
	s = newServer(
		t,
		"--tls-port",
		port,
		"--tls-cert-file",
		filepath.Join(dir, "server.pem"),
		"--tls-key-file",
		filepath.Join(dir, "server.key"),
		"--tls-ca-cert-file",
		ca,
		"--tls-auth-clients",
		"no",
	)
	return s, "rediss://" + addr + "/0", ca
}
