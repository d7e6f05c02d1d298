package storetest

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/certtest"
	"petstore.example/internal/test/freeport"
)

// TLSServer is a PrivateServer that also listens on 127.0.0.1, with TLS and passwords, as in
// production. It logs every statement.
type TLSServer struct {
	*PrivateServer
	// Port is the port on which it listens. Its certificate is for localhost, not for 127.0.0.1.
	Port string
	// Dir has ca.pem, and CERTLOGIN.pem and .key, with which CertLogin connects without a password.
	Dir string
}

// CertLogin is the login with a client certificate. The test makes its role.
const CertLogin = "carol"

// NewTLSServer starts a TLSServer that ends with the test. Connections over its socket need no
// password.
func NewTLSServer(t testing.TB) *TLSServer {
	t.Helper()
	_, port, _ := net.SplitHostPort(freeport.Address(t))
	s := &TLSServer{Port: port, Dir: t.TempDir()}
	s.PrivateServer = newServer(
		t,
		map[string]string{
			"listen_addresses": "127.0.0.1",
			"port":             s.Port,
			"log_statement":    "all",
			"log_connections":  "on",
		},
	)
	data := s.server.DataDir()
	a := certtest.New(t)
	a.Issue(t, filepath.Join(data, "server"), "localhost")
	a.Issue(t, filepath.Join(s.Dir, CertLogin), CertLogin)
	a.Write(t, s.Dir)
	a.Write(t, data)
	err := errors.Join(
		os.WriteFile(filepath.Join(data, "pg_hba.conf"), []byte(
			"local all all trust\nhostssl all "+CertLogin+
				" 127.0.0.1/32 cert\nhost all all 127.0.0.1/32 scram-sha-256\n",
		), 0o600),
		giveTo(filepath.Join(data, "server.key"), data),
	)
	for _, setting := range []string{
		"ssl_cert_file = 'server.pem'", "ssl_key_file = 'server.key'", "ssl_ca_file = 'ca.pem'", "ssl = on",
	} {
		err = errors.Join(err, s.exec(t.Context(), "alter system set "+setting))
	}
	assert.NoError(t, err, "test server")
	s.Stop()
	s.Start()
	return s
}

// Log returns what the server has logged.
func (s *TLSServer) Log() string {
	s.t.Helper()
	text, err := os.ReadFile(s.server.LogFile())
	assert.NoError(s.t, err, "test server")
	return string(text)
}
