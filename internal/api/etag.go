package api

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// tagLength is how much of a digest makes an ETag, in base64url: 132 bits.
const tagLength = 22

// tag returns the strong ETag (RFC 9110, section 8.8.3) of a page whose body was encoded. The cursor of the page that
// follows belongs to it: when a row comes behind a full last page, the body stays as it was, and Link does not.
func (e *encoder) tag(next string) string {
	body := e.Len()
	_ = e.WriteByte(0)
	_, _ = e.WriteString(next)
	digest := sha256.Sum256(e.Bytes())
	e.Truncate(body)
	var text [1 + 24]byte
	base64.RawURLEncoding.Encode(text[1:], digest[:18])
	text[0], text[1+tagLength] = '"', '"'
	return string(text[:1+tagLength+1])
}

// noneMatch reports whether If-None-Match (RFC 9110, section 13.1.2) names the tag, by weak comparison: then the client has
// what it asks for. What follows behind a mistake in a list is ignored.
func noneMatch(values []string, tag string) bool {
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

// cutTag splits s behind the opaque tag, quotes included, with which it begins.
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
