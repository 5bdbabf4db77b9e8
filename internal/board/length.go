package board

// lengths counts the boards by how many plies their games have, so that the
// longest game is known at any time.
type lengths struct {
	boards  []int32 // by plies
	longest int
}

func (l *lengths) add(plies int) {
	for len(l.boards) <= plies {
		l.boards = append(l.boards, 0)
	}
	l.boards[plies]++
	l.longest = max(l.longest, plies)
}

func (l *lengths) remove(plies int) {
	l.boards[plies]--
	for l.longest > 0 && l.boards[l.longest] == 0 {
		l.longest--
	}
}

// Longest returns how many plies the longest game has that is not over.
func (p *Pool) Longest() int { return p.lengths.longest }
