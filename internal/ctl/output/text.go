package output

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/text"

	"petstore.example/internal/spelling"
)

// Text is a value for programs: times in RFC 3339, numbers as digits, nothing for none.
func Text(v any) string {
	switch v := v.(type) {
	case string:
		return Clean(v)
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case *int64:
		if v != nil {
			return strconv.FormatInt(*v, 10)
		}
	case time.Time:
		if !v.IsZero() {
			return v.UTC().Format(time.RFC3339)
		}
	case instant:
		return v.in(nil)
	case []string:
		return Clean(strings.Join(v, ","))
	case json.RawMessage:
		return Clean(string(v))
	}
	return ""
}

// text is Text, with times in the printer's zone.
func (p Printer) text(v any) string {
	switch t := v.(type) {
	case time.Time:
		return instant{t, time.RFC3339}.in(p.Zone)
	case instant:
		return t.in(p.Zone)
	}
	return Text(v)
}

// human is a value for people: on a terminal, times are relative to now and digits are in groups of
// three.
func (p Printer) human(v any) string {
	if p.TTY {
		switch v := v.(type) {
		case time.Time:
			if !v.IsZero() && p.Zone == nil {
				return relative(v, p.Now)
			}
		case instant:
			if text := v.in(p.Zone); text != "" && strings.HasPrefix(v.layout, time.DateOnly+" ") &&
				v.Sub(p.Now).Abs() < fortnight {
				return weekday(v.Time, p.Zone) + " " + text
			}
		case int64:
			return Thousands(v)
		case *int64:
			if v != nil {
				return Thousands(*v)
			}
		}
	}
	if s := p.text(v); s != "" {
		return s
	}
	return "-"
}

// Clean removes characters that move a terminal's cursor, color it, change the direction of text or
// hide in it. So names and reasons are printed as text and nothing else.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return visible(r)
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// cleanLines is Clean, but keeps line ends and tabs.
func cleanLines(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return visible(r)
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// visible returns -1 for a character to remove.
func visible(r rune) rune {
	if r != '\u200C' && r != '\u200D' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
		return -1 // joiners stay, which some scripts and emoji need
	}
	return r
}

// Thousands is a number with its digits in groups of three.
func Thousands(n int64) string { return spelling.Thousands(n) }

// NumberOrNil is nil for 0, which stands for no limit.
func NumberOrNil(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// Count is "1 server" or "2 servers".
func Count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

const day = 24 * time.Hour

// fortnight is how far from now people name a day by its weekday.
const fortnight = 14 * day

// weekday is Mon to Sun, in the zone (nil for UTC).
func weekday(t time.Time, zone *time.Location) string {
	return t.In(cmp.Or(zone, time.UTC)).Format("Mon")
}

// units are the steps of relative times, the largest first.
var units = []struct {
	length time.Duration
	name   string
}{
	{365 * day, "year"}, {30 * day, "month"}, {day, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"},
}

// relative is the distance of a time from now, in its largest whole unit. Within a fortnight, days
// follow the weekday.
func relative(t, now time.Time) string {
	d := t.Sub(now)
	for _, u := range units {
		n := int64(d.Abs() / u.length)
		prefix := ""
		if u.length == day && d.Abs() < fortnight {
			prefix = weekday(t, nil) + " "
		}
		switch {
		case n == 0:
			continue
		case d > 0:
			return prefix + "in " + Count(n, u.name)
		}
		return prefix + Count(n, u.name) + " ago"
	}
	if d > 0 {
		return "in a moment"
	}
	return "just now"
}

// Wrap breaks the lines of a text at words to fit the width. A command at the end of a line stays
// whole, to be copied: it gets a line of its own, which begins with the indent.
func Wrap(s string, width int, indent string) string {
	var lines []string
	for line := range strings.SplitSeq(s, "\n") {
		if utf8.RuneCountInString(line) <= width {
			lines = append(lines, line)
			continue
		}
		command := ""
		if at := strings.LastIndex(line, " petstorectl "); at >= 0 {
			line, command = line[:at], "\n"+indent+line[at+1:]
		}
		for part := range strings.SplitSeq(text.WrapSoft(line, width), "\n") {
			lines = append(lines, strings.TrimRight(part, " "))
		}
		lines[len(lines)-1] += command
	}
	return strings.Join(lines, "\n")
}

// Milliseconds is a duration as the log writes it.
func Milliseconds(d time.Duration) json.RawMessage {
	return json.RawMessage(strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', -1, 64))
}
