package mail

import (
	"bytes"
	"context"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/url"
	"strings"
	"testing"

	"github.com/emersion/go-smtp"
	"github.com/google/uuid"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/smtptest"
)

const sender = "Tiere & Müller <notices@example.org>"

func message() Message {
	return Message{
		ID: uuid.MustParse("8e03978e-40d5-43e8-bc93-6894a57f9324"), To: "ops@acme.example",
		Subject: "Key nightly ends", Text: ".\nKey „ä“\n", HTML: "<p>Key „ä“</p>",
		Unsubscribe: "https://api.example.com/account/mail/unsubscribe?t=x",
	}
}

// to returns a transport to a relay.
func to(t *testing.T, r *smtptest.Relay, user *url.Userinfo) *SMTP {
	t.Helper()
	scheme := map[bool]string{false: "smtp", true: "smtps"}[r.Implicit]
	from, err := ParseFrom(sender)
	assert.NoError(t, err)
	s, err := NewSMTP((&url.URL{Scheme: scheme, User: user, Host: r.Addr}).String(), from)
	assert.NoError(t, err)
	s.tls.RootCAs = r.Pool(t)
	return s
}

var login = url.UserPassword(smtptest.User, smtptest.Password)

// TestSending: a mail comes as it was made, over TLS, with the headers of a notice and no others.
func TestSending(t *testing.T) {
	t.Parallel()
	for _, o := range []smtptest.Options{{}, {Implicit: true}, {Login: true}} {
		r := smtptest.New(t, o)
		s := to(t, r, login)
		assert.NoError(t, s.Check(t.Context()))
		assert.Equal(t, s.Send(t.Context(), message()), Result{Outcome: Sent})
		assert.Equal(t, to(t, r, nil).Send(t.Context(), message()), Result{Outcome: Sent}, "without a login")
		taken := r.Taken()
		assert.Equal(t, len(taken), 2)
		assert.Equal(t, taken[0].From+" "+taken[0].To, "notices@example.org ops@acme.example")
		m, err := mail.ReadMessage(strings.NewReader(taken[0].Raw))
		assert.NoError(t, err)
		for name, want := range map[string]string{
			"Message-Id":     "<8e03978e-40d5-43e8-bc93-6894a57f9324@example.org>",
			"Auto-Submitted": "auto-generated", "Subject": "Key nightly ends", "To": "<ops@acme.example>",
			"From": mime.BEncoding.Encode("utf-8", "Tiere & Müller") + " <notices@example.org>", "Mime-Version": "1.0",
			"List-Unsubscribe":      "<https://api.example.com/account/mail/unsubscribe?t=x>",
			"List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
		} {
			assert.Equal(t, m.Header.Get(name), want, name)
			delete(m.Header, name)
		}
		date, err := m.Header.Date()
		assert.True(t, err == nil && date.Location().String() == "UTC", err, date)
		delete(m.Header, "Date")
		kind, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
		assert.Result(t, kind, err, "multipart/alternative")
		delete(m.Header, "Content-Type")
		assert.Equal(t, len(m.Header), 0, m.Header)
		parts := multipart.NewReader(m.Body, params["boundary"])
		const utf8 = "; charset=UTF-8 "
		for _, want := range []string{"plain" + utf8 + message().Text, "html" + utf8 + message().HTML} {
			p, err := parts.NextRawPart()
			assert.NoError(t, err)
			text, err := io.ReadAll(quotedprintable.NewReader(p))
			got := p.Header.Get("Content-Type") + " " + strings.ReplaceAll(string(text), "\r\n", "\n")
			assert.Result(t, got, err, "text/"+want)
		}
	}
}

