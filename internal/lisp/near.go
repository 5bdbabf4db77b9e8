package lisp

// longestName bounds the work of Nearest.
const longestName = 64

// Nearest returns the known name that name most likely means: the one with the fewest differing
// letters, at most a third of its letters and at most three. Names of one or two letters have
// none.
func Nearest(name string, known []string) (string, bool) {
	best, limit := "", min(3, len(name)/3)
	for _, k := range known {
		if gap := len(k) - len(name); gap > limit || -gap > limit {
			continue
		}
		if d := Distance(name, k); d <= limit && d > 0 {
			best, limit = k, d-1
		}
	}
	return best, best != ""
}

// Distance returns the number of edits between two names: a letter added, dropped or changed,
// or two neighbours swapped. Names of more than 64 bytes have distance 1<<30 to all names.
func Distance(a, b string) int {
	if len(a) > longestName || len(b) > longestName {
		return 1 << 30
	}
	var rows [3][longestName + 1]int // the row before the last, the last row, this row
	for j := range len(b) {
		rows[1][j+1] = j + 1
	}
	for i := range len(a) {
		two, one, row := &rows[i%3], &rows[(i+1)%3], &rows[(i+2)%3]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(one[j]+cost, one[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], two[j-1]+1)
			}
		}
	}
	return rows[(len(a)+1)%3][len(b)]
}
