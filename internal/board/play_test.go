package board

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/internal/intent"
)

func TestRejections(t *testing.T) {
	for _, tc := range []struct {
		name  string
		board wamble.BoardID
		by    wamble.SessionID
		uci   string
		want  error
	}{
		{"unknown board", 99, 7, "e2e4", ErrUnknownBoard},
		{"no board", 0, 7, "e2e4", ErrUnknownBoard},
		{"nobody", 1, 0, "e2e4", BadArguments},
		{"not the holder", 1, 8, "e2e4", NotHolder},
		{"not the holder, and a bad move", 1, 8, "e2", NotHolder},
		{"a free board", 2, 7, "e2e4", NotHolder},
		{"empty", 1, 7, "", BadUCI},
		{"too short", 1, 7, "e2e", BadUCI},
		{"too long", 1, 7, "e2e4xx", BadUCI},
		{"upper case", 1, 7, "E2E4", BadUCI},
		{"off the board", 1, 7, "e2e9", BadUCI},
		{"upper-case promotion", 1, 7, "a7a8Q", BadUCI},
		{"promotion of nothing", 1, 7, "e2e4q", Illegal},
		{"illegal", 1, 7, "e2e5", Illegal},
		{"the other side", 1, 7, "e7e5", Illegal},
		{"castling as king takes rook on a classical board", 1, 7, "e1h1", Illegal},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, nil)
			r.assign(7)
			grow(t, r.Pool, 2, &r.said)
			r.said.take()
			_, err := r.Play(r.now, tc.board, Mover{Session: tc.by, Rating: -1}, tc.uci, &r.said)
			if !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
			r.expect()
			if b := r.Held(7); b == nil || b.Plies() != 0 {
				t.Error("the board has changed")
			}
		})
	}
	if got, want := error(NotHolder).Error(), "move rejected (status=2)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestEndings(t *testing.T) {
	for _, tc := range []struct {
		name, fen, uci string
		result         wamble.Result
		reason         string
		plies          int
	}{
		{"white mates", "7k/8/6K1/8/8/8/8/R7 w - - 0 50", "a1a8", wamble.WhiteWins, "checkmate", 99},
		{"black mates", "r7/8/8/8/8/6k1/8/7K b - - 0 50", "a8a1", wamble.BlackWins, "checkmate", 100},
		{"stalemate", "7k/8/8/6Q1/8/8/8/K7 w - - 0 50", "g5g6", wamble.Draw, "stalemate", 99},
		{"fifty moves", "7k/8/8/8/8/8/R7/K7 w - - 99 80", "a2b2", wamble.Draw, "fifty-move rule", 159},
		{"mate goes before fifty moves", "7k/8/6K1/8/8/8/8/R7 w - - 99 80", "a1a8", wamble.WhiteWins, "checkmate", 159},
		{"insufficient material", "7k/8/8/8/8/8/1r6/K7 w - - 0 80", "a1b2", wamble.Draw, "insufficient material", 159},
		{"move limit", "7k/7p/8/8/8/8/P7/K7 w - - 0 500", "a2a3", wamble.Draw, "move limit", 999},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, func(o *Options) { o.MaxMoves = 999 })
			r.restore(5, tc.fen)
			r.after(time.Minute)
			done := r.play(5, 1, tc.uci)
			f := done.Finished
			if f == nil {
				t.Fatal("the game goes on")
			}
			if f.Result != tc.result || f.Reason != tc.reason || f.Plies != tc.plies || f.Duration != 61*time.Minute ||
				!f.At.Equal(r.now) {
				t.Errorf("got %+v", f)
			}
			if len(f.Reason) > 31 {
				t.Errorf("%q does not fit", f.Reason)
			}
			if r.Len() != 0 || r.Board(5) != nil || r.Held(1) != nil || f.Board.Status() != wamble.Archived {
				t.Error("the board is still there")
			}
			check(t, r.Pool)
		})
	}
}

func TestGameGoesOn(t *testing.T) {
	for _, tc := range []struct{ name, fen, uci string }{
		{"98 half-moves", "7k/8/8/8/8/8/R7/K7 w - - 98 80", "a2b2"},
		{"check", "7k/8/8/8/8/8/8/RK6 w - - 0 50", "a1a8"},
		{"one before the limit", "7k/7p/8/8/8/8/P7/K7 b - - 0 499", "h7h6"},
	} {
		r := newRig(t, func(o *Options) { o.MaxMoves = 999 })
		r.restore(5, tc.fen)
		if done := r.play(5, 1, tc.uci); done.Finished != nil {
			t.Errorf("%s: over by %s", tc.name, done.Finished.Reason)
		}
	}
}

