package mail

import (
	"context"
	"errors"
	"net/mail"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/net/idna"
)

// Message is one mail to one address.
type Message struct {
	// ID makes the Message-ID. It is the same at each attempt.
	ID uuid.UUID
	// To is an address, as ParseAddress returns it.
	To                  string
	Subject, Text, HTML string
	// Unsubscribe is the https URL of One-Click (RFC 8058), "" for none.
	Unsubscribe string
}

// Outcome is what came of an attempt to send a mail.
type Outcome string

// The outcomes.
const (
	Sent Outcome = "sent"
	// Refused: the relay refuses the address for good.
	Refused Outcome = "refused"
	// Failed: the relay refuses this mail for good, or the mail can't be made.
	Failed Outcome = "failed"
	// Later: it may succeed later. If the connection ended after the mail was written, the relay may
	// have taken it: it is then sent twice, with the same Message-ID.
	Later Outcome = "later"
	// RelayDown: the relay takes no mail at all from us.
	RelayDown Outcome = "relay"
)

// Result is an outcome, and why in words for staff.
type Result struct {
	Outcome Outcome
	Said    string
}

// Transport sends mails. It returns when the relay has taken a mail or not, or, with Later or
// RelayDown, when ctx ends.
type Transport interface {
	Send(ctx context.Context, m Message) Result
}

// Mailbox is the address of a tenant, and the mails about events, the newest first.
type Mailbox struct {
	// Address is empty if there is none. State is unasked, waiting, confirmed, refused or
	// unsubscribed.
	Address, State string
	Mails          []Told
}

// Told is a mail about an event.
type Told struct {
	Event uuid.UUID `json:"event"`
	Type  string    `json:"type"`
	At    time.Time `json:"at"`
	// Status is waiting, sent, refused, failed or dropped.
	Status string `json:"status"`
}

// maxAddress is the most bytes of an address (RFC 5321).
const maxAddress = 254

// Errors of ParseAddress.
var (
	ErrAddress = errors.New("is no e-mail address such as ops@example.org, without a name or comment")
	ErrASCII   = errors.New("has letters before the @ that many mail servers do not take: want ASCII")
)

// domains are the names after the @: idna.Lookup does not look at their length.
var domains = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.VerifyDNSLength(true))

// ParseAddress returns an address with its domain as A-labels in lower case. The error completes
// "the address …".
func ParseAddress(s string) (string, error) {
	parsed, err := mail.ParseAddress(s)
	if err != nil || parsed.Address != s { // It has a name, a comment, or quotes.
		return "", ErrAddress
	}
	at := strings.LastIndexByte(s, '@')
	local, domain := s[:at], s[at+1:]
	if domain, err = domains.ToASCII(domain); err != nil {
		return "", ErrAddress
	}
	if strings.ContainsFunc(local, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return "", ErrASCII
	}
	if s = local + "@" + domain; len(s) > maxAddress {
		return "", ErrAddress
	}
	return s, nil
}
