package httpfield

import "strings"

// maxIdempotencyKey is the longest key, in characters.
const maxIdempotencyKey = 255

// ParseIdempotencyKey reads the value of Idempotency-Key: 1 to 255 visible ASCII characters, bare
// or as a string of structured fields (RFC 9651, section 3.3.3;
// draft-ietf-httpapi-idempotency-key-header-07). Both forms are the same key.
func ParseIdempotencyKey(value string) (key string, ok bool) {
	key = strings.Trim(value, " \t")
	if strings.HasPrefix(key, `"`) {
		text, rest, ok := cutQuoted(key)
		// In a string of structured fields, only quotes and backslashes are escaped.
		if !ok || rest != "" || escape.Replace(text) != key[1:len(key)-1] {
			return "", false
		}
		key = text
	}
	if len(key) == 0 || len(key) > maxIdempotencyKey {
		return "", false
	}
	for i := range len(key) {
		if key[i] < 0x21 || key[i] > 0x7e {
			return "", false
		}
	}
	return key, true
}

// escape writes the text of a string of structured fields.
var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
