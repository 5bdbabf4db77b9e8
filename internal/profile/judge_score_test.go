package profile

import (
	"fmt"
	"math"

	"wamble"
	"wamble/internal/config"
	"wamble/internal/intent"
)

// scores is the judge's record of points and ratings. A game must be paid and rated in the
// frame that ends it, once, and by the rules.
type scores struct {
	pot, k        float64
	most          int // contributors
	fewest, limit int // boards
	boards        int // that are not archived
	filled        bool
	finals        []*final // games that ended in this frame
	members       map[wamble.SessionID]wamble.PublicKey
	began         map[wamble.PublicKey]float64 // their ratings at first
	paid          float64
	rated         int
}

// final is a game that has ended, with its payouts and changes of ratings.
type final struct {
	board   wamble.BoardID
	result  wamble.Result
	movers  []wamble.SessionID
	points  map[wamble.SessionID]float64
	changes map[wamble.SessionID]float64
}

func newScores(c *config.Profile) scores {
	return scores{
		pot: c.Scoring.MaxPot, k: c.Scoring.KFactor, most: c.Scoring.MaxContributors,
		fewest: c.Boards.MinBoards, limit: c.Boards.MaxBoards,
		members: map[wamble.SessionID]wamble.PublicKey{}, began: map[wamble.PublicKey]float64{},
	}
}

// pool checks the number of boards against its bounds, after each group.
func (s *scores) pool() error {
	s.filled = s.filled || s.boards >= s.fewest
	if s.boards > s.limit || s.filled && s.boards < s.fewest {
		return fmt.Errorf("there are %d boards, not %d to %d", s.boards, s.fewest, s.limit)
	}
	return nil
}

func (s *scores) intent(in intent.Intent) error {
	var board wamble.BoardID
	var session wamble.SessionID
	switch in := in.(type) {
	case *intent.RecordPayout:
		board, session = in.Board, in.Session
	case *intent.RecordRating:
		board, session = in.Board, in.Session
	}
	if len(s.finals) == 0 || s.finals[len(s.finals)-1].board != board {
		return fmt.Errorf("the game did not end just now")
	}
	f := s.finals[len(s.finals)-1]
	switch in := in.(type) {
	case *intent.RecordPayout:
		if _, again := f.points[session]; again || in.Points <= 0 || in.Points != in.Canonical {
			return fmt.Errorf("paid again, or wrong")
		}
		f.points[session] = in.Points
		s.paid += in.Points
	case *intent.RecordRating:
		if _, again := f.changes[session]; again || in.Delta == 0 || s.members[session].IsZero() {
			return fmt.Errorf("rated again, or without an identity")
		}
		if !in.Key.IsZero() && in.Key != s.members[session] {
			return fmt.Errorf("somebody else's key")
		}
		f.changes[session] = in.Delta
		s.rated++
	}
	return nil
}

// settle checks the games that have ended in a frame against the rules.
func (s *scores) settle() error {
	for _, f := range s.finals {
		if err := s.check(f); err != nil {
			return fmt.Errorf("board %d, %v after %d plies: %w", f.board, f.result, len(f.movers), err)
		}
	}
	s.finals = s.finals[:0]
	return nil
}

// check computes what every player should have, straight from the rules.
func (s *scores) check(f *final) error {
	moves := map[wamble.SessionID]*[2]float64{} // white, black
	var order []wamble.SessionID
	total := [2]float64{}
	for i, who := range f.movers {
		if moves[who] == nil {
			if len(order) == s.most {
				continue
			}
			moves[who] = &[2]float64{}
			order = append(order, who)
		}
		moves[who][i%2]++
		total[i%2]++
	}
	pots := map[wamble.Result][2]float64{
		wamble.WhiteWins: {s.pot, 0}, wamble.BlackWins: {0, s.pot}, wamble.Draw: {s.pot / 2, s.pot / 2},
	}[f.result]
	// Points are earned with others. Whether two sessions belong to one player is not always
	// known when a game ends, so either result is right.
	alone, all := s.company(order, moves, false), s.company(order, moves, true)
	sum := 0.0
	for _, who := range order {
		want, less := 0.0, 0.0
		for side, n := range moves[who] {
			if n > 0 {
				want += n / total[side] * pots[side] * alone[side]
				less += n / total[side] * pots[side] * all[side]
			}
		}
		if moves[who][0] > 0 && moves[who][1] > 0 {
			want, less = want/2, less/2
		}
		if got := f.points[who]; got > want+2e-4 || got < less-2e-4 {
			return fmt.Errorf("session %d with %v moves of %v is paid %v, want %v", who, *moves[who], total, got, want)
		}
		sum += f.points[who]
	}
	if sum > s.pot+1e-9 || len(f.points) > len(order) {
		return fmt.Errorf("%d were paid %v of %v", len(f.points), sum, s.pot)
	}
	return s.checkRatings(f, order, moves, total)
}

// company returns which share of its points each side is paid: all if two players moved for
// it, half if one did, and nothing if one moved for both. With byKey, sessions of one
// identity are one player.
func (s *scores) company(order []wamble.SessionID, moves map[wamble.SessionID]*[2]float64,
	byKey bool) (part [2]float64) {
	type person struct {
		session wamble.SessionID
		key     wamble.PublicKey
	}
	everybody := map[person]bool{}
	sides := [2]map[person]bool{{}, {}}
	for _, who := range order {
		p := person{session: who}
		if key := s.members[who]; byKey && !key.IsZero() {
			p = person{key: key}
		}
		everybody[p] = true
		for side, n := range moves[who] {
			if n > 0 {
				sides[side][p] = true
			}
		}
	}
	for side := range part {
		switch {
		case len(everybody) < 2:
		case len(sides[side]) < 2:
			part[side] = 0.5
		default:
			part[side] = 1
		}
	}
	return part
}

// checkRatings requires that every change of a rating is the player's part of one stake,
// which White wins and Black loses, or the other way round.
func (s *scores) checkRatings(f *final, order []wamble.SessionID, moves map[wamble.SessionID]*[2]float64,
	total [2]float64) error {
	if total[0] == 0 || total[1] == 0 {
		if len(f.changes) > 0 {
			return fmt.Errorf("rated, though only one side moved")
		}
		return nil
	}
	const rounding = 3e-4
	low, high := -s.k, s.k // where the stake must be
	for _, who := range order {
		part := moves[who][0]/total[0] - moves[who][1]/total[1]
		if s.members[who].IsZero() || math.Abs(part) < 1e-9 {
			continue
		}
		a, b := (f.changes[who]-rounding)/part, (f.changes[who]+rounding)/part
		low, high = max(low, min(a, b)), min(high, max(a, b))
	}
	wrong := f.result == wamble.WhiteWins && high < 0 || f.result == wamble.BlackWins && low > 0
	if low > high || wrong {
		return fmt.Errorf("no stake explains the changes %v: %v to %v", f.changes, low, high)
	}
	return nil
}
