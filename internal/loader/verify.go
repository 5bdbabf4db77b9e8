package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"wamble/internal/store"

	"wamble"
)

// Games is the part of store.Store that Verify needs.
type Games interface {
	Session(ctx context.Context, t wamble.Token) (wamble.Session, error)
	Games(ctx context.Context, f wamble.GameFilter) iter.Seq2[wamble.Board, error]
}

// Verdict compares the accepted moves of a run with a store. Kept counts moves that are stored
// exactly once, as they were accepted.
type Verdict struct {
	Accepted   int `json:"accepted"`
	Kept       int `json:"kept"`
	Missing    int `json:"missing"`    // accepted, but not stored
	Different  int `json:"different"`  // another move, or another player's, is stored in its place
	Twice      int `json:"twice"`      // stored more than once, or accepted twice for one ply
	Extra      int `json:"extra"`      // stored moves of the run's sessions that were neither accepted nor left unresolved
	Unresolved int `json:"unresolved"` // stored moves without an answer: allowed
	// Example describes the first fault.
	Example string `json:"example,omitempty"`
}

// Exact reports whether the store has every accepted move once, and no other move of the run's
// sessions except unresolved ones.
func (v Verdict) Exact() bool {
	return v.Missing == 0 && v.Different == 0 && v.Twice == 0 && v.Extra == 0
}

func (v *Verdict) complain(count *int, format string, args ...any) {
	*count++
	if v.Example == "" {
		v.Example = fmt.Sprintf(format, args...)
	}
}

func compareEntries(a, b entry) int {
	return cmp.Or(cmp.Compare(a.board, b.board), cmp.Compare(a.ply, b.ply), cmp.Compare(a.player, b.player),
		cmp.Compare(a.move, b.move))
}

// Verify compares every accepted move of a run with the store of its server: board, ply, move
// and session. All moves must have reached the store.
func Verify(ctx context.Context, r *Report, games Games) (Verdict, error) {
	v := Verdict{Accepted: r.log.n}
	sessions, err := r.sessions(ctx, games)
	if err != nil {
		return v, err
	}
	moves := r.log.sorted()
	for b, err := range games.Games(ctx, wamble.GameFilter{}) {
		if err != nil {
			return v, fmt.Errorf("read the games: %w", err)
		}
		for len(moves) > 0 && moves[0].board < b.ID {
			v.missing(r, moves[0])
			moves = moves[1:]
		}
		n := 0
		for n < len(moves) && moves[n].board == b.ID {
			n++
		}
		r.compare(&v, moves[:n], &b, sessions)
		moves = moves[n:]
	}
	for _, e := range moves {
		v.missing(r, e)
	}
	return v, nil
}

// sessions returns the indexes of the tokens by their session numbers in the store. A token
// that is not stored has no moves there.
func (r *Report) sessions(ctx context.Context, games Games) (map[wamble.SessionID]uint32, error) {
	ids := make(map[wamble.SessionID]uint32, len(r.log.tokens))
	for i, t := range r.log.tokens {
		s, err := games.Session(ctx, t)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read a session: %w", err)
		}
		ids[s.ID] = uint32(i)
	}
	return ids, nil
}

func (v *Verdict) missing(r *Report, e entry) {
	a := r.log.accepted(e)
	v.complain(&v.Missing, "board %d ply %d: %s was accepted and is not there", a.Board, a.Ply, a.UCI)
}

// compare checks the accepted moves of one board, sorted by ply, against its game.
func (r *Report) compare(v *Verdict, want []entry, b *wamble.Board, sessions map[wamble.SessionID]uint32) {
	used := make([]bool, len(b.Moves))
	for i, e := range want {
		if i > 0 && e.ply > 0 && e.ply == want[i-1].ply {
			v.complain(&v.Twice, "board %d ply %d: two moves were accepted", b.ID, e.ply)
			continue
		}
		r.place(v, e, b, used, sessions)
	}
	for i, m := range b.Moves {
		player, ours := sessions[m.Session]
		switch {
		case used[i] || !ours:
		case i > 0 && m.Ply == b.Moves[i-1].Ply:
			v.complain(&v.Twice, "board %d ply %d is there twice", b.ID, m.Ply)
		case slices.ContainsFunc(r.unresolved, func(e entry) bool {
			return e.board == b.ID && e.player == player && e.move.String() == m.UCI &&
				(e.ply == 0 || int(e.ply) == m.Ply)
		}):
			v.Unresolved++
		default:
			v.complain(&v.Extra, "board %d ply %d: %s is there and was never accepted", b.ID, m.Ply, m.UCI)
		}
	}
}

// place looks up an accepted move in the game and marks it as used.
func (r *Report) place(v *Verdict, e entry, b *wamble.Board, used []bool, sessions map[wamble.SessionID]uint32) {
	same := func(m wamble.Move) bool {
		player, ok := sessions[m.Session]
		return ok && player == e.player && m.UCI == e.move.String()
	}
	at := -1
	for i, m := range b.Moves {
		if !used[i] && (e.ply == 0 && same(m) || e.ply > 0 && m.Ply == int(e.ply)) {
			at = i
			break
		}
	}
	switch {
	case at < 0:
		v.missing(r, e)
	case !same(b.Moves[at]):
		used[at] = true
		v.complain(&v.Different, "board %d ply %d: %s was accepted, %s of session %d is there", b.ID, e.ply, e.move,
			b.Moves[at].UCI, b.Moves[at].Session)
	default:
		used[at] = true
		v.Kept++
	}
}
