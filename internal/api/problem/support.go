package api

import (
	"errors"
	"net/url"
	"regexp"
)

// Support is where customers reach the operator's support. Its parts may be empty. They stand in
// messages, in YAML and in Markdown: CheckSupportURL and CheckSupportEmail accept only what means
// nothing in any of them. IssueKey is the command that issues keys where there is no support: on
// the machine of a developer. The documents name it.
type Support struct{ URL, Email, IssueKey string }

var (
	supportURL   = regexp.MustCompile(`^https://[A-Za-z0-9._~:/?#@!&+,=%-]*[A-Za-z0-9/_~=%-]$`)
	supportEmail = regexp.MustCompile(`^[A-Za-z0-9._+-]{1,64}@([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z]{2,}$`)
)

// CheckSupportURL returns an error that says what is wrong with the URL of a page, to be printed
// after its name. An empty one is right.
func CheckSupportURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case s == "":
		return nil
	case err != nil, !supportURL.MatchString(s), u.Host == "":
		return errors.New("must be absolute, begin with https:// and be percent-encoded")
	case u.User != nil:
		return errors.New("must have no user")
	}
	return nil
}

// CheckSupportEmail returns an error that says what is wrong with an e-mail address, to be printed
// after its name. An empty one is right.
func CheckSupportEmail(s string) error {
	if s == "" || len(s) <= 254 && supportEmail.MatchString(s) {
		return nil
	}
	return errors.New("must be an e-mail address alone, in ASCII")
}

// check returns an error that names the setting.
func (s Support) check() error {
	if err := CheckSupportURL(s.URL); err != nil {
		return errors.New("the support's URL " + err.Error())
	}
	if err := CheckSupportEmail(s.Email); err != nil {
		return errors.New("the support's e-mail address " + err.Error())
	}
	return nil
}

// String returns "our support", and after it the addresses in parentheses, if there are any.
func (s Support) String() string {
	switch {
	case s.URL != "" && s.Email != "":
		return "our support (" + s.URL + ", " + s.Email + ")"
	case s.URL != "" || s.Email != "":
		return "our support (" + s.URL + s.Email + ")"
	}
	return "our support"
}

// sentence returns " before our support (…) after." if there is an address, and otherwise nothing.
func (s Support) sentence(before, after string) string {
	if s.URL == "" && s.Email == "" {
		return ""
	}
	return " " + before + s.String() + after + "."
}
