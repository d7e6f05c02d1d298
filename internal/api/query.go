package api

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"petstore.example/internal/api/problem"
)

// parameter is the last value of a query parameter, and how often the query has it.
type parameter struct {
	value string
	times int
}

func lastOf(values []string) parameter {
	p := parameter{times: len(values)}
	if p.times > 0 {
		p.value = values[p.times-1]
	}
	return p
}

const malformedQuery = "The query is malformed: a % must be followed by two hexadecimal digits, and parameters are " +
	"separated by &."

// problems collects the mistakes in a query, so that the error names all of them.
type problems []string

func (p *problems) add(problem string) { *p = append(*p, problem) }

// err returns the error that names all problems.
func (p *problems) err() *problem.Error {
	return problem.InvalidParameter.WithMessage(strings.Join(*p, "; ") + ".")
}

// given reports whether the query has a parameter. If it has the parameter more than once, given
// adds a problem and returns false.
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

// parseID reads an int64 in its usual form: no plus sign, no leading zeros.
func parseID(s string) (int64, bool) {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || digits[0] == '+' || digits[0] == '0' && len(digits) > 1 {
		return 0, false
	}
	id, err := strconv.ParseInt(s, 10, 64)
	return id, err == nil
}

var instantForm = regexp.MustCompile(`T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// parseInstant reads a date and time of RFC 3339, section 5.6, in which t and z may be lower case.
// time.Parse accepts more: a comma before the fraction, an hour of one digit, an offset of 24
// hours.
func parseInstant(s string) (at time.Time, ok bool) {
	s = strings.ToUpper(s)
	at, err := time.Parse(time.RFC3339, s)
	return at, err == nil && instantForm.MatchString(s)
}
