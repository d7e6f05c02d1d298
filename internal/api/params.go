package api

import (
	"net/url"
	"strconv"
	"strings"

	"petstore.example/internal/catalog"
)

// The page's size (the contract's).
const (
	defaultLimit = 20
	maxLimit     = 100
)

// listParams reads the query of a list of animals. The values are all parameters, also those that we don't know:
// links keep them.
func listParams(rawQuery string) (catalog.Page, url.Values, error) {
	page := catalog.Page{Limit: defaultLimit}
	if rawQuery == "" {
		return page, nil, nil
	}
	values, err := url.ParseQuery(rawQuery)
	if err != nil {
		return page, nil, codeInvalidParameter.because("The query can't be read: a % must be followed by two hexadecimal " +
			"digits, and parameters are separated by &.")
	}
	var p problems
	if s, ok := p.single(values, "limit"); ok {
		page.Limit = p.limit(s)
	}
	if s, ok := p.single(values, "status"); ok {
		if page.Status, ok = catalog.ParseStatus(s); !ok {
			p.add("status must be one of available, pending, sold")
		}
	}
	badCursor := false
	if s, ok := p.single(values, "cursor"); ok {
		page.After, ok = parseCursor(s)
		badCursor = !ok
	}
	return page, values, p.error(badCursor)
}

// single returns the parameter's value when it is given, once.
func (p *problems) single(values url.Values, name string) (string, bool) {
	given := values[name]
	if len(given) > 1 {
		p.add(name + " must be given only once")
	}
	if len(given) != 1 {
		return "", false
	}
	return given[0], true
}

// limit reads a whole number without sign or leading zeros, from 1 to 100.
func (p *problems) limit(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > maxLimit || s[0] == '+' || s[0] == '0' {
		p.add("limit must be a whole number from 1 to " + strconv.Itoa(maxLimit))
	}
	return n
}

func (p *problems) error(badCursor bool) error {
	switch {
	case badCursor && len(*p) == 0:
		return codeInvalidCursor.because("")
	case badCursor:
		p.add(strings.TrimSuffix(codeInvalidCursor.message, "."))
	case len(*p) == 0:
		return nil
	}
	return codeInvalidParameter.because(p.String())
}
