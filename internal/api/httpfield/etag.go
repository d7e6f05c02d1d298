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

// NoneMatch reports whether If-None-Match (RFC 9110, section 13.1.2) names the tag, by weak comparison: then the client has
// the current content. What follows a mistake in a list is ignored.
func NoneMatch(values []string, tag string) bool {
	for _, list := range values {
		if strings.Trim(list, " \t") == "*" {
			return true
		}
		for {
			list = strings.TrimLeft(list, " \t,")
			opaque, rest, ok := cutTag(strings.TrimPrefix(list, "W/"))
			if !ok {
				break
			}
			if opaque == tag {
				return true
			}
			list = strings.TrimLeft(rest, " \t")
			if list == "" || list[0] != ',' {
				break
			}
		}
	}
	return false
}

// cutTag splits s after the opaque tag, quotes included, with which it begins.
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
