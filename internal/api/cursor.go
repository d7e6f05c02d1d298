package api

import (
	"math"
	"strconv"
)

// cursorLength is the length of a cursor: the id behind which a page begins, in lower-case hexadecimal digits. Every
// string of that form is a position in the list, so a cursor never expires and grants nothing.
const cursorLength = 16

// formatCursor returns the position behind an id, which is at least 0.
func formatCursor(id int64) string {
	var b [cursorLength]byte
	for i := range b {
		b[cursorLength-1-i] = "0123456789abcdef"[id&15]
		id >>= 4
	}
	return string(b[:])
}

// parseCursor returns the id behind which the page begins. Positions past the last possible id are its end.
func parseCursor(s string) (after int64, ok bool) {
	if len(s) != cursorLength {
		return 0, false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return 0, false
		}
	}
	n, err := strconv.ParseUint(s, 16, 64)
	return int64(min(n, math.MaxInt64)), err == nil
}
