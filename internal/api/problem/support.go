package problem

import (
	"errors"
	"net/url"
	"regexp"
)

// Support is where customers reach the operator's support. Its parts may be empty. They are
// inserted into messages, YAML and Markdown, so CheckSupportURL and CheckSupportEmail accept only
// text without a special meaning there. IssueKey is the command that issues keys where there is no
// support: on a developer's machine. The documents name it.
type Support struct{ URL, Email, IssueKey string }

var (
	supportURL   = regexp.MustCompile(`^https://[A-Za-z0-9._~:/?#@!&+,=%-]*[A-Za-z0-9/_~=%-]$`)
	supportEmail = regexp.MustCompile(`^[A-Za-z0-9._+-]{1,64}@([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z]{2,}$`)
)

// CheckSupportURL returns an error that says what is wrong with the URL of a page. The error is to
// be printed after the URL's name. An empty URL is valid.
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

// CheckSupportEmail returns an error that says what is wrong with an e-mail address. The error is
// to be printed after the address's name. An empty address is valid.
func CheckSupportEmail(s string) error {
	if s == "" || len(s) <= 254 && supportEmail.MatchString(s) {
		return nil
	}
	return errors.New("must be an e-mail address alone, in ASCII")
}

// Check returns an error that names the setting.
func (s Support) Check() error {
	if err := CheckSupportURL(s.URL); err != nil {
		return errors.New("the support's URL " + err.Error())
	}
	if err := CheckSupportEmail(s.Email); err != nil {
		return errors.New("the support's e-mail address " + err.Error())
	}
	return nil
}

// String returns "our support", followed by the addresses in parentheses if there are any.
func (s Support) String() string {
	switch {
	case s.URL != "" && s.Email != "":
		return "our support (" + s.URL + ", " + s.Email + ")"
	case s.URL != "" || s.Email != "":
		return "our support (" + s.URL + s.Email + ")"
	}
	return "our support"
}

// Sentence returns " before our support (…) after." if there is an address, otherwise "".
func (s Support) Sentence(before, after string) string {
	if s.URL == "" && s.Email == "" {
		return ""
	}
	return " " + before + s.String() + after + "."
}