func TestNoMoveLimit(t *testing.T) {
	r := newRig(t, func(o *Options) { o.MaxMoves = 0 })
	r.restore(5, "7k/7p/8/8/8/8/P7/K7 w - - 0 5000")
	if done := r.play(5, 1, "a2a3"); done.Finished != nil {
		t.Errorf("over by %s", done.Finished.Reason)
	}
}

func TestFivefoldRepetition(t *testing.T) {
	r := newRig(t, func(o *Options) { o.MaxBoards = 1 })
	moves := []string{"g1f3", "g8f6", "f3g1", "f6g8"}
	for i := range 16 {
		r.assign(wamble.SessionID(i%3 + 1))
		done := r.play(1, wamble.SessionID(i%3+1), moves[i%4])
		if over := done.Finished != nil; over != (i == 15) {
			t.Fatalf("ply %d: over %v", i+1, over)
		} else if over && done.Finished.Reason != "fivefold repetition" {
			t.Errorf("reason %q", done.Finished.Reason)
		}
	}
}

func TestContributors(t *testing.T) {
	r := newRig(t, func(o *Options) { o.MaxBoards = 1 })
	by := []wamble.SessionID{4, 5, 4, 6, 5, 4, maxSession}
	moves := strings.Fields("e2e4 e7e5 g1f3 b8c6 f1c4 g8f6 e1g1")
	for i, uci := range moves {
		r.after(1500 * time.Millisecond)
		r.assign(by[i])
		done := r.play(1, by[i], uci)
		if first := !slices.Contains(by[:i], by[i]); done.First != first || done.Ply != i+1 {
			t.Errorf("ply %d: first %v, ply %d", i+1, done.First, done.Ply)
		}
	}
	b := r.Board(1)
	want := []Contributor{{Session: 4, White: 2, Black: 1}, {Session: 5, White: 1, Black: 1}, {Session: 6, Black: 1},
		{Session: maxSession, White: 1}}
	for most := range 6 {
		if got := b.Contributors(nil, most); !slices.Equal(got, want[:min(most, 4)]) {
			t.Errorf("at most %d: got %v, want %v", most, got, want)
		}
	}
	if got := b.Contributors(want[:1:1], 9); !slices.Equal(got, append(want[:1:1], want...)) {
		t.Errorf("behind another: got %v", got)
	}
	i := 0
	for m := range b.Moves() {
		at := epoch.Add(time.Duration(i) * 1500 * time.Millisecond)
		if i == 0 {
			at = epoch.Add(0)
		}
		if m.Move.String() != moves[i] || m.Session != by[i] || m.Ply != i+1 ||
			!m.At.Equal(at.Add(1500*time.Millisecond)) {
			t.Errorf("move %d: %+v", i+1, m)
		}
		i++
	}
	if i != len(moves) {
		t.Errorf("%d moves, want %d", i, len(moves))
	}
	last, ok := b.LastMove()
	if !ok || last.Move.String() != "e1g1" || !last.At.Equal(r.now) || last.Session != maxSession {
		t.Errorf("last move %+v, %v", last, ok)
	}
}

func TestPlyPacking(t *testing.T) {
	for _, tc := range []struct {
		move    chess.Move
		session wamble.SessionID
		after   int64
		want    int64
		rated   strength
	}{
		{0x7fff, maxSession, 1<<36 - 1, 1<<36 - 1, 255},
		{1, 1, 0, 0, 0},
		{0x4000, 1 << 32, 1 << 32, 1 << 32, 1},
		{0x1234, 0xf_0000_0001, -5, 0, 0x80},
		{0x1234, 0x2_3456_789a, 1 << 41, 1<<36 - 1, 0x7f},
	} {
		p := packPly(tc.move, tc.session, tc.after, tc.rated)
		if p.move() != tc.move || p.session() != tc.session || p.millis() != tc.want || p.strength() != tc.rated {
			t.Errorf("%+v: got %x by %d after %d, %d", tc, p.move(), p.session(), p.millis(), p.strength())
		}
	}
}

func TestStrength(t *testing.T) {
	for _, tc := range []struct {
		rating, want float64
		rated        bool
	}{
		{-1, 0, false}, {math.NaN(), 0, false}, {0, 0, true}, {7, 0, true}, {9, 16, true}, {1200, 1200, true}, {1213, 1216, true},
		{4048, 4048, true}, {1e9, 4048, true},
	} {
		if got, rated := strengthOf(tc.rating).rating(); got != tc.want || rated != tc.rated {
			t.Errorf("%v: got %v, %v, want %v, %v", tc.rating, got, rated, tc.want, tc.rated)
		}
	}
}

