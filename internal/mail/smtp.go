package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/wneessen/go-mail/smtp"
)

// exchangeTime is how long a mail may take, from the look-up of the relay's name to its last answer.
const exchangeTime = time.Minute

// Errors of settings.
var (
	ErrURL = errors.New(
		"want smtp://user:password@host:587, which demands STARTTLS, or smtps://user:password@host:465, " +
			"with all but letters and digits percent-encoded in user and password",
	)
	ErrFrom = errors.New("want an address such as notices@example.org, or Animal Store <notices@example.org>")
)

// SMTP sends by a relay, over TLS alone. Its connections use no proxy.
type SMTP struct {
	host, addr, user, password string
	// implicit: TLS begins at once, not by STARTTLS.
	implicit bool
	from     *mail.Address
	tls      *tls.Config
}

// ParseFrom reads the sender, with a name or without. The error is ErrFrom.
func ParseFrom(text string) (*mail.Address, error) {
	from, err := mail.ParseAddress(text)
	if err == nil {
		from.Address, err = ParseAddress(from.Address)
	}
	if err != nil {
		return nil, ErrFrom
	}
	return from, nil
}

// NewSMTP reads the URL of a relay. The error is ErrURL, and does not show it.
func NewSMTP(relay string, from *mail.Address) (*SMTP, error) {
	u, err := url.Parse(relay)
	if err != nil || u.Hostname() == "" || strings.Trim(u.Path, "/")+u.RawQuery+u.Fragment+u.Opaque != "" ||
		u.Scheme != "smtp" && u.Scheme != "smtps" {
		return nil, ErrURL
	}
	s := &SMTP{host: u.Hostname(), implicit: u.Scheme == "smtps", user: u.User.Username(), from: from}
	var has bool
	if s.password, has = u.User.Password(); has != (s.user != "") {
		return nil, ErrURL
	}
	port := u.Port()
	if port == "" {
		port = map[bool]string{false: "587", true: "465"}[s.implicit]
	}
	s.addr = net.JoinHostPort(s.host, port)
	s.tls = &tls.Config{ServerName: s.host, MinVersion: tls.VersionTLS12}
	return s, nil
}

// Send implements Transport.
func (s *SMTP) Send(ctx context.Context, m Message) Result {
	b, err := build(s.from, m)
	if err != nil {
		return Result{Failed, "the mail can't be made: " + err.Error()}
	}
	c, end, err := s.connect(ctx)
	defer end()
	if err == nil {
		err = at("the relay does not take the sender", c.Mail("<"+s.from.Address+">"))
	}
	if err != nil {
		return Result{RelayDown, err.Error()}
	}
	if err = c.Rcpt("<" + b.to + ">"); err != nil {
		return Result{ofRecipient(err), at("the relay does not take the address", err).Error()}
	}
	if err = write(c, b.raw); err != nil {
		outcome := Later
		if code, _ := codes(err); code >= 500 {
			outcome = Failed
		}
		return Result{outcome, at("the relay does not take the mail", err).Error()}
	}
	_ = c.Quit() // The relay has the mail.
	return Result{Outcome: Sent}
}

// write sends a mail. If it can't be written whole, nothing ends it: the relay drops what it has.
func write(c *smtp.Client, raw []byte) error {
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err = w.Write(raw); err != nil {
		return err
	}
	return w.Close()
}

// ofRecipient returns the outcome of an answer to RCPT. A code 5.7 is about a policy, such as "relay
// access denied", and not about the address.
func ofRecipient(err error) Outcome {
	if code, enhanced := codes(err); code >= 500 && !strings.HasPrefix(enhanced, "5.7.") {
		return Refused
	}
	return Later
}

// Check tries to connect and to sign in. The error says what failed, without a credential.
func (s *SMTP) Check(ctx context.Context) error {
	c, end, err := s.connect(ctx)
	defer end()
	if err == nil {
		_ = c.Quit()
	}
	return err
}

// connect returns a connection that can send. end, which is never nil, closes it; the end of ctx does
// too.
func (s *SMTP) connect(ctx context.Context) (c *smtp.Client, end func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, exchangeTime)
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.addr)
	if err != nil {
		return nil, cancel, at("the relay can't be reached", err)
	}
	end = func() { cancel(); _ = conn.Close() }
	context.AfterFunc(ctx, end)
	over := conn
	if s.implicit {
		secure := tls.Client(conn, s.tls)
		if err = secure.HandshakeContext(ctx); err != nil {
			return nil, end, at("TLS with the relay failed", err)
		}
		over = secure
	}
	if c, err = smtp.NewClient(over, s.host); err == nil {
		err = c.Hello(domainOf(s.from)) // This machine's name is nobody's business.
	}
	if err != nil {
		return nil, end, at("the relay does not greet", err)
	}
	c.SkipSMTPUTF8(true) // A relay behind it may not know it, and no address needs it.
	if !s.implicit {
		if ok, _ := c.Extension("STARTTLS"); !ok {
			return nil, end, errors.New("the relay offers no STARTTLS")
		}
		if err = c.StartTLS(s.tls); err != nil {
			return nil, end, at("TLS with the relay failed", err)
		}
	}
	return c, end, s.signIn(c)
}

// signIn authenticates if there is a user.
func (s *SMTP) signIn(c *smtp.Client) error {
	if s.user == "" {
		return nil
	}
	_, offered := c.Extension("AUTH")
	switch mechanisms := strings.Fields(strings.ToUpper(offered)); {
	case slices.Contains(mechanisms, "PLAIN"):
		return at("the relay refuses the login", c.Auth(smtp.PlainAuth("", s.user, s.password, s.host, false)))
	case slices.Contains(mechanisms, "LOGIN"):
		return at("the relay refuses the login", c.Auth(smtp.LoginAuth(s.user, s.password, s.host, false)))
	}
	return errors.New("the relay offers neither AUTH PLAIN nor AUTH LOGIN")
}

// at says what failed, with the codes of a relay's answer, and what the network or TLS says. What a
// relay wrote is left out: it may quote an address or a credential.
func at(what string, err error) error {
	if err == nil {
		return nil
	}
	if code, enhanced := codes(err); code != 0 {
		return errors.New(strings.TrimSpace(fmt.Sprintf("%s: %d %s", what, code, enhanced)))
	}
	if e, ok := errors.AsType[net.Error](err); ok {
		return fmt.Errorf("%s: %w", what, e)
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Errorf("%s: %w", what, e)
	}
	return errors.New(what + ": the connection ended")
}

// enhancedCode is that of RFC 3463.
var enhancedCode = regexp.MustCompile(`^[45]\.\d{1,3}\.\d{1,3}\b`)

// codes returns the code of a relay's answer, 0 for another error, and the enhanced one, if there is
// one.
func codes(err error) (code int, enhanced string) {
	answer, ok := errors.AsType[*textproto.Error](err)
	if !ok {
		return 0, ""
	}
	return answer.Code, enhancedCode.FindString(answer.Msg)
}
