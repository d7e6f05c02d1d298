package reference

import (
	"bytes"
	"regexp"
)

// Support is where customers reach the operator's support. Its parts may be empty. IssueKey is the command that issues keys in its place.
type Support struct{ URL, Email, IssueKey string }

// The addresses in the documents, which stand for the operator's own.
const (
	exampleSupportURL   = "https://support.example.org"
	exampleSupportEmail = "support@example.org"
)

var (
	// contact and issuer are replaced by IssueKey.
	contact     = []byte("  contact:\n    name: Support\n")
	issuer      = []byte("[Our support](" + exampleSupportURL + ") issues keys")
	supportLink = regexp.MustCompile(`\[([^\]]+)\]\(` + regexp.QuoteMeta(exampleSupportURL) + `\)`)
	// contactLine is a line of info.contact.
	contactLine = regexp.MustCompile(`(?m)^ +(?:url: ` + regexp.QuoteMeta(exampleSupportURL) + `|email: ` + regexp.QuoteMeta(exampleSupportEmail) + `)\n`)
)

// in returns a document with the addresses of this support. Without any, its links are plain text.
func (s Support) in(document []byte) []byte {
	if s.IssueKey != "" {
		document = bytes.Replace(document, contact, []byte("  contact:\n    name: "+s.IssueKey+"\n"), 1)
		document = bytes.ReplaceAll(document, issuer, []byte("`"+s.IssueKey+"` issues keys"))
	}
	document = contactLine.ReplaceAllFunc(document, func(line []byte) []byte {
		if s.URL == "" && bytes.Contains(line, []byte(exampleSupportURL)) || s.Email == "" && bytes.Contains(line, []byte(exampleSupportEmail)) {
			return nil
		}
		return line
	})
	link := "[$1](" + s.URL + ")"
	switch {
	case s.URL != "" && s.Email != "":
		link += " ([" + s.Email + "](mailto:" + s.Email + "))"
	case s.Email != "":
		link = "[$1](mailto:" + s.Email + ")"
	case s.URL == "":
		link = "$1"
	}
	document = supportLink.ReplaceAll(document, []byte(link))
	document = bytes.ReplaceAll(document, []byte(exampleSupportURL), []byte(s.URL))
	return bytes.ReplaceAll(document, []byte(exampleSupportEmail), []byte(s.Email))
}
