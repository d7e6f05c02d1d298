package reference

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strings"
	"time"
)

// Support is where customers reach the operator's support. Its parts may be empty. IssueKey is the
// command that issues keys if there is no support.
type Support struct{ URL, Email, IssueKey string }

// The example addresses in the documents. They stand for the operator's own.
const (
	exampleRoot         = "https://api.example.com"
	exampleSupportURL   = "https://support.example.org"
	exampleSupportEmail = "support@example.org"
)

// markup is how a kind of document writes code, and how it links to the support.
type markup struct {
	found      *regexp.Regexp
	link, code string
	escape     func(string) string
}

var (
	inMarkdown = markup{
		regexp.MustCompile(`\[([^\]]+)\]\(` + regexp.QuoteMeta(exampleSupportURL) + `\)`),
		"[%s](%s)",
		"`%s`",
		asIs,
	}
	inJSON = markup{inMarkdown.found, inMarkdown.link, inMarkdown.code, jsonText}
	inHTML = markup{
		regexp.MustCompile(
			`<a href="` + regexp.QuoteMeta(exampleSupportURL) + `">([^<]+)</a>`,
		),
		`<a href="%[2]s">%[1]s</a>`,
		"<code>%s</code>",
		html.EscapeString,
	}
	// contactLine is a line of info.contact.
	contactLine = regexp.MustCompile(
		`(?m)^ +(?:url: ` + regexp.QuoteMeta(
			exampleSupportURL,
		) + `|email: ` + regexp.QuoteMeta(
			exampleSupportEmail,
		) + `)\n`,
	)
)

func asIs(s string) string { return s }

// jsonText returns a text as it is written within a JSON string.
func jsonText(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // Encoding a string never fails.
	return strings.Trim(b.String(), "\"\n")
}

// in returns a document with the addresses of this support. If there are none, links to them become
// plain text.
func (s Support) in(document string, m markup) string {
	link := func(text, url string) string { return fmt.Sprintf(m.link, text, url) }
	name, mail := "Support", ""
	if s.IssueKey != "" {
		name = s.IssueKey
		command := m.escape(name)
		document = strings.NewReplacer(
			link("Our support", exampleSupportURL)+" issues keys",
			fmt.Sprintf(m.code, command)+" issues keys",
			"Our support{{mail}} issues keys",
			command+" issues keys",
		).Replace(document)
		document = strings.Replace(document, "  contact:\n    name: Support\n", "  contact:\n    name: "+name+"\n", 1)
	}
	contact := `{"name": "` + jsonText(name) + `"`
	if s.URL != "" {
		contact += `, "url": "` + jsonText(s.URL) + `"`
	}
	if s.Email != "" {
		contact += `, "email": "` + jsonText(s.Email) + `"`
	}
	document = contactLine.ReplaceAllStringFunc(document, func(line string) string {
		if s.URL == "" && strings.Contains(line, exampleSupportURL) ||
			s.Email == "" && strings.Contains(line, exampleSupportEmail) {
			return ""
		}
		return line
	})
	url, email := m.escape(s.URL), m.escape(s.Email)
	to := func(text string) string {
		switch {
		case url != "" && email != "":
			return link(text, url) + " (" + link(email, "mailto:"+email) + ")"
		case email != "":
			return link(text, "mailto:"+email)
		case url == "":
			return text
		}
		return link(text, url)
	}
	if url != "" && email != "" {
		mail = " (" + email + ")"
	}
	document = m.found.ReplaceAllStringFunc(document, func(found string) string {
		return to(m.found.FindStringSubmatch(found)[1])
	})
	return strings.NewReplacer(
		exampleSupportURL,
		url,
		exampleSupportEmail,
		email,
		"{{mail}}",
		mail,
		"{{contact}}",
		contact+"}",
	).Replace(document)
}

// securityAddress is the project's own address, for a deployment without support.
const securityAddress = "security@petstore.example"

// securityText is security.txt (RFC 9116). It expires half a year after the beginning of the
// current day.
func securityText(s Support, root string, now time.Time) []byte {
	var b bytes.Buffer
	if s.URL != "" {
		fmt.Fprintf(&b, "Contact: %s\n", s.URL)
	}
	if address := s.Email; address != "" || b.Len() == 0 {
		fmt.Fprintf(&b, "Contact: mailto:%s\n", cmp.Or(address, securityAddress))
	}
	expires := now.UTC().Truncate(24*time.Hour).AddDate(0, 6, 0)
	fmt.Fprintf(
		&b,
		"Expires: %s\nPreferred-Languages: en\nCanonical: %s/.well-known/security.txt\n",
		expires.Format(time.RFC3339),
		root,
	)
	return b.Bytes()
}
