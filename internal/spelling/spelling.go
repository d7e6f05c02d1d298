// Package spelling measures how far a word is from another one, to find what somebody meant who misspelt it. Its functions are safe for
// concurrent use.
package spelling

// Distance is the number of characters to insert, delete, replace or swap with their neighbor to turn a into b (optimal string alignment).
// It counts bytes.
func Distance(a, b string) int {
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
