package cmdutil

import (
	"fmt"
	"strings"
)

// didYouMean is "; did you mean …?", or nothing when no known name is near.
func didYouMean(name string, known []string) string {
	if near := closest(name, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// closest returns the known name that is nearest to the given one, and "" when none is near enough to have been meant:
// about one wrong letter in three, or the beginning of it, or else one that the given name begins with.
func closest(name string, known []string) string {
	name = strings.ToLower(name)
	best, least := "", min((len(name)+2)/3, 3)+1
	for _, k := range known {
		d := distance(name, strings.ToLower(k))
		if len(name) >= 3 && strings.HasPrefix(strings.ToLower(k), name) {
			d = min(d, 1)
		}
		if d < least {
			best, least = k, d
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

// distance is how many letters must be added, dropped, replaced or swapped with their neighbour to make b of a
// (optimal string alignment).
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
