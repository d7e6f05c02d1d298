package api

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The bounds of the filters of animals.
const (
	maxIDs        = 100
	maxNamePrefix = 100 // characters
)

// petFilters are the filters that only the list of animals has. They combine by AND, also with status.
type petFilters struct {
	// ids are in ascending order and each is there once; nil for all.
	ids        []int64
	categoryID *int64
	name       string
	// text is the filters as a query that means the same. It shares no memory with the request.
	text string
}

// parsePetFilters reads the filters that were given, and adds what is wrong with them.
func parsePetFilters(p *problems, q *listQuery) (f petFilters) {
	var ok bool
	text := url.Values{}
	if p.given("categoryId", q.categoryParam) {
		id, ok := parseID(q.categoryParam.value)
		if !ok {
			p.add("categoryId must be a 64-bit integer")
		}
		f.categoryID = &id
		text.Set("categoryId", strconv.FormatInt(id, 10))
	}
	if p.given("ids", q.idsParam) {
		if f.ids, ok = parseIDs(q.idsParam.value); !ok {
			p.add("ids must be 1 to " + strconv.Itoa(maxIDs) + " 64-bit integers separated by commas, as in ids=7,42")
		}
	}
	if p.given("name", q.nameParam) {
		f.name = strings.Clone(q.nameParam.value)
		if !isNamePrefix(f.name) {
			p.add("name must be the first 1 to " + strconv.Itoa(maxNamePrefix) + " characters of a name, in UTF-8 and without NUL")
		}
		text.Set("name", f.name)
	}
	f.text = text.Encode()
	if f.ids != nil {
		// Commas need no escape, which would make a link of a hundred IDs long.
		if f.text != "" {
			f.text += "&"
		}
		f.text += "ids=" + joinIDs(f.ids)
	}
	return f
}

// parseIDs reads integers separated by commas. It returns them in ascending order, each once.
func parseIDs(s string) ([]int64, bool) {
	if strings.Count(s, ",") >= maxIDs {
		return nil, false
	}
	var ids []int64
	for text := range strings.SplitSeq(s, ",") {
		id, ok := parseID(text)
		if !ok {
			return nil, false
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return slices.Compact(ids), true
}

func joinIDs(ids []int64) string {
	var b []byte
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, id, 10)
	}
	return string(b)
}

func isNamePrefix(s string) bool {
	return s != "" && utf8.RuneCountInString(s) <= maxNamePrefix && utf8.ValidString(s) && strings.IndexByte(s, 0) < 0
}
