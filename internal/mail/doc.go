// Package mail makes and sends the mails of tenants: words, links and headers, and the exchange with
// a relay (SMTP), or files in place of it. What is sent, to whom and when is decided elsewhere.
//
// Nothing that people wrote can add a header or an address: an address is parsed alone, control
// characters become blanks, and HTML is escaped. A link is of the configured site. A text for staff
// has neither a credential nor what a relay wrote, only its codes. All types are safe for concurrent
// use.
package mail