// TestOutcomes: whose a failure is. What is said has codes, and nothing that the relay wrote.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	answer := func(code int, enhanced ...int) func(string) error {
		return func(string) error {
			if enhanced == nil {
				return smtptest.Answer(code, smtp.NoEnhancedCode)
			}
			return smtptest.Answer(code, smtp.EnhancedCode(enhanced))
		}
	}
	for name, test := range map[string]struct {
		smtptest.Options
		want Result
	}{
		"no STARTTLS": {smtptest.Options{Plain: true}, Result{RelayDown, "the relay offers no STARTTLS"}},
		"sender 5xx": {smtptest.Options{Mail: answer(550, 5, 7, 1)},
			Result{RelayDown, "the relay does not take the sender: 550 5.7.1"}},
		"sender 4xx": {smtptest.Options{Mail: answer(451)},
			Result{RelayDown, "the relay does not take the sender: 451"}},
		"full": {smtptest.Options{Rcpt: answer(452, 4, 2, 2)},
			Result{Later, "the relay does not take the address: 452 4.2.2"}},
		"no such address": {smtptest.Options{Rcpt: answer(550, 5, 1, 1)},
			Result{Refused, "the relay does not take the address: 550 5.1.1"}},
		"no such address, in short": {smtptest.Options{Rcpt: answer(550)},
			Result{Refused, "the relay does not take the address: 550"}},
		"relay access denied": {smtptest.Options{Rcpt: answer(554, 5, 7, 1)},
			Result{Later, "the relay does not take the address: 554 5.7.1"}},
		"mail 5xx": {smtptest.Options{Data: answer(554, 5, 6, 0)},
			Result{Failed, "the relay does not take the mail: 554 5.6.0"}},
		"mail 4xx": {smtptest.Options{Data: answer(451)}, Result{Later, "the relay does not take the mail: 451"}},
	} {
		s := to(t, smtptest.New(t, test.Options), login)
		assert.Equal(t, s.Send(t.Context(), message()), test.want, name)
		assert.Equal(t, s.Check(t.Context()) == nil, !test.Plain, name)
	}
}

// TestDrops: a mail is tried again if the connection ends in it or after it, with the same
// Message-ID, and never ends early as if it were whole.
func TestDrops(t *testing.T) {
	t.Parallel()
	large := message()
	large.Text = strings.Repeat("all work and no play\n", 1<<18)
	for _, o := range []smtptest.Options{{Drop: true}, {Dropped: true}} {
		r := smtptest.New(t, o)
		for _, m := range []Message{message(), large, message()} {
			got := to(t, r, login).Send(t.Context(), m)
			assert.True(
				t,
				got.Outcome == Later && strings.HasPrefix(got.Said, "the relay does not take the mail: "),
				got,
			)
		}
		taken := r.Taken()
		if o.Drop {
			assert.Equal(t, len(taken), 0)
			continue
		}
		assert.Equal(t, len(taken), 3)
		id := "Message-ID: <8e03978e-40d5-43e8-bc93-6894a57f9324@example.org>\r\n"
		assert.Equal(t, strings.Count(taken[0].Raw, id)+strings.Count(taken[2].Raw, id), 2)
	}
}

// TestRelays: what is wrong with the relay, its certificate or the login holds all mail, and is said
// without the password.
func TestRelays(t *testing.T) {
	t.Parallel()
	r := smtptest.New(t, smtptest.Options{})
	want := func(s *SMTP, said string) {
		t.Helper()
		got := s.Send(t.Context(), message())
		assert.True(
			t,
			got.Outcome == RelayDown && strings.HasPrefix(got.Said, said) && !strings.Contains(got.Said, "word"),
			got,
		)
		assert.Equal(t, s.Check(t.Context()).Error(), got.Said)
	}
	want(to(t, r, url.UserPassword(smtptest.User, "password")), "the relay refuses the login: 535 5.7.8")
	s := to(t, r, login)
	s.tls.RootCAs = nil
	want(s, "TLS with the relay failed: tls: failed to verify certificate: x509: ")
	s = to(t, r, login)
	s.implicit = true
	want(s, "TLS with the relay failed: ")
	s.addr = "127.0.0.1:1"
	want(s, "the relay can't be reached: dial tcp 127.0.0.1:1: ")

	l, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NoError(t, err)
	defer l.Close()
	s.addr, s.implicit = l.Addr().String(), false
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // It accepts, says nothing, and then the sender is stopped.
		if c, err := l.Accept(); err == nil {
			defer c.Close()
			cancel()
			_, _ = c.Read(make([]byte, 1))
		}
	}()
	assert.Equal(t, s.Send(ctx, message()).Outcome, RelayDown, "a silent relay")
	assert.Equal(t, len(r.Taken()), 0)
}

