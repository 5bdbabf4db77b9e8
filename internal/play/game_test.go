package play

import (
	"slices"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/wire"
)

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

var noon = time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)

func boardAt(t *testing.T, id wamble.BoardID, fen string) *Board {
	t.Helper()
	b, err := ReadBoard(id, fen, false)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// seated is a game with a player on board 12.
func seated(t *testing.T) *Game {
	t.Helper()
	g := New(Saved{}, nil, false)
	g.Take(noon, Greeted{Assignment{Board: boardAt(t, 12, chess.StartFEN)}})
	return g
}

// said returns the texts among effects, one line each.
func said(effects []Effect) string {
	var list []string
	for _, e := range effects {
		switch e := e.(type) {
		case Say:
			list = append(list, e.Text)
		case Show:
			list = append(list, e.Text)
		case News:
			list = append(list, e.Text)
		}
	}
	return strings.Join(list, "\n")
}

// has reports whether an effect is among others.
func has[E comparable](effects []Effect, want E) bool {
	return slices.ContainsFunc(effects, func(e Effect) bool { got, ok := e.(E); return ok && got == want })
}

func TestDescribe(t *testing.T) {
	got := Describe(position(t, "6k1/5ppp/8/8/8/8/5PPP/R2R2K1 w - - 0 1"))
	want := "White: king g1, rooks a1 d1, pawns f2 g2 h2.\nBlack: king g8, pawns f7 g7 h7."
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestSwitch: the switch is described in words, and the trail has the move.
func TestSwitch(t *testing.T) {
	g := seated(t)
	effects := g.Line(noon, "Nf3")
	if !has(effects, Move{Board: 12, UCI: "g1f3"}) || !has(effects, Keep{}) || g.Saved().Pending == nil {
		t.Fatalf("got %+v, want that the move is kept and sent", effects)
	}
	if text := said(g.Line(noon, "e4")); text != "Your Nf3 on board 12 is still under way." {
		t.Errorf("a second move: got %q", text)
	}
	next := boardAt(t, 57, "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1")
	next.From, next.To = 12, 28
	text := said(g.Take(noon, Moved{Assignment{Board: next}}))
	if want := "Your Nf3 stays on board 12; here is board 57, you are Black.\nMove 1. Last move: White's pawn e2 to e4.\nWhite: king e1,"; !strings.HasPrefix(text, want) {
		t.Errorf("got %q, want %q", text, want)
	}
	if g.Sending != nil || len(g.Trail) != 1 || g.Trail[0].String() != "Nf3 on board 12: waits for an answer" {
		t.Errorf("the trail is %+v", g.Trail)
	}
	if effects := g.Line(noon, "predict d5"); !has(effects, Predict{Board: 12, UCI: "d7d5", SAN: "d5"}) {
		t.Errorf("predict: got %+v, want the answer on board 12", effects)
	}
}

// TestMate: the end of a game is announced.
func TestMate(t *testing.T) {
	g := New(Saved{}, nil, false)
	g.Take(noon, Greeted{Assignment{Board: boardAt(t, 3, "6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1")}})
	g.Line(noon, "Ra8")
	if text := said(g.Take(noon,
		Moved{Assignment{Place: 3}})); text != "Checkmate! Your Ra8# ends the game on board 3.\nEvery board is being played on; 2 get one before you. 'watch' shows the others meanwhile." {
		t.Errorf("got %q", text)
	}
}

// TestBrokenConnection: a move that is under way when the connection breaks is neither lost
// nor made twice.
func TestBrokenConnection(t *testing.T) {
	g := seated(t)
	g.Line(noon, "e4")
	if text := said(g.Take(noon, Away{})); text != "Connection lost. Your e4 is kept and will be sent; reconnecting …" {
		t.Errorf("got %q", text)
	}
	effects := g.Take(noon, Back{Assignment{Board: boardAt(t, 12, chess.StartFEN)}})
	if said(effects) != "Connected again." || g.Sending == nil {
		t.Errorf("got %+v; the client sends the move by itself", effects)
	}
	g.Take(noon, Moved{Assignment{Board: boardAt(t, 13, chess.StartFEN)}})
	if g.Board.ID != 13 || len(g.Trail) != 1 {
		t.Errorf("got board %d, trail %v", g.Board.ID, g.Trail)
	}
}

// TestPending: a move that was under way when the player left is sent when they are back on
// the same board; on another one the trail shows what became of it.
func TestPending(t *testing.T) {
	step := Step{Board: 12, UCI: "e2e4", SAN: "e4", Ply: 1}
	g := New(Saved{Pending: &step}, nil, false)
	if effects := g.Take(noon, Greeted{Assignment{Board: boardAt(t, 12, chess.StartFEN)}}); !has(effects,
		Move{Board: 12, UCI: "e2e4"}) {
		t.Errorf("got %+v, want the move", effects)
	}
	g = New(Saved{Pending: &step}, nil, false)
	g.Take(noon, Greeted{Assignment{Board: boardAt(t, 14, chess.StartFEN)}})
	if g.Sending != nil || len(g.Trail) != 1 {
		t.Errorf("elsewhere: got %+v, %v", g.Sending, g.Trail)
	}
	g.Take(noon, Looked{Records: []Record{{Board: 12, Chess960: -1, Moves: []string{"d2d4"}}}})
	if got := g.Trail[0].Fate; got != NotPlayed {
		t.Errorf("somebody else has moved: got %q", got)
	}
}

// TestRenewedWhilePending: a player who comes back as a new one is told of the move that was
// under way, whether they had left or the connection broke, and the trail has it.
func TestRenewedWhilePending(t *testing.T) {
	left := New(Saved{Pending: &Step{Board: 12, UCI: "e2e4", SAN: "e4", Ply: 1}}, nil, false)
	broke := seated(t)
	broke.Line(noon, "e4")
	broke.Take(noon, Away{})
	seat := Assignment{Board: boardAt(t, 12, chess.StartFEN), Renewed: true}
	for name, c := range map[string]struct {
		g *Game
		m Msg
	}{"left": {left, Greeted{seat}}, "broke": {broke, Back{seat}}} {
		effects := c.g.Take(noon, c.m)
		if text := said(effects); !strings.Contains(text,
			"you are a new player now.\nYour e4 on board 12 was not answered; the trail will show what became of it.") {
			t.Errorf("%s: got %q", name, text)
		}
		if c.g.Sending != nil || len(c.g.Trail) != 1 || has(effects, Move{Board: 12, UCI: "e2e4"}) {
			t.Errorf("%s: sending %+v, trail %v, effects %+v", name, c.g.Sending, c.g.Trail, effects)
		}
	}
}

func TestRefusedMove(t *testing.T) {
	for _, c := range []struct {
		refused Refused
		want    string
		trail   int
	}{
		{Refused{Why: "move rejected (status=2)"}, "Your e4 on board 12 was not played: the board is no longer yours.", 0},
		{Refused{Why: "something\x1b[2J new."}, "Your e4 on board 12 was not played: something[2J new.", 0},
		{Refused{Why: "x", Unsure: true}, "The connection broke while your e4 on board 12 was under way; the trail will show what became of it.", 1},
		{Refused{Why: "x", Made: true}, "Your e4 stays on board 12.\nEvery board is being played on; you get the next one that is free. 'watch' shows the others meanwhile.", 1},
	} {
		g := seated(t)
		g.Line(noon, "e4")
		c.refused.What = Move{}
		effects := g.Take(noon, c.refused)
		if text := said(effects); text != c.want {
			t.Errorf("got %q, want %q", text, c.want)
		}
		if len(g.Trail) != c.trail || g.Sending != nil {
			t.Errorf("%s: the trail is %v", c.want, g.Trail)
		}
		if !has(effects, Hello{}) && !has(effects, Hello{After: noBoardPause}) {
			t.Errorf("%s: nobody asks for a board: %+v", c.want, effects)
		}
	}
}

// TestFates: the fate of a move, from the record of its game.
func TestFates(t *testing.T) {
	mate := []string{"f2f3", "e7e5", "g2g4", "d8h4"}
	for _, c := range []struct {
		ply    int
		uci    string
		moves  []string
		winner string
		want   string
	}{
		{1, "f2f3", nil, "", "waits for an answer"},
		{1, "f2f3", mate[:1], "", "waits for an answer"},
		{1, "f2f3", mate[:2], "", "answered e5"},
		{1, "f2f3", mate, "black", "lost"},
		{2, "e7e5", mate, "black", "won"},
		{4, "d8h4", mate, "black", "won"},
		{3, "g2g4", mate[:3], "draw", "drawn"},
		{1, "e2e4", mate, "black", "was not played"},
	} {
		s := Step{Board: 1, UCI: c.uci, Ply: c.ply}
		s.settle(&Record{Board: 1, Chess960: -1, Moves: c.moves, Winner: c.winner})
		if got := s.Outcome(); got != c.want {
			t.Errorf("%s in %v: got %q, want %q", c.uci, c.moves, got, c.want)
		}
	}
}

// TestLines: typed lines other than moves, and their effects.
func TestLines(t *testing.T) {
	for _, c := range []struct {
		line   string
		want   string // the texts; "" is nothing
		effect Effect // among the others; nil is any
	}{
		{"", "", nil},
		{"help", "Type a move, as Nf3 or g1f3, or one of these:\nboard", nil},
		{"?", "Type a move", nil},
		{"last", "No move was made on board 12 yet.", nil},
		{"moves", "Na3 Nc3 Nf3 Nh3 a3 a4", nil},
		{"moves g1", "Nf3 Nh3", nil},
		{"moves e4", "Nothing can move from e4.", nil},
		{"moves e9", `"e9" is no square: `, nil},
		{"board", "Board 12, you are White.\nMove 1.\nWhite: king e1", nil},
		{"board 99", "You do not see board 99; 'watch 99' watches it.", nil},
		{"board x", `"x" is not the number of a board.`, nil},
		{"trail", "You have made no move yet.", nil},
		{"e5", "e5 is no legal move on board 12; 'moves' lists those, 'help' the commands.", nil},
		{"Qd4", "Qd4 is no legal move on board 12; no queen can move.", nil},
		{"Nd4", "Nd4 is no legal move on board 12; your knight can play Na3 Nc3 Nf3 Nh3.", nil},
		{"please help me", `"please help me" is neither a move nor a command`, nil},
		{"watch", "", Watch{}},
		{"watch 7", "", Watch{7}},
		{"stop", "", StopWatching{}},
		{"predict e5", "There is no board to predict on", nil},
		{"predictions", "Of which board?", nil},
		{"predictions 7", "", AskPredictions{7, true}},
		{"score", "", AskStats{true}},
		{"ranking", "", AskRanking{}},
		{"name ada", "A name needs an identity; 'identity new' makes one.", nil},
		{"identity", "You are a guest:", nil},
		{"identity new", "", NewIdentity{}},
		{"identity one two", "These are not the words of an identity: an identity has 12 words, not 2.", nil},
		{"identity legal winner thank year wave sausage worth useful legal winner thank yellow", "",
			Login{Mnemonic{Entropy: [16]byte([]byte("\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f"))}}},
		{"identity forget", "You are a guest already.", nil},
		{"terms", "", AskTerms{}},
		{"accept", "", AcceptTerms{}},
		{"QUIT", "", Quit{}},
	} {
		effects := seated(t).Line(noon, c.line)
		if got := said(effects); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%q: got %q, want %q", c.line, got, c.want)
		}
		if c.effect != nil && !slices.Contains(effects, c.effect) {
			t.Errorf("%q: got %+v, want %+v", c.line, effects, c.effect)
		}
	}
}

// TestWatching: events on the watched boards are announced as moves.
func TestWatching(t *testing.T) {
	g := New(Saved{}, nil, true)
	g.Take(noon, Greeted{})
	g.Take(noon, Watching{})
	g.Take(noon, Seen{Reset: true})
	if text := said(g.Take(noon,
		Seen{Board: boardAt(t, 5, chess.StartFEN)})); text != "Board 5: White is to move, move 1." {
		t.Errorf("got %q", text)
	}
	after := boardAt(t, 5, "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1")
	if text := said(g.Take(noon, Seen{Board: after})); text != "Board 5: White plays e4." {
		t.Errorf("got %q", text)
	}
	if text := said(g.Take(noon, Seen{Board: after})); text != "" {
		t.Errorf("nothing has happened: got %q", text)
	}
	if text := said(g.Line(noon, "board 5")); !strings.HasPrefix(text, "Board 5, Black is to move.\nMove 1.") {
		t.Errorf("got %q", text)
	}
	g.Take(noon, Seen{Board: boardAt(t, 6, chess.StartFEN)})
	byBot := boardAt(t, 6, "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1")
	byBot.Bot, byBot.From, byBot.To = true, chess.SquareAt(4, 1), chess.SquareAt(4, 3)
	if text := said(g.Take(noon, Seen{Board: byBot})); text != "Board 6: White, a program, plays e4." {
		t.Errorf("got %q", text)
	}
	if text := said(g.Line(noon, "board 6")); !strings.Contains(text,
		"Last move: White's pawn e2 to e4, by a program.") {
		t.Errorf("got %q", text)
	}
	if text := said(g.Line(noon, "e5")); !strings.HasPrefix(text, "You only watch.") {
		t.Errorf("got %q", text)
	}
	effects := g.Take(noon, Watching{Board: 5})
	if !has(effects, AskPredictions{Board: 5}) {
		t.Errorf("got %+v, want that predictions are asked for", effects)
	}
	if effects := g.Line(noon, "predict e5"); !has(effects, Predict{5, "e7e5", "e5"}) {
		t.Errorf("got %+v", effects)
	}
	if text := said(g.Take(noon,
		Predicted{Predict{5, "e7e5", "e5"}, wire.SubmitCreated})); text != "e5 on board 5 is predicted." {
		t.Errorf("got %q", text)
	}
	if text := said(g.Take(noon, Predictions{5, []Prediction{{"e7e5", 2, true}, {"c7c5", 1, false}},
		true})); text != "Predicted on board 5: e5 by 2 (yours), c5 by 1." {
		t.Errorf("got %q", text)
	}
	g.Take(noon, Seen{Gone: 5})
	if text := said(g.Take(noon, WatchEnded{})); text != "You watch no board any more." || g.Wall.On {
		t.Errorf("got %q", text)
	}
}

// TestPayout: the server's message becomes points of the trail.
func TestPayout(t *testing.T) {
	g := seated(t)
	g.Line(noon, "e4")
	g.Take(noon, Moved{Assignment{Board: boardAt(t, 13, chess.StartFEN)}})
	if text := said(g.Take(noon, Notice{Type: wire.NoticePotPayout, Board: 12,
		Text: "you won 6.67 points"})); text != "Board 12 is won: your moves won 6.67 points." {
		t.Errorf("got %q", text)
	}
	if got := g.Trail[0].String(); got != "e4 on board 12: won, +6.67" {
		t.Errorf("got %q", got)
	}
}

// TestRanking: people and programs are two lists on one page, which is all that a screen
// shows at a time.
func TestRanking(t *testing.T) {
	g := seated(t)
	effects := g.Take(noon, Ranking{Rows: []Rank{{Rank: 1, Name: "ada", Score: 3.25, Rating: 1212, Own: true}},
		Bots: []Rank{{Rank: 1, Name: "guest 4"}}})
	if want := (Show{"1. ada, 3.2 points, rating 1212 (you)\n\nPrograms:\n1. guest 4, 0.0 points"}); len(effects) != 1 || effects[0] != want {
		t.Errorf("got %q, want %q", effects, want)
	}
	if effects := g.Take(noon, Ranking{}); len(effects) != 1 || effects[0] != (Show{"Nobody is ranked yet."}) {
		t.Errorf("of nobody: got %q", effects)
	}
}

// TestAlive: the server gets a sign of life now and then while the player thinks.
func TestAlive(t *testing.T) {
	g := seated(t)
	if !has(g.Touched(noon), Alive{}) || has(g.Touched(noon.Add(signPause-1)), Alive{}) ||
		!has(g.Touched(noon.Add(signPause)), Alive{}) {
		t.Error("a sign of life is due every 30 s, and only then")
	}
}

// TestIdentity: an identity is shown once as words, and kept.
func TestIdentity(t *testing.T) {
	g := seated(t)
	e := Mnemonic{Entropy: [16]byte{1}}
	if effects := g.Take(noon, MadeIdentity{e}); !has(effects, Login{e}) {
		t.Errorf("got %+v", effects)
	}
	effects := g.Take(noon, LoggedIn{Assignment{Board: g.Board}, e})
	if !strings.HasSuffix(said(effects), e.String()) || !has(effects, Keep{}) {
		t.Errorf("got %+v, want the words", effects)
	}
	if effects := g.Line(noon, "name ada"); !has(effects, SetName{"ada"}) {
		t.Errorf("got %+v", effects)
	}
	if text := said(g.Take(noon, Stats{Handle: "ada", Named: true})); text != "You are ada now." {
		t.Errorf("got %q", text)
	}
	if effects := g.Line(noon, "identity forget"); !has(effects, Logout{}) || g.Own != nil {
		t.Errorf("got %+v", effects)
	}
}
