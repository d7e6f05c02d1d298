package api

import (
	"net/url"
	"strconv"
	"strings"
)

// The page's size (the contract's).
const (
	defaultLimit = 20
	maxLimit     = 100
)

// listQuery is the query of a list, as the client wrote it.
type listQuery struct {
	limit, status, cursor parameter
	// others are parameters that we don't know. They change nothing, and links keep them.
	others url.Values
}

// parameter is the last value given, and how often one was given.
type parameter struct {
	value string
	times int
}

// parseListQuery reads a query (application/x-www-form-urlencoded) as url.ParseQuery does, without a map for the
// parameters that there are.
func parseListQuery(raw string) (q listQuery, err error) {
	for raw != "" {
		var pair string
		pair, raw, _ = strings.Cut(raw, "&")
		if pair == "" {
			continue
		}
		key, value, _ := strings.Cut(pair, "=")
		key, err1 := url.QueryUnescape(key)
		value, err2 := url.QueryUnescape(value)
		if err1 != nil || err2 != nil || strings.Contains(pair, ";") {
			return q, codeInvalidParameter.withMessage("The query can't be read: a % must be followed by two hexadecimal " +
				"digits, and parameters are separated by &.")
		}
		q.add(key, value)
	}
	return q, nil
}

func (q *listQuery) add(key, value string) {
	var p *parameter
	switch key {
	case "limit":
		p = &q.limit
	case "status":
		p = &q.status
	case "cursor":
		p = &q.cursor
	default:
		if q.others == nil {
			q.others = url.Values{}
		}
		q.others.Add(key, value)
		return
	}
	p.value = value
	p.times++
}

// position is where a page begins and how long it is at most.
type position struct {
	after int64
	limit int
}

// page says which part of a list is asked for, and of which status its rows should be: those that parse knows, which
// statuses names. All that is wrong with the query is said at once.
func page[S ~string](q *listQuery, parse func(string) (S, bool), statuses string) (at position, status S, err error) {
	at.limit = defaultLimit
	var p problems
	var ok bool
	if p.given("limit", q.limit) {
		if at.limit, ok = parseLimit(q.limit.value); !ok {
			p.add("limit must be a whole number from 1 to " + strconv.Itoa(maxLimit))
		}
	}
	if p.given("status", q.status) {
		if status, ok = parse(q.status.value); !ok {
			p.add("status must be one of " + statuses)
		}
	}
	if p.given("cursor", q.cursor) {
		if at.after, ok = parseCursor(q.cursor.value); !ok && len(p) == 0 {
			return at, status, codeInvalidCursor.err()
		} else if !ok {
			p.add(strings.TrimSuffix(codeInvalidCursor.message, "."))
		}
	}
	if len(p) > 0 {
		return at, status, codeInvalidParameter.withMessage(p.String())
	}
	return at, status, nil
}

// given reports whether a parameter was given, once.
func (p *problems) given(name string, q parameter) bool {
	if q.times > 1 {
		p.add(name + " must be given only once")
	}
	return q.times == 1
}

// parseLimit reads a whole number without sign or leading zeros, from 1 to 100.
func parseLimit(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && 1 <= n && n <= maxLimit && '1' <= s[0] && s[0] <= '9'
}

// appendLinks appends the list's links (RFC 8288): the next page, unless its cursor is empty, and the first, with all other
// parameters as they were. The query has to be a good one.
func (q *listQuery) appendLinks(b []byte, list, next string) []byte {
	others := ""
	if q.others != nil {
		others = q.others.Encode()
	}
	if next != "" {
		b = append(q.appendTarget(b, list, next, others), `; rel="next", `...)
	}
	return append(q.appendTarget(b, list, "", others), `; rel="first"`...)
}

func (q *listQuery) appendTarget(b []byte, list, cursor, others string) []byte {
	b = append(append(b, '<'), list...)
	separator := byte('?')
	for _, p := range [...]struct{ name, value string }{{"cursor=", cursor}, {"limit=", q.limit.value}, {"status=", q.status.value}, {"", others}} {
		if p.value != "" {
			b = append(append(append(b, separator), p.name...), p.value...)
			separator = '&'
		}
	}
	return append(b, '>')
}
