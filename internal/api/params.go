package api

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"petstore.example/internal/catalog"
)

// The size of a page (the contract's).
const (
	defaultLimit = 20
	maxLimit     = 100
)

// listRequest is what a list operation asks for: at most limit rows after an ID, of one status
// unless it is empty.
type listRequest[S ~string] struct {
	listQuery
	after    int64
	pageSize int
	status   S
	// filters are the filters of animals beside the status.
	filters catalog.Page
}

// listQuery is the query of a list as the client wrote it.
type listQuery struct {
	limitParam, statusParam, cursorParam parameter
	// filters are those of petFilters, filterText how links and the page cache write them.
	filters    [len(petFilters)]parameter
	filtered   bool
	filterText string
	// hasOthers is set if there are unknown parameters. They change nothing, and no response
	// repeats their values: one may be a key.
	hasOthers bool
}

// parameter is the last value given, and how often the parameter was given.
type parameter struct {
	value string
	times int
}

// parseListRequest reads the query of a list, which has the known parameters, and whose statuses
// are those that parse accepts; statuses lists them for the message. position reads a cursor. The
// error names all invalid parameters.
func parseListRequest[S ~string](
	x *exchange, known []string, position func(string) (int64, bool), parse func(string) (S, bool), statuses string,
) (r listRequest[S], err error) {
	if r.listQuery, err = parseListQuery(x.Request.URL.RawQuery, known); err != nil {
		return r, err
	}
	r.pageSize = defaultLimit
	var p problems
	if r.hasOthers {
		x.checkUnknown(&p, known)
	}
	var ok bool
	if p.given("limit", r.limitParam) {
		if r.pageSize, ok = parseNumber(r.limitParam.value, 1, maxLimit); !ok {
			p.add("limit must be an integer from 1 to " + strconv.Itoa(maxLimit))
		}
	}
	if p.given("status", r.statusParam) {
		if r.status, ok = parse(r.statusParam.value); !ok {
			p.add("status must be one of " + statuses)
		}
	}
	if r.filtered {
		r.filters, r.filterText = r.readFilters(&p)
	}
	if p.given("cursor", r.cursorParam) {
		if r.after, ok = position(r.cursorParam.value); !ok && len(p) == 0 {
			return r, codeInvalidCursor.err()
		} else if !ok {
			p.add(strings.TrimSuffix(codeInvalidCursor.message, "."))
		}
	}
	if len(p) > 0 {
		return r, p.err()
	}
	return r, nil
}

// parseListQuery reads a query (application/x-www-form-urlencoded) as url.ParseQuery does, but
// makes no map for known parameters.
func parseListQuery(raw string, known []string) (q listQuery, err error) {
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
			return q, codeInvalidParameter.withMessage(malformedQuery)
		}
		q.addParam(key, value, known)
	}
	return q, nil
}

const malformedQuery = "The query is malformed: a % must be followed by two hexadecimal digits, and parameters are " +
	"separated by &."

func (q *listQuery) addParam(key, value string, known []string) {
	p, joined := q.param(key)
	if p == nil || !slices.Contains(known, key) {
		q.hasOthers = true
		return
	}
	if joined && p.times > 0 {
		p.value += "," + value
		return
	}
	p.value = value
	p.times++
}

// param returns nil if no list has such a parameter, and whether several of its values are joined.
func (q *listQuery) param(key string) (p *parameter, joined bool) {
	switch key {
	case "limit":
		return &q.limitParam, false
	case "status":
		return &q.statusParam, false
	case "cursor":
		return &q.cursorParam, false
	}
	for i, f := range petFilters {
		if f.name == key {
			q.filtered = true
			return &q.filters[i], f.joined
		}
	}
	return nil, false
}

// problems collects what is wrong with a query, so that the error names all of it.
type problems []string

func (p *problems) add(problem string) { *p = append(*p, problem) }

// err returns the error that names all problems.
func (p *problems) err() *Error {
	return codeInvalidParameter.withMessage(strings.Join(*p, "; ") + ".")
}

// given reports whether a parameter was given once.
func (p *problems) given(name string, q parameter) bool {
	if q.times > 1 {
		p.add(name + " must be given only once")
	}
	return q.times == 1
}

// parseNumber reads an integer from least to most, without sign or leading zeros.
func parseNumber(s string, least, most int) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && least <= n && n <= most && '1' <= s[0] && s[0] <= '9'
}

// appendLinks appends the list's links (RFC 8288): the next page, unless its cursor is empty, and
// the first. They keep the other known parameters. The query must be valid.
func (q *listQuery) appendLinks(b []byte, list, next string) []byte {
	if next != "" {
		b = append(q.appendTarget(b, list, next), `; rel="next", `...)
	}
	return append(q.appendTarget(b, list, ""), `; rel="first"`...)
}

func (q *listQuery) appendTarget(b []byte, list, cursor string) []byte {
	b = append(append(b, '<'), list...)
	separator := byte('?')
	for _, p := range [...]struct{ name, value string }{
		{"cursor=", cursor}, {"limit=", q.limitParam.value}, {"status=", q.statusParam.value}, {"", q.filterText},
	} {
		if p.value != "" {
			b = append(append(append(b, separator), p.name...), p.value...)
			separator = '&'
		}
	}
	return append(b, '>')
}
