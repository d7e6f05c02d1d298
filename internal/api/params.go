package api

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"petstore.example/internal/api/problem"
	"petstore.example/internal/catalog"
)

// The size of a page (the contract's).
const (
	defaultLimit = 20
	maxLimit     = 100
)

// listRequest is a request for a list: for at most limit rows after an ID, with the status unless
// that is empty.
type listRequest[S ~string] struct {
	listQuery
	after    int64
	pageSize int
	status   S
	// filters are the filters of animals besides the status.
	filters catalog.Page
}

// listQuery is the query of a list as the client wrote it.
type listQuery struct {
	limitParam, statusParam, cursorParam parameter
	// filters are the values of petFilters. filterText is their text in links and in the page
	// cache's key.
	filters    [len(petFilters)]parameter
	filtered   bool
	filterText string
	// hasOthers is set if there are unknown parameters. They change nothing. No response repeats
	// their values, because one may be a key.
	hasOthers bool
}

// parseListRequest reads the query of a list that has the known parameters. parse accepts a status,
// and statuses lists them for the message. position reads a cursor. The error names all invalid
// parameters.
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
			return r, problem.InvalidCursor.Err()
		} else if !ok {
			p.add(strings.TrimSuffix(problem.InvalidCursor.Message, "."))
		}
	}
	if len(p) > 0 {
		return r, p.err()
	}
	return r, nil
}

// parseListQuery reads a query (application/x-www-form-urlencoded) as url.ParseQuery does, but
// without a map of the known parameters.
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
			return q, problem.InvalidParameter.WithMessage(malformedQuery)
		}
		q.addParam(key, value, known)
	}
	return q, nil
}

func (q *listQuery) addParam(key, value string, known []string) {
	p, joined := q.parameterOf(key)
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

// parameterOf returns the parameter with the name key, nil if no list has one. joined says whether
// several of its values are joined into one.
func (q *listQuery) parameterOf(key string) (p *parameter, joined bool) {
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

// appendLinks appends the list's links (RFC 8288): to the next page, unless the cursor next is
// empty, and to the first. Both keep the other known parameters. The query must be valid.
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

// readFilters reads the filters in the query, and adds their mistakes to p. It returns the page
// that they select, and their text as a query.
func (q *listQuery) readFilters(p *problems) (page catalog.Page, text string) {
	for i, f := range petFilters {
		if !p.given(f.name, q.filters[i]) {
			continue
		}
		value, must := f.set(&page, q.filters[i].value)
		if must != "" {
			p.add(f.name + " must " + must)
		}
		if text != "" {
			text += "&"
		}
		text += f.name + "=" + value
	}
	return page, text
}