// TestInjection: what people wrote adds neither a header, nor a line to the exchange, nor an address.
func TestInjection(t *testing.T) {
	t.Parallel()
	r := smtptest.New(t, smtptest.Options{})
	s := to(t, r, login)
	m := message()
	m.Subject = "x\r\nBcc: other@example.org\r\n\r\nbody\u2028\u202ereversed"
	m.Text = "x\r\n.\r\nMAIL FROM:<other@example.org>\r\n"
	assert.Equal(t, s.Send(t.Context(), m), Result{Outcome: Sent})
	for _, address := range []string{
		"ops@acme.example\r\nBcc: other@example.org", "ops@acme.example>\r\nRCPT TO:<other@example.org",
		"ops@acme.example, other@example.org", "<ops@acme.example>", "a\r\n@acme.example", "",
	} {
		m.To = address
		got := s.Send(t.Context(), m)
		assert.True(t, got.Outcome == Failed, address, got)
	}
	m.To, m.Unsubscribe = "ops@acme.example", "https://x\r\nBcc: other@example.org"
	assert.Equal(t, s.Send(t.Context(), m).Outcome, Failed)
	taken := r.Taken()
	assert.Equal(t, len(taken), 1)
	got, err := mail.ReadMessage(strings.NewReader(taken[0].Raw))
	assert.NoError(t, err)
	assert.Equal(t, got.Header.Get("Bcc"), "")
	assert.Equal(t, got.Header.Get("Subject"), "x  Bcc: other@example.org    body  reversed")
	body, err := io.ReadAll(got.Body)
	assert.NoError(t, err)
	assert.True(t, bytes.Contains(body, []byte("\r\n.\r\nMAIL FROM:")), string(body))
}

// TestSettings: URLs of relays and senders that are taken, and errors that show none of them.
func TestSettings(t *testing.T) {
	t.Parallel()
	for relay, addr := range map[string]string{
		"smtp://relay.example": "relay.example:587", "smtps://relay.example/": "relay.example:465",
		"smtp://u:p%40ss@relay.example:2525": "relay.example:2525", "smtps://u:p@[2001:db8::1]": "[2001:db8::1]:465",
	} {
		s, err := NewSMTP(relay, nil)
		assert.NoError(t, err, relay)
		assert.Equal(t, s.addr, addr)
		assert.True(t, !strings.Contains(relay, "%40") || s.password == "p@ss", s.password)
	}
	for _, relay := range []string{
		"", "relay.example:587", "http://relay.example", "smtp://", "smtp://u@relay.example", "smtp://:p@relay.example",
		"smtp://relay.example/x", "smtp://relay.example?tls=off", "smtp://u:p@ss@relay.example:x", "smtp:relay.example",
	} {
		_, err := NewSMTP(relay, nil)
		assert.ErrorIs(t, err, ErrURL, relay)
	}
	for _, from := range []string{
		"", "notices", "a@example.org, b@example.org", "x\r\ny <a@example.org>", "ü@example.org",
	} {
		_, err := ParseFrom(from)
		assert.ErrorIs(t, err, ErrFrom, from)
	}
	from, err := ParseFrom("Bücher <notices@BÜCHER.example>")
	assert.NoError(t, err)
	assert.Equal(t, *from, mail.Address{Name: "Bücher", Address: "notices@xn--bcher-kva.example"})
}
