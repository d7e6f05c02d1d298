package httpfield

import (
	"math"
	"strconv"
	"strings"
)

// cursorLength is the length of a cursor: the ID after which a page begins, in lowercase
// hexadecimal digits. Every string of that form is a position in the list, so a cursor never
// expires and grants nothing.
const cursorLength = 16

// FormatCursor returns the position after an ID, which is at least 0.
func FormatCursor(id int64) string {
	var b [cursorLength]byte
	for i := range b {
		b[cursorLength-1-i] = "0123456789abcdef"[id&15]
		id >>= 4
	}
	return string(b[:])
}

// ParseCursor returns the ID after which the page begins. A position after the last possible ID is
// the end of the list.
func ParseCursor(s string) (after int64, ok bool) {
	n, err := strconv.ParseUint(s, 16, 64)
	if err != nil || len(s) != cursorLength || s != strings.ToLower(s) {
		return 0, false
	}
	return int64(min(n, math.MaxInt64)), true
}
