package webhooks

import (
	"context"
	"net"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"petstore.example/internal/test/assert"
)

// nameserver answers questions with the address that lookup returns, and returns its resolver.
func nameserver(t *testing.T, lookup func(name string) netip.Addr) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	assert.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		buffer := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			if answer := answerTo(buffer[:n], lookup); answer != nil {
				_, _ = conn.WriteTo(answer, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func answerTo(query []byte, lookup func(string) netip.Addr) []byte {
	var m dnsmessage.Message
	if m.Unpack(query) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	m.Response, m.Additionals = true, nil
	addr := lookup(strings.TrimSuffix(q.Name.String(), "."))
	header := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET}
	switch {
	case !addr.IsValid():
		m.RCode = dnsmessage.RCodeNameError
	case addr.Is4() && q.Type == dnsmessage.TypeA:
		m.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: addr.As4()}}}
	case addr.Is6() && q.Type == dnsmessage.TypeAAAA:
		m.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AAAAResource{AAAA: addr.As16()}}}
	}
	answer, _ := m.Pack()
	return answer
}

// useNameserver makes a sender look names up there, and keeps its rules.
func (s *Sender) useNameserver(rules *Rules, resolver *net.Resolver) {
	dialer := net.Dialer{Control: rules.guard.Safe, Resolver: resolver}
	s.connect = dialer.DialContext
}

// inside are the addresses to which no request goes.
var inside = []string{
	"0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1", "192.0.0.1",
	"192.0.2.1", "192.168.1.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "240.0.0.1", "255.255.255.255", "::",
	"::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::7f00:1", "100::1", "2001::1", "2001:db8::1",
	"2002:7f00:1::1", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "ff02::1",
	"93.184.216.34", "2606:2800::1", // denied by configuration
}

// TestNothingInsideIsReached: neither as a literal address nor as that of a name, and the reason
// names no address.
func TestNothingInsideIsReached(t *testing.T) {
	t.Parallel()
	names := map[string]netip.Addr{}
	for i, text := range inside {
		names[string(rune('a'+i%26))+strings.Repeat("x", i)+".test"] = netip.MustParseAddr(text)
	}
	s := newSender(t, public)
	s.useNameserver(public, nameserver(t, func(name string) netip.Addr { return names[name] }))
	for name, addr := range names {
		for _, host := range []string{name, addr.String()} {
			r := s.once(t, "https://"+net.JoinHostPort(host, "443"))
			assert.Equal(t, r.Outcome, Failed, addr)
			assert.Equal(t, r.Said, saidRefused, addr)
		}
		host := addr.String()
		if addr.Is6() {
			host = "[" + host + "]"
		}
		_, err := CheckURL("https://"+host, public)
		assert.Equal(t, err, error(RefusedAddress), addr)
	}
	for _, outside := range []string{"1.1.1.1", "2606:4700::1111"} {
		assert.NoError(t, public.guard.SafeAddr(netip.MustParseAddr(outside)))
	}
	assert.NoError(t, public.guard.Safe("tcp4", "1.1.1.1:8443", nil))
	assert.Equal(t, s.once(t, "https://1.1.1.1:80").Said, saidRefused)
}

// TestNamesAreJudgedAtEachConnection: a name that led outside when somebody looked leads inside
// now. The control is a sender that may go there.
func TestNamesAreJudgedAtEachConnection(t *testing.T) {
	t.Parallel()
	to := newReceiver(t, nil)
	var moved atomic.Bool
	resolver := nameserver(t, func(name string) netip.Addr {
		if name == "hooks.example.com" && moved.Load() {
			return netip.MustParseAddr("127.0.0.1")
		}
		return netip.MustParseAddr("1.1.1.1")
	})
	found, err := resolver.LookupHost(t.Context(), "hooks.example.com")
	assert.NoError(t, err)
	assert.DeepEqual(t, found, []string{"1.1.1.1"})
	moved.Store(true)
	for _, c := range []struct {
		rules *Rules
		want  Outcome
	}{
		{NewRules(nil, nil), Failed}, {LocalRules(), Delivered},
	} {
		s := newSender(t, c.rules)
		s.tls.RootCAs = to.roots
		s.useNameserver(c.rules, resolver)
		r := s.once(t, to.url("hooks.example.com"))
		assert.Equal(t, r.Outcome, c.want, r.Said)
	}
	assert.Equal(t, to.got.Load(), 1, "requests")
}

// TestNamesAreLookedUpAsTheyAre: a search list of a cluster would make api.default a service
// inside.
func TestNamesAreLookedUpAsTheyAre(t *testing.T) {
	t.Parallel()
	s := newSender(t, public)
	s.connect = func(_ context.Context, _, address string) (net.Conn, error) {
		assert.Equal(t, address, "api.default.:443")
		return nil, net.ErrClosed
	}
	s.once(t, "https://api.default")
	s.useNameserver(public, nameserver(t, func(string) netip.Addr { return netip.Addr{} }))
	for _, name := range []string{"nobody.test", "2130706433", "0x7f000001", "0177.0.0.1", "127.1"} {
		assert.Equal(t, s.once(t, "https://"+name).Said, saidNoHost, name)
	}
}

// TestLocalhost: petstore dev finds it, which is in /etc/hosts and in no DNS.
func TestLocalhost(t *testing.T) {
	t.Parallel()
	to := httptest.NewServer(status(204))
	t.Cleanup(to.Close)
	r := newSender(t, LocalRules()).once(t, strings.Replace(to.URL, "127.0.0.1", "localhost", 1))
	assert.Equal(t, r.Outcome, Delivered, r.Said)
}
