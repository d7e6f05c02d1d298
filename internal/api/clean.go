package api

import (
	"regexp"
	"strings"

	"petstore.example/internal/spelling"
)

const (
	// maxMethod is how many bytes of a method an error repeats, maxShown how many of a path or
	// name.
	maxMethod = 20
	maxShown  = 100
	// maxCompared is the longest path or name, in bytes, that is compared with the known ones for a
	// similar spelling.
	maxCompared = 40
)

// keyLike matches a key, or the beginning of one, which somebody may have put into a path.
var keyLike = regexp.MustCompile(`pst_(?:live|test)_[0-9A-Za-z]+`)

// clean returns the beginning of a client's text, without keys, and with everything percent-encoded
// except visible ASCII.
func clean(text string, most int) string {
	const digits = "0123456789ABCDEF"
	text = keyLike.ReplaceAllLiteralString(text, "pst_***")
	var b strings.Builder
	for i := range len(text) {
		if b.Len() >= most {
			return b.String() + "..."
		}
		if c := text[i]; c > ' ' && c <= '~' {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}

// nearest returns the word with the most similar spelling, "" if each word differs by more than one
// character, or by more than one in ten.
func nearest(word string, words []string) (found string) {
	if len(word) > maxCompared {
		return ""
	}
	least := len(word)
	for _, w := range words {
		if d := spelling.Distance(word, w); d < least && d <= max(1, len(w)/10) {
			found, least = w, d
		}
	}
	return found
}
