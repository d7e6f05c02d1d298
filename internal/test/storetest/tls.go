package storetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/test/freeport"
	"petstore.example/internal/test/wait"
)

// TLSServer is a PrivateServer that also listens on 127.0.0.1, with TLS and passwords, as in production. It logs every statement.
type TLSServer struct {
	*PrivateServer
	// Port is where it listens. Its certificate is for localhost, not for 127.0.0.1.
	Port string
	// Dir has ca.pem; and CERTLOGIN.pem and .key, with which CertLogin connects without a password.
	Dir string
}

// CertLogin is the login with a client certificate. It is a role that the test makes.
const CertLogin = "carol"

// NewTLSServer starts a TLSServer that ends with the test. Over its socket nobody needs a password.
func NewTLSServer(t testing.TB) *TLSServer {
	t.Helper()
	_, port, _ := net.SplitHostPort(freeport.Address(t))
	s := &TLSServer{Port: port, Dir: t.TempDir()}
	s.PrivateServer = newServer(t, map[string]string{"listen_addresses": "127.0.0.1", "port": s.Port, "log_statement": "all", "log_connections": "on"})
	data := s.server.DataDir()
	a := newAuthority(t)
	err := errors.Join(
		a.issue(filepath.Join(data, "server"), "localhost"), a.issue(filepath.Join(s.Dir, CertLogin), CertLogin),
		writePEM(filepath.Join(s.Dir, "ca.pem"), "CERTIFICATE", a.der), writePEM(filepath.Join(data, "ca.pem"), "CERTIFICATE", a.der),
		os.WriteFile(filepath.Join(data, "pg_hba.conf"), []byte(
			"local all all trust\nhostssl all "+CertLogin+" 127.0.0.1/32 cert\nhost all all 127.0.0.1/32 scram-sha-256\n"), 0o600),
		giveTo(filepath.Join(data, "server.key"), data),
	)
	for _, setting := range []string{
		"ssl_cert_file = 'server.pem'", "ssl_key_file = 'server.key'", "ssl_ca_file = 'ca.pem'", "ssl = on",
	} {
		err = errors.Join(err, s.exec(t.Context(), "alter system set "+setting))
	}
	if err := errors.Join(err, s.exec(t.Context(), "select pg_reload_conf()")); err != nil {
		t.Fatalf("test server: %v", err)
	}
	waitForTLS(t, s.Port)
	return s
}

// Log returns what the server has logged.
func (s *TLSServer) Log() string {
	s.t.Helper()
	text, err := os.ReadFile(s.server.LogFile())
	if err != nil {
		s.t.Fatalf("test server: %v", err)
	}
	return string(text)
}

// waitForTLS waits until the server has read its configuration again: it answers S to a request for TLS.
func waitForTLS(t testing.TB, port string) {
	t.Helper()
	var err error
	wait.Until(t, "a server with TLS", func() bool {
		var conn net.Conn
		if conn, err = net.DialTimeout("tcp", "127.0.0.1:"+port, time.Second); err != nil {
			return false
		}
		defer conn.Close()
		reply := make([]byte, 1)
		_ = conn.SetDeadline(time.Now().Add(time.Second))
		if _, err = conn.Write([]byte{0, 0, 0, 8, 4, 210, 22, 47}); err == nil {
			_, err = conn.Read(reply)
		}
		return reply[0] == 'S'
	}, &err)
}

// authority is a certificate authority.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	der  []byte
}

// Certificate writes a certificate of that name and its key, tls.crt and tls.key, and the authority that issued it, ca.pem.
func Certificate(t testing.TB, dir, name string) {
	t.Helper()
	a := newAuthority(t)
	err := errors.Join(
		a.issue(filepath.Join(dir, "tls"), name), os.Rename(filepath.Join(dir, "tls.pem"), filepath.Join(dir, "tls.crt")),
		writePEM(filepath.Join(dir, "ca.pem"), "CERTIFICATE", a.der),
	)
	if err != nil {
		t.Fatal(err)
	}
}

func newAuthority(t testing.TB) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return authority{key, cert, der}
}

// issue writes a certificate of that name and its key: PATH.pem and PATH.key.
func (a authority) issue(path, name string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return fmt.Errorf("certificate of %s: %w", name, err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return errors.Join(writePEM(path+".pem", "CERTIFICATE", der), writePEM(path+".key", "EC PRIVATE KEY", keyDER))
}

func writePEM(path, kind string, der []byte) error {
	mode := os.FileMode(0o600)
	if strings.HasSuffix(path, ".pem") {
		mode = 0o644
	}
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), mode)
}
