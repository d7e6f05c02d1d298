// Package smtptest is a relay for tests: an SMTP server that keeps what it takes.
package smtptest

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/certtest"
)

// User and Password are those that a Relay takes.
const (
	User     = "notices"
	Password = "p@ss:word/%"
)

// Mail is one that a relay took.
type Mail struct{ From, To, Raw string }

// Options are how a relay behaves. The zero value takes everything, after STARTTLS.
type Options struct {
	// Plain offers no TLS; Implicit begins with it. Login offers AUTH LOGIN in place of PLAIN.
	Plain, Implicit, Login bool
	// Mail, Rcpt and Data return the answer to a command, if not nil. Drop ends the connection after
	// the first bytes of a mail, and Dropped after it has taken it.
	Mail, Rcpt, Data func(of string) error
	Drop, Dropped    bool
}

// Relay is a running server.
type Relay struct {
	// Addr is HOST:PORT, and CA the file with the certificate of its authority.
	Addr, CA string
	Options

	mu    sync.Mutex
	taken []Mail
}

// New starts a relay, which ends with the test.
func New(t testing.TB, o Options) *Relay {
	t.Helper()
	dir := t.TempDir()
	authority := certtest.New(t)
	authority.Write(t, dir)
	path := filepath.Join(dir, "relay")
	authority.Issue(t, path, "127.0.0.1")
	cert, err := tls.LoadX509KeyPair(path+".pem", path+".key")
	assert.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NoError(t, err)
	r := &Relay{Addr: l.Addr().String(), CA: filepath.Join(dir, "ca.pem"), Options: o}
	server := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		return &session{Relay: r, conn: c}, nil
	}))
	server.Domain, server.ErrorLog = "relay.example", quiet{}
	server.EnableSMTPUTF8 = true
	config := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	if !o.Plain && !o.Implicit {
		server.TLSConfig = config
	}
	if server.AllowInsecureAuth = o.Plain; o.Implicit {
		l = tls.NewListener(l, config)
	}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return r
}

// Taken returns the mails that the relay has taken, in order.
func (r *Relay) Taken() []Mail {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Mail(nil), r.taken...)
}

// Pool has the relay's authority alone.
func (r *Relay) Pool(t testing.TB) *x509.CertPool {
	t.Helper()
	text, err := os.ReadFile(r.CA)
	assert.NoError(t, err)
	pool := x509.NewCertPool()
	assert.True(t, pool.AppendCertsFromPEM(text), "no certificate in", r.CA)
	return pool
}

// Answer is one with a code, such as 550 5.1.1.
func Answer(code int, enhanced smtp.EnhancedCode) error {
	return &smtp.SMTPError{Code: code, EnhancedCode: enhanced, Message: "no such thing: " + Password}
}

type session struct {
	*Relay
	conn *smtp.Conn
	mail Mail
}

func (*session) Reset()        {}
func (*session) Logout() error { return nil }

// AuthMechanisms implements smtp.AuthSession.
func (s *session) AuthMechanisms() []string {
	if s.Login {
		return []string{sasl.Login}
	}
	return []string{sasl.Plain}
}

// Auth implements smtp.AuthSession.
func (s *session) Auth(string) (sasl.Server, error) {
	if s.Login {
		return &login{}, nil
	}
	return sasl.NewPlainServer(func(_, user, password string) error { return check(user, password) }), nil
}

func check(user, password string) error {
	if user != User || password != Password {
		return smtp.ErrAuthFailed
	}
	return nil
}

// login is AUTH LOGIN, which sasl has for clients alone: it asks for the user, then the password.
type login struct{ given []string }

// Next implements sasl.Server.
func (l *login) Next(answer []byte) (challenge []byte, done bool, err error) {
	if answer != nil {
		l.given = append(l.given, string(answer))
	}
	if len(l.given) < 2 {
		return []byte([]string{"Username:", "Password:"}[len(l.given)]), false, nil
	}
	return nil, true, check(l.given[0], l.given[1])
}

func call(f func(string) error, of string) error {
	if f == nil {
		return nil
	}
	return f(of)
}

// Mail implements smtp.Session.
func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	s.mail.From = from
	return call(s.Options.Mail, from)
}

// Rcpt implements smtp.Session.
func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.mail.To = to
	return call(s.Options.Rcpt, to)
}

// Data implements smtp.Session.
func (s *session) Data(r io.Reader) error {
	if s.Drop {
		_, _ = r.Read(make([]byte, 1))
		return s.conn.Conn().Close()
	}
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if err = call(s.Options.Data, s.mail.To); err != nil {
		return err
	}
	s.mail.Raw = string(raw)
	s.mu.Lock()
	s.taken = append(s.taken, s.mail)
	s.mu.Unlock()
	if s.Dropped {
		return s.conn.Conn().Close()
	}
	return nil
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}
func (quiet) Println(...any)        {}
