package cmdutil

import (
	"fmt"
	"strings"
)

// didYouMean is "; did you mean …?", or nothing if no known name is similar.
func didYouMean(name string, known []string) string {
	if found := closest(name, known); found != "" {
		return fmt.Sprintf("; did you mean %q?", found)
	}
	return ""
}

// closest returns the known name that was probably meant, "" for none: the one with the smallest distance, up to about
// one wrong letter in three; or one that begins with the given name; or the longest that the given name begins with.
func closest(name string, known []string) string {
	name = strings.ToLower(name)
	best, smallest := "", min((len(name)+2)/3, 3)+1
	for _, k := range known {
		d := distance(name, strings.ToLower(k))
		if len(name) >= 3 && strings.HasPrefix(strings.ToLower(k), name) {
			d = min(d, 1)
		}
		if d < smallest {
			best, smallest = k, d
		}
	}
	if best != "" {
		return best
	}
	for _, k := range known {
		if len(k) >= 3 && len(k) > len(best) && strings.HasPrefix(name, strings.ToLower(k)) {
			best = k
		}
	}
	return best
}

// distance is the number of letters to insert, delete, replace or swap with their neighbor to turn a into b (optimal
// string alignment).
func distance(a, b string) int {
	before, previous := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := previous[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(row[j-1]+1, previous[j]+1, replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, previous = previous, row
	}
	return previous[len(b)]
}
