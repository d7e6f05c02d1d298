package webhooks

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"code.dny.dev/ssrf"
)

// The reasons of failed attempts that customers see. The errors themselves name addresses, which
// may be inside: those of resolvers, or those to which a name leads.
const (
	saidRefused     = "the host name leads to an address that is not public"
	saidNoHost      = "the host name was not found"
	saidLookup      = "the host name could not be looked up"
	saidTimeout     = "no complete answer within 10 seconds"
	saidOtherName   = "the certificate is for another host name"
	saidCertificate = "the certificate is not valid: expired, or its issuer is unknown"
	saidTLS         = "TLS 1.2 or later could not be agreed on"
	saidNoListener  = "the connection was refused"
	saidUnreachable = "no connection could be made"
	saidClosed      = "the connection was closed before the answer was complete"
	saidRedirect    = "redirects are not followed"
	saidAnswer      = "the answer is not HTTP/1.1, or its header is larger than 16 KiB"
)

// said returns why an attempt failed, "" if its status says it.
func said(err error, status int) string {
	switch {
	case err == nil && status >= 300 && status < 400:
		return saidRedirect
	case err == nil:
		return ""
	case errors.Is(err, ssrf.ErrProhibitedIP), errors.Is(err, ssrf.ErrProhibitedPort),
		errors.Is(err, ssrf.ErrProhibitedNetwork):
		return saidRefused
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return saidTimeout
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if dns.IsNotFound {
			return saidNoHost
		}
		return saidLookup
	}
	if said := saidOfTLS(err); said != "" {
		return said
	}
	switch op, ok := errors.AsType[*net.OpError](err); {
	case errors.Is(err, syscall.ECONNREFUSED):
		return saidNoListener
	case ok && op.Op == "dial":
		return saidUnreachable
	case ok, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), strings.Contains(err.Error(), "EOF"):
		return saidClosed
	}
	return saidAnswer
}

// saidOfTLS returns why TLS failed, "" if it did not.
func saidOfTLS(err error) string {
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return saidOtherName
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return saidCertificate
	}
	_, alert := errors.AsType[tls.AlertError](err)
	_, record := errors.AsType[tls.RecordHeaderError](err)
	if alert || record || strings.Contains(err.Error(), "tls: ") {
		return saidTLS
	}
	return ""
}
