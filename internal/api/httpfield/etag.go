package httpfield

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// tagLength is how many base64url characters of a digest make an ETag: 132 bits.
const tagLength = 22

// ETag returns a strong ETag (RFC 9110, section 8.8.3) of the content, in quotation marks.
func ETag(content []byte) string {
	digest := sha256.Sum256(content)
	var text [1 + 24]byte
	base64.RawURLEncoding.Encode(text[1:], digest[:18])
	text[0], text[1+tagLength] = '"', '"'
	return string(text[:1+tagLength+1])
}

// WeakETag returns the weak form of a strong ETag: the tag of the same content in another encoding.
func WeakETag(tag string) string { return weak + tag }

const weak = "W/"

// NoneMatch reports whether If-None-Match (RFC 9110, section 13.1.2) names the tag, by weak
// comparison: then the client has the current content, in some encoding. If a list has a mistake,
// the rest is ignored.
func NoneMatch(values []string, tag string) bool {
	return match(values, strings.TrimPrefix(tag, weak), false) == Matches
}

// Match compares If-Match (RFC 9110, section 13.1.1) with the tag, by strong comparison. If a list
// has a mistake, the rest is ignored.
func Match(values []string, tag string) MatchResult { return match(values, tag, true) }

// MatchResult says whether a list of tags has the current one. Only Matches fulfils If-Match.
type MatchResult int

// The results. MatchesWeakly: the list has the tag only in its weak form. NoTag: the list has no
// tag at all.
const (
	NoTag MatchResult = iota
	Differs
	MatchesWeakly
	Matches
)

func match(values []string, tag string, strong bool) (result MatchResult) {
	for _, list := range values {
		if strings.Trim(list, " \t") == "*" {
			return Matches
		}
		for {
			list = strings.TrimLeft(list, " \t,")
			candidate, isWeak := strings.CutPrefix(list, weak)
			opaque, rest, ok := cutTag(candidate)
			switch {
			case !ok:
			case opaque != tag:
				result = max(result, Differs)
			case isWeak && strong:
				result = MatchesWeakly
			default:
				return Matches
			}
			list = strings.TrimLeft(rest, " \t")
			if !ok || list == "" || list[0] != ',' {
				break
			}
		}
	}
	return result
}

// cutTag splits s after the opaque tag at its beginning, including the quotes.
func cutTag(s string) (tag, rest string, ok bool) {
	if s == "" || s[0] != '"' {
		return "", s, false
	}
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return s[:i+1], s[i+1:], true
		case c < 0x21, c == 0x7f:
			return "", s, false
		}
	}
	return "", s, false
}
