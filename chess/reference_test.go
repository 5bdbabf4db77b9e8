package chess

import (
	"sort"
	"strings"
)

// reference is a second implementation of the rules that shares nothing with
// the first: an array of letters, moves tried one by one and taken back when
// the king can be captured. It is slow, obvious, and the judge of random
// games, Chess960 included.
type reference struct {
	squares  [64]byte // FEN letters, '.' for empty
	white    bool
	rights   map[int]bool // squares of rooks that may castle
	passing  int          // en passant square or -1
	chess960 bool
}

// newReference reads a FEN that ParseFEN has accepted and written.
func newReference(fen string) *reference {
	fields := strings.Fields(fen)
	r := &reference{white: fields[1] == "w", rights: map[int]bool{}, passing: -1}
	for i, row := range strings.Split(fields[0], "/") {
		file := 0
		for _, c := range []byte(row) {
			if c >= '1' && c <= '8' {
				for range c - '0' {
					r.squares[(7-i)*8+file] = '.'
					file++
				}
				continue
			}
			r.squares[(7-i)*8+file] = c
			file++
		}
	}
	for _, c := range []byte(strings.Trim(fields[2], "-")) {
		rank := 0
		if c >= 'a' {
			rank = 56
		}
		switch c | 0x20 {
		case 'k':
			r.rights[rank+7] = true
		case 'q':
			r.rights[rank] = true
		default:
			r.rights[rank+int(c|0x20-'a')] = true
			r.chess960 = true
		}
	}
	if fields[3] != "-" {
		r.passing = int(fields[3][1]-'1')*8 + int(fields[3][0]-'a')
	}
	return r
}

func (r *reference) mine(s int, white bool) bool {
	c := r.squares[s]
	return c != '.' && (c < 'a') == white
}

var (
	straightSteps = [][2]int{{0, 1}, {1, 0}, {0, -1}, {-1, 0}}
	diagonalSteps = [][2]int{{1, 1}, {1, -1}, {-1, 1}, {-1, -1}}
	allSteps      = append(append([][2]int{}, straightSteps...), diagonalSteps...)
	knightLeaps   = [][2]int{{1, 2}, {2, 1}, {-1, 2}, {-2, 1}, {1, -2}, {2, -1}, {-1, -2}, {-2, -1}}
)

func shift(s int, step [2]int) int {
	file, rank := s%8+step[0], s/8+step[1]
	if file < 0 || file > 7 || rank < 0 || rank > 7 {
		return -1
	}
	return rank*8 + file
}

// reach lists the squares that the piece on s attacks.
func (r *reference) reach(s int) (targets []int) {
	steps, far := allSteps, true
	switch r.squares[s] | 0x20 {
	case 'p':
		up := 1
		if r.squares[s] >= 'a' {
			up = -1
		}
		steps, far = [][2]int{{-1, up}, {1, up}}, false
	case 'n':
		steps, far = knightLeaps, false
	case 'k':
		far = false
	case 'b':
		steps = diagonalSteps
	case 'r':
		steps = straightSteps
	}
	for _, step := range steps {
		for t := shift(s, step); t >= 0; t = shift(t, step) {
			targets = append(targets, t)
			if !far || r.squares[t] != '.' {
				break
			}
		}
	}
	return targets
}

func (r *reference) attacked(s int, byWhite bool) bool {
	for from := range 64 {
		if r.mine(from, byWhite) {
			for _, t := range r.reach(from) {
				if t == s {
					return true
				}
			}
		}
	}
	return false
}

func (r *reference) kingOf(white bool) int {
	letter := byte('k')
	if white {
		letter = 'K'
	}
	return strings.IndexByte(string(r.squares[:]), letter)
}

// legal returns the legal moves in UCI, sorted.
func (r *reference) legal() (moves []string) {
	for from := range 64 {
		if !r.mine(from, r.white) {
			continue
		}
		for _, to := range r.targets(from) {
			if !r.safe(from, to) {
				continue
			}
			uci := Square(from).String() + Square(to).String()
			if r.squares[from]|0x20 == 'p' && (to < 8 || to > 55) {
				moves = append(moves, uci+"q", uci+"r", uci+"b", uci+"n")
				continue
			}
			moves = append(moves, uci)
		}
	}
	moves = append(moves, r.castlings()...)
	sort.Strings(moves)
	return moves
}

// targets lists where the piece on from could go, ignoring checks.
func (r *reference) targets(from int) (targets []int) {
	pawn := r.squares[from]|0x20 == 'p'
	for _, to := range r.reach(from) {
		if pawn && !r.mine(to, !r.white) && to != r.passing || r.mine(to, r.white) {
			continue
		}
		targets = append(targets, to)
	}
	if !pawn {
		return targets
	}
	step, home := 8, 1
	if !r.white {
		step, home = -8, 6
	}
	if r.squares[from+step] == '.' {
		targets = append(targets, from+step)
		if from/8 == home && r.squares[from+2*step] == '.' {
			targets = append(targets, from+2*step)
		}
	}
	return targets
}

// safe tries a move and reports whether the king cannot be taken after it.
func (r *reference) safe(from, to int) bool {
	next := *r
	if next.squares[from]|0x20 == 'p' && to == r.passing {
		next.squares[from/8*8+to%8] = '.'
	}
	next.squares[to], next.squares[from] = next.squares[from], '.'
	return !next.attacked(next.kingOf(r.white), !r.white)
}

func (r *reference) castlings() (moves []string) {
	king := r.kingOf(r.white)
	for rook := range r.rights {
		if !r.mine(rook, r.white) {
			continue
		}
		home := king / 8 * 8
		kingTo, rookTo := home+2, home+3
		if rook > king {
			kingTo, rookTo = home+6, home+5
		}
		next := *r
		next.squares[king], next.squares[rook] = '.', '.'
		good := true
		for s := min(king, kingTo, rook, rookTo); s <= max(king, kingTo, rook, rookTo); s++ {
			onWay := s >= min(king, kingTo) && s <= max(king, kingTo) || s >= min(rook, rookTo) &&
				s <= max(rook, rookTo)
			good = good && (!onWay || next.squares[s] == '.')
		}
		// On its way the king passes over squares while the rook is still in its corner; at
		// the end both are on their targets.
		walk := *r
		walk.squares[king] = '.'
		for s := min(king, kingTo); s <= max(king, kingTo); s++ {
			good = good && !walk.attacked(s, !r.white)
		}
		next.squares[kingTo], next.squares[rookTo] = r.squares[king], r.squares[rook]
		if !good || next.attacked(kingTo, !r.white) {
			continue
		}
		to := kingTo
		if r.chess960 {
			to = rook
		}
		moves = append(moves, Square(king).String()+Square(to).String())
	}
	return moves
}