// A board's data about its players survive a snapshot and a restart.
func TestRatingsStayWithTheBoard(t *testing.T) {
	r := newRig(t, func(o *Options) { o.MaxBoards = 1 })
	for i, uci := range strings.Fields("e2e4 e7e5 g1f3") {
		s := wamble.SessionID(4 + i)
		r.assign(s)
		player, rating := wamble.PlayerID(7), 1200+float64(100*i)
		if i == 1 {
			player, rating = 0, -1
		}
		if _, err := r.Play(r.now, 1, Mover{Session: s, Player: player, Rating: rating}, uci, silence{}); err != nil {
			t.Fatal(err)
		}
	}
	want := []Contributor{{4, 1, 0, 1200, true, 7}, {5, 0, 1, 0, false, 0}, {6, 1, 0, 1408, true, 7}}
	if got := r.Board(1).Contributors(nil, 9); !slices.Equal(got, want) {
		t.Errorf("in memory: got %v, want %v", got, want)
	}
	if got := handOver(t, r.Pool).Board(1).Contributors(nil, 9); !slices.Equal(got, want) {
		t.Errorf("after a handoff: got %v, want %v", got, want)
	}
	stored := &wamble.Board{ID: 1, FEN: r.Board(1).FEN(), Status: wamble.Active, Variant: -1, Created: epoch,
		Moves: []wamble.Move{
			{Ply: 1, UCI: "e2e4", Session: 4, Player: 7, Handle: "h_four", Rating: 1200}, {Ply: 2, UCI: "e7e5", Session: 5},
			{Ply: 3, UCI: "g1f3", Session: 6, Player: 7, Handle: "h_four", Rating: 1400},
		}}
	p := New(*r.Options(), counter(0), newRand(1))
	if err := p.Restore(epoch, stored, silence{}); err != nil {
		t.Fatal(err)
	}
	if got := p.Board(1).Contributors(nil, 9); !slices.Equal(got, want) {
		t.Errorf("after a restart: got %v, want %v", got, want)
	}
}

// recorded keeps the moves among intents.
type recorded []intent.RecordMove

func (r *recorded) Add(in intent.Intent) {
	if m, ok := in.(*intent.RecordMove); ok {
		*r = append(*r, *m)
	}
}

// TestProgramsStayWithTheBoard: the mark of a program's move survives its session, a
// snapshot, a restart and the journal.
func TestProgramsStayWithTheBoard(t *testing.T) {
	r := newRig(t, func(o *Options) { o.MaxBoards = 1 })
	var moves recorded
	for i, by := range []Mover{{Rating: -1, Program: true}, {Rating: -1}, {Player: 8}, {Player: 9, Program: true}} {
		by.Session = wamble.SessionID(4 + i)
		r.assign(by.Session)
		if _, err := r.Play(r.now, 1, by, []string{"e2e4", "e7e5", "g1f3", "b8c6"}[i], &moves); err != nil {
			t.Fatal(err)
		}
	}
	check := func(after string, p *Pool, last bool) {
		t.Helper()
		var got []bool
		for m := range p.Board(1).Moves() {
			got = append(got, m.Bot)
		}
		if want := []bool{true, false, false, last}; !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", after, got, want)
		}
	}
	check("in memory", r.Pool, true)
	check("after a handoff", handOver(t, r.Pool), true)
	p := New(*r.Options(), counter(0), newRand(1))
	if err := p.Restore(epoch, &wamble.Board{ID: 1, FEN: r.Board(1).FEN(), Status: wamble.Active, Variant: -1,
		Created: epoch, Moves: []wamble.Move{
			{Ply: 1, UCI: "e2e4", Session: 4, Bot: true}, {Ply: 2, UCI: "e7e5", Session: 5}, {Ply: 3, UCI: "g1f3", Session: 6},
			{Ply: 4, UCI: "b8c6", Session: 7, Player: 9, Handle: "h_9", Bot: true},
		}}, silence{}); err != nil {
		t.Fatal(err)
	}
	check("after a restart", p, true)
	p = New(*r.Options(), counter(0), newRand(1))
	journal := p.Resume()
	journal.CreateBoard(0, &intent.CreateBoard{Board: 1, Status: wamble.Dormant, Variant: -1, At: epoch})
	for i := range moves {
		journal.RecordMove(uint64(i+1), &moves[i])
	}
	journal.End(epoch, func(wamble.SessionID) bool { return false }, silence{})
	check("after the journal", p, false) // the journal says only whether a player has an identity
}

