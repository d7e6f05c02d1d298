package output

import (
	"strings"
	"time"
)

// Colors tells whether to color texts for a terminal. A color never says more than the text.
type Colors bool

// Codes of ECMA-48 (SGR).
const (
	bold   = "\x1b[1m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	reset  = "\x1b[0m"
)

// Bold is for headings.
func (c Colors) Bold(s string) string { return c.paint(bold, s) }

// Red marks what is refused, broken or dangerous.
func (c Colors) Red(s string) string { return c.paint(red, s) }

// Yellow marks what soon needs attention.
func (c Colors) Yellow(s string) string { return c.paint(yellow, s) }

// Status colors a word for a state. Other words are unchanged.
func (c Colors) Status(word string) string { return c.paint(statusColors[word], word) }

// soon is how long before its expiry a key is shown in yellow.
const soon = 30 * day

// color colors the cell of a value: a status by its word, an expiry by its distance.
func (p Printer) color(column string, value any, cell string) string {
	switch v := value.(type) {
	case string:
		if strings.HasSuffix(column, "status") || column == "state" || column == "verdict" || column == "environment" {
			return p.Colors.paint(statusColors[v], cell)
		}
	case time.Time:
		if left := v.Sub(p.Now); column == "expires_at" && left > 0 && left < soon {
			return p.Colors.Yellow(cell)
		}
	}
	return cell
}

func (c Colors) paint(code, s string) string {
	if !c || code == "" || s == "" {
		return s
	}
	return code + s + reset
}

// statusColors are the colors of the words in columns of a status, a state, a verdict or an
// environment.
var statusColors = map[string]string{
	"active":                 green,
	"ok":                     green,
	"admitted":               green,
	"intact":                 green,
	"up to date":             green,
	"verified":               green,
	"expiring":               yellow,
	"warn":                   yellow,
	"behind":                 yellow,
	"scheduled":              yellow,
	"suspended":              red,
	"revoked":                red,
	"expired":                red,
	"banned":                 red,
	"in force":               red,
	"fail":                   red,
	"failed":                 red,
	"broken":                 red,
	"altered":                red,
	"production":             red,
	"invalid_api_key":        red,
	"key_banned":             red,
	"daily_quota_exceeded":   red,
	"monthly_quota_exceeded": red,
	"rate_limit_exceeded":    red,
}

// ColorsFor follows the variables NO_COLOR, CLICOLOR and CLICOLOR_FORCE: https://no-color.org and
// https://bixense.com/clicolors.
func ColorsFor(terminal bool, getenv func(string) string) Colors {
	switch force := getenv("CLICOLOR_FORCE"); {
	case getenv("NO_COLOR") != "":
		return false
	case force != "" && force != "0":
		return true
	}
	return Colors(terminal && getenv("CLICOLOR") != "0" && getenv("TERM") != "dumb")
}
