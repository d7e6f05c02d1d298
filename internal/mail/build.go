package mail

import (
	"bytes"
	"net/mail"
	"strings"
	"time"
	"unicode"

	gomail "github.com/wneessen/go-mail"
)

// built is a mail as a relay takes it.
type built struct {
	to  string
	raw []byte
}

// build makes the mail of a message from from.
func build(from *mail.Address, m Message) (built, error) {
	to, err := ParseAddress(m.To)
	if err != nil {
		return built{}, err
	}
	b := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	b.FromMailAddress(from)
	if err = b.To(to); err != nil {
		return built{}, err
	}
	b.Subject(oneLine(m.Subject))
	b.SetDateWithValue(time.Now().UTC())
	b.SetMessageIDWithValue(m.ID.String() + "@" + domainOf(from))
	b.SetGenHeader("Auto-Submitted", "auto-generated")
	if m.Unsubscribe != "" {
		if err = b.SetListUnsubscribeOneClick(m.Unsubscribe); err != nil {
			return built{}, err
		}
	}
	b.SetBodyString(gomail.TypeTextPlain, m.Text)
	b.AddAlternativeString(gomail.TypeTextHTML, m.HTML)
	var raw bytes.Buffer
	_, err = b.WriteTo(&raw)
	return built{to, raw.Bytes()}, err
}

// domainOf returns what is behind the @.
func domainOf(a *mail.Address) string { return a.Address[strings.LastIndexByte(a.Address, '@')+1:] }

// oneLine returns a text with a blank in place of each control character, line end and invisible
// character.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) && !unicode.IsSpace(r) {
			return r
		}
		return ' '
	}, text)
}
