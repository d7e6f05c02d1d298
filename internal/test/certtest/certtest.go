// Package certtest issues certificates for tests.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
)

// Authority is a certificate authority. Its methods fail the test if they cannot do their work.
type Authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

// New returns a new authority.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{key: newKey(t)}
	a.cert = a.sign(t, &x509.Certificate{
		Subject: pkix.Name{
			CommonName: "test authority",
		},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}, a.key)
	return a
}

// Write writes the authority's certificate: ca.pem.
func (a *Authority) Write(t testing.TB, dir string) {
	t.Helper()
	write(t, filepath.Join(dir, "ca.pem"), "CERTIFICATE", a.cert.Raw)
}

// Issue writes a certificate for a host's name or address, or for a user, and its key: PATH.pem and
// PATH.key.
func (a *Authority) Issue(t testing.TB, path, name string) {
	t.Helper()
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		DNSNames:    []string{name},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if ip := net.ParseIP(name); ip != nil {
		template.DNSNames, template.IPAddresses = nil, []net.IP{ip}
	}
	key := newKey(t)
	write(t, path+".pem", "CERTIFICATE", a.sign(t, template, key).Raw)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	assert.NoError(t, err)
	write(t, path+".key", "PRIVATE KEY", der)
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	assert.NoError(t, err)
	return key
}

// sign returns the certificate that the template describes. The first one is the authority's own.
func (a *Authority) sign(t testing.TB, template *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent := a.cert
	if parent == nil {
		parent = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), a.key)
	assert.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	assert.NoError(t, err)
	return cert
}

func write(t testing.TB, path, kind string, der []byte) {
	t.Helper()
	mode := os.FileMode(0o600)
	if kind == "CERTIFICATE" {
		mode = 0o644
	}
	assert.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), mode))
}
