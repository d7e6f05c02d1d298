package httpfield

import "strings"

// PrefersStrict reports whether Prefer asks for handling=strict (RFC 7240, sections 2 and 4.4).
// Only the first preference for handling counts. After a mistake the rest is ignored.
func PrefersStrict(values []string) bool {
	for _, list := range values {
		for list != "" {
			var name, value string
			var ok bool
			if name, value, list, ok = cutPreference(list); !ok {
				break
			}
			if strings.EqualFold(name, "handling") {
				return strings.EqualFold(value, "strict")
			}
		}
	}
	return false
}

// cutPreference reads the first preference of a list, token [= (token / quoted-string)] *(;
// parameter), and skips its parameters. The name of an empty element is empty.
func cutPreference(list string) (name, value, rest string, ok bool) {
	name, value, rest, ok = cutParameter(list)
	for ok && strings.HasPrefix(rest, ";") {
		_, _, rest, ok = cutParameter(rest[1:])
	}
	switch {
	case !ok:
		return "", "", "", false
	case rest == "":
		return name, value, "", true
	}
	return name, value, strings.TrimPrefix(rest, ","), rest[0] == ','
}

// cutParameter reads [token [= (token / quoted-string)]] and the white space around it.
func cutParameter(s string) (name, value, rest string, ok bool) {
	name, rest = CutToken(strings.TrimLeft(s, " \t"))
	rest = strings.TrimLeft(rest, " \t")
	if !strings.HasPrefix(rest, "=") {
		return name, "", rest, true
	}
	rest = strings.TrimLeft(rest[1:], " \t")
	ok = true
	if strings.HasPrefix(rest, `"`) {
		value, rest, ok = cutQuoted(rest)
	} else {
		value, rest = CutToken(rest)
	}
	return name, value, strings.TrimLeft(rest, " \t"), ok && name != ""
}

// CutToken splits s after the token at its beginning (RFC 9110, section 5.6.2).
func CutToken(s string) (token, rest string) {
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return s[:i], s[i:]
		}
	}
	return s, ""
}

// cutQuoted splits s after the quoted string at its beginning, and unquotes it.
func cutQuoted(s string) (text, rest string, ok bool) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:], true
		case '\\':
			if i++; i == len(s) {
				return "", "", false
			}
		}
		b.WriteByte(s[i])
	}
	return "", "", false
}