// A player whose answer was lost sends their move again.
func TestRepeats(t *testing.T) {
	r := newRig(t, func(o *Options) { o.MaxBoards = 1 })
	moves := strings.Fields("f2f3 e7e5 g2g4 d8h4")
	for i, uci := range moves {
		s := wamble.SessionID(7 + i%3)
		r.assign(s)
		if r.Repeats(1, s, uci) {
			t.Errorf("%s is new", uci)
		}
		r.play(1, s, uci)
		if !r.Repeats(1, s, uci) {
			t.Errorf("%s repeats", uci)
		}
	}
	for _, tc := range []struct {
		board wamble.BoardID
		by    wamble.SessionID
		uci   string
		want  bool
	}{
		{1, 7, "d8h4", true},  // the board is archived
		{1, 8, "e7e5", true},  // others have moved since
		{1, 7, "f2f3", false}, // not the player's last one
		{1, 8, "e7e6", false},
		{1, 10, "d8h4", false},
		{1, 0, "d8h4", false},
		{2, 7, "d8h4", false},
	} {
		if got := r.Repeats(tc.board, tc.by, tc.uci); got != tc.want {
			t.Errorf("%+v: got %v", tc, got)
		}
	}
}

func TestRepeatsForgets(t *testing.T) {
	r := newRig(t, func(o *Options) { o.MaxBoards = 1 })
	for id := range wamble.BoardID(recentBoards + 1) {
		r.assign(7)
		r.play(id+1, 7, "e2e4")
		r.Archive(r.now, id+1, silence{})
	}
	if r.Repeats(1, 7, "e2e4") || !r.Repeats(2, 7, "e2e4") || !r.Repeats(recentBoards+1, 7, "e2e4") {
		t.Error("the oldest finished board should be forgotten, and no other")
	}
	if len(r.finished.ring) != recentBoards || len(r.finished.byID) != recentBoards {
		t.Errorf("%d and %d remembered", len(r.finished.ring), len(r.finished.byID))
	}
}

func TestRepeatsStored(t *testing.T) {
	b := wamble.Board{Moves: []wamble.Move{{Ply: 1, UCI: "e2e4", Session: 7}, {Ply: 2, UCI: "e7e5", Session: 8},
		{Ply: 3, UCI: "g1f3", Session: 7}}}
	for _, tc := range []struct {
		by     wamble.SessionID
		uci    string
		holder *wamble.Reservation
		want   bool
	}{
		{7, "g1f3", nil, true}, {8, "e7e5", nil, true}, {7, "e2e4", nil, false}, {9, "e2e4", nil, false},
		{7, "g1f3", &wamble.Reservation{Session: 7}, false}, {7, "g1f3", &wamble.Reservation{Session: 8}, true},
	} {
		b.Holder = tc.holder
		if got := RepeatsStored(&b, tc.by, tc.uci); got != tc.want {
			t.Errorf("%+v: got %v", tc, got)
		}
	}
}

// The table of texts has every legal move.
func TestUCITexts(t *testing.T) {
	rng := newRand(3)
	promotions := 0
	for range 300 {
		p := chess.Start()
		for p.CountLegal() > 0 && p.Ply() < 300 {
			for _, m := range p.LegalMoves(nil) {
				if got, want := uciOf(m), m.String(); got != want {
					t.Fatalf("%s, want %s", got, want)
				}
				if m.Promotion() != chess.None {
					promotions++
				}
			}
			p = p.Play(randomMove(p, rng))
		}
	}
	if promotions < 1000 {
		t.Errorf("only %d promotions seen", promotions)
	}
}

func TestWatching(t *testing.T) {
	r := newRig(t, nil)
	r.fill()
	b := r.Board(1)
	if b.Watchable() || !b.LastMoved().IsZero() || !b.LastAssigned().IsZero() || !b.Reserved().IsZero() {
		t.Error("nobody has touched the board")
	}
	r.assign(7)
	if !b.Watchable() || !b.Reserved().Equal(epoch) || !b.LastAssigned().Equal(epoch) {
		t.Error("a held board is watched")
	}
	r.after(9 * time.Second)
	if got, want := b.Attraction(r.now, r.Options()), 0.2; got != want {
		t.Errorf("attraction %v, want %v", got, want)
	}
	r.play(1, 7, "e2e4")
	if !b.Watchable() || !b.LastMoved().Equal(r.now) || !b.Reserved().IsZero() {
		t.Error("an active board is watched")
	}
	n := 0
	for range r.All() {
		n++
	}
	if n != 1 {
		t.Errorf("%d boards", n)
	}
}
