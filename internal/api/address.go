package api

import (
	"net/http"
	"net/netip"
	"strings"
)

// Address returns the client's address, unmapped and without a zone; the zero Addr if it is
// unknown.
func (x *exchange) Address() netip.Addr {
	if !x.proxied || len(x.Request.Header["X-Forwarded-For"]) == 0 {
		return peer(x.Request.RemoteAddr)
	}
	withoutPorts(x.Request.Header)
	addr, _ := netip.ParseAddr(x.ClientIP()) // zero with the error
	return addr.Unmap().WithZone("")
}

// peer returns the IP address in an address with a port, the zero Addr if there is none.
func peer(remote string) netip.Addr {
	at, _ := netip.ParseAddrPort(remote) // zero with the error
	return at.Addr().Unmap().WithZone("")
}

// maxForwarded is how many items of X-Forwarded-For are read, from its end: the proxies write
// there, and the client wrote the others.
const maxForwarded = 32

// withoutPorts removes the ports from X-Forwarded-For. Some proxies write 192.0.2.1:1234 or
// [2001:db8::1]:1234, which Gin does not accept as an address. Only the last maxForwarded items are
// kept, because reading 30,000 would take milliseconds.
func withoutPorts(h http.Header) {
	text := strings.Join(h["X-Forwarded-For"], ",")
	from := len(text)
	for n := 0; n < maxForwarded && from >= 0; n++ {
		from = strings.LastIndexByte(text[:from], ',')
	}
	items := strings.Split(text[from+1:], ",")
	for i, item := range items {
		if a, err := netip.ParseAddrPort(strings.TrimSpace(item)); err == nil {
			items[i] = a.Addr().String()
		}
	}
	h["X-Forwarded-For"] = []string{strings.Join(items, ",")}
}
