package loader

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"wamble"
	"wamble/chess"
	"wamble/internal/store"
)

// gamesStub is a store of a few games.
type gamesStub struct {
	sessions map[wamble.Token]wamble.SessionID
	boards   []wamble.Board
	err      error
}

func (s *gamesStub) Session(_ context.Context, t wamble.Token) (wamble.Session, error) {
	if id, ok := s.sessions[t]; ok {
		return wamble.Session{ID: id, Token: t.Hash()}, nil
	}
	return wamble.Session{}, store.ErrNotFound
}

func (s *gamesStub) Games(context.Context, wamble.GameFilter) iter.Seq2[wamble.Board, error] {
	return func(yield func(wamble.Board, error) bool) {
		for _, b := range s.boards {
			if !yield(b, s.err) {
				return
			}
		}
	}
}

// TestVerify: two players have played e2e4 and e7e5 on board 3 and d2d4 on board 8, and
// player 0 waits for an answer to their d7d5 there.
func TestVerify(t *testing.T) {
	start := chess.Start()
	uci := func(p chess.Position, s string) chess.Move {
		m, err := p.ParseUCI(s)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	e4, d4 := uci(start, "e2e4"), uci(start, "d2d4")
	e5, d5 := uci(start.Play(e4), "e7e5"), uci(start.Play(d4), "d7d5")
	move := func(ply int, uci string, session wamble.SessionID) wamble.Move {
		return wamble.Move{Ply: ply, UCI: uci, Session: session}
	}
	const stranger = 99
	for _, tc := range []struct {
		name   string
		three  []wamble.Move
		eight  []wamble.Move
		change func(*Report)
		want   Verdict
	}{
		{"all there", []wamble.Move{move(1, "e2e4", 10), move(2, "e7e5", 11)}, []wamble.Move{move(1, "d2d4", 11)}, nil, Verdict{Accepted: 3, Kept: 3}},
		{"moves of strangers do not matter", []wamble.Move{move(1, "e2e4", 10), move(2, "e7e5", 11), move(3, "g1f3", stranger)}, []wamble.Move{move(1, "d2d4", 11)}, nil, Verdict{Accepted: 3, Kept: 3}},
		{"unresolved is there", []wamble.Move{move(1, "e2e4", 10), move(2, "e7e5", 11)}, []wamble.Move{move(1, "d2d4", 11), move(2, "d7d5", 10)}, nil, Verdict{Accepted: 3, Kept: 3, Unresolved: 1}},
		{"missing at the end", []wamble.Move{move(1, "e2e4", 10)}, []wamble.Move{move(1, "d2d4", 11)}, nil, Verdict{Accepted: 3, Kept: 2, Missing: 1, Example: "board 3 ply 2: e7e5 was accepted and is not there"}},
		{"board missing", []wamble.Move{move(1, "e2e4", 10), move(2, "e7e5", 11)}, nil, nil, Verdict{Accepted: 3, Kept: 2, Missing: 1, Example: "board 8 ply 1: d2d4 was accepted and is not there"}},
		{"another move", []wamble.Move{move(1, "e2e4", 10), move(2, "c7c5", 11)}, []wamble.Move{move(1, "d2d4", 11)}, nil, Verdict{Accepted: 3, Kept: 2, Different: 1, Example: "board 3 ply 2: e7e5 was accepted, c7c5 of session 11 is there"}},
		{"another player", []wamble.Move{move(1, "e2e4", 11), move(2, "e7e5", 11)}, []wamble.Move{move(1, "d2d4", 11)}, nil, Verdict{Accepted: 3, Kept: 2, Different: 1, Example: "board 3 ply 1: e2e4 was accepted, e2e4 of session 11 is there"}},
		{"twice", []wamble.Move{move(1, "e2e4", 10), move(1, "e2e4", 10), move(2, "e7e5", 11)}, []wamble.Move{move(1, "d2d4", 11)}, nil, Verdict{Accepted: 3, Kept: 3, Twice: 1, Example: "board 3 ply 1 is there twice"}},
		{"accepted twice", []wamble.Move{move(1, "e2e4", 10), move(2, "e7e5", 11)}, []wamble.Move{move(1, "d2d4", 11)},
			func(r *Report) { r.log.add(entry{3, 1, 2, e5}) },
			Verdict{Accepted: 4, Kept: 3, Twice: 1, Example: "board 3 ply 2: two moves were accepted"}},
		{"never accepted", []wamble.Move{move(1, "e2e4", 10), move(2, "e7e5", 11), move(3, "g1f3", 10)}, []wamble.Move{move(1, "d2d4", 11)}, nil, Verdict{Accepted: 3, Kept: 3, Extra: 1, Example: "board 3 ply 3: g1f3 is there and was never accepted"}},
		{"ply not known", []wamble.Move{move(1, "e2e4", 10), move(2, "e7e5", 11)}, []wamble.Move{move(1, "d2d4", 11)},
			func(r *Report) { r.log.blocks[0][1].ply = 0 }, Verdict{Accepted: 3, Kept: 3}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := &Report{log: &log{}, unresolved: []entry{{8, 0, 2, d5}}}
			r.log.session(wamble.Token{1})
			r.log.session(wamble.Token{2})
			r.log.add(entry{8, 1, 1, d4})
			r.log.add(entry{3, 0, 1, e4})
			r.log.add(entry{3, 1, 2, e5})
			if tc.change != nil {
				tc.change(r)
			}
			s := &gamesStub{sessions: map[wamble.Token]wamble.SessionID{{1}: 10, {2}: 11}}
			s.boards = []wamble.Board{{ID: 2}, {ID: 3, Moves: tc.three}, {ID: 5}}
			if tc.eight != nil {
				s.boards = append(s.boards, wamble.Board{ID: 8, Moves: tc.eight})
			}
			got, err := Verify(context.Background(), r, s)
			if err != nil || got != tc.want {
				t.Errorf("got %+v, %v\nwant %+v", got, err, tc.want)
			}
			if exact := tc.want.Example == ""; got.Exact() != exact {
				t.Errorf("exact %v, want %v", got.Exact(), exact)
			}
		})
	}
}

func TestVerifyFails(t *testing.T) {
	r := &Report{log: &log{}}
	s := &gamesStub{boards: []wamble.Board{{ID: 1}}, err: errors.New("no disk")}
	if _, err := Verify(context.Background(), r, s); err == nil ||
		!strings.Contains(err.Error(), "read the games: no disk") {
		t.Errorf("got %v", err)
	}
}

func TestLogGrowsByBlocks(t *testing.T) {
	l := &log{}
	l.session(wamble.Token{1})
	for i := range 2*logBlock + 1 {
		l.add(entry{board: wamble.BoardID(i)})
	}
	n := 0
	for e := range l.entries() {
		if e.board != wamble.BoardID(n) {
			t.Fatalf("move %d is of board %d", n, e.board)
		}
		n++
	}
	if len(l.blocks) != 3 || n != 2*logBlock+1 || l.n != n || len(l.sorted()) != n {
		t.Errorf("%d blocks, %d moves", len(l.blocks), n)
	}
}
