package chess

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	rival "github.com/corentings/chess/v2"

	"wamble/chess"
)

// duel is one game played on both sides.
type duel struct {
	ours    chess.Position
	history chess.History
	theirs  *rival.Game
	// passing is set while the history begins with an en passant square.
	passing bool
}

func newDuel(t testing.TB, fen string) duel {
	t.Helper()
	p, err := chess.ParseFEN(fen)
	if err != nil {
		t.Fatalf("ParseFEN(%q): %v", fen, err)
	}
	option, err := rival.FEN(fen)
	if err != nil {
		t.Fatalf("rival: %q: %v", fen, err)
	}
	return duel{ours: p, history: chess.History(nil).Add(&p), theirs: rival.NewGame(option)}
}

// agree compares FEN, legal moves and outcome. Known differences:
//
//   - The rival draws by itself after 75 moves and offers a draw after 50;
//     Wamble draws after 50.
//   - For the rival an en passant square makes a position different even if
//     nothing can be taken there, so it may see a repetition later; FIDE (9.2)
//     and Wamble look at the moves that are possible.
//   - The rival's underpromotions inherit the mark of check from the queen that
//     was tried before them; after one that gives no check it may then forbid
//     castling. See play.
func (d *duel) agree(t testing.TB) {
	t.Helper()
	if got, want := d.ours.FEN(), d.theirs.Position().String(); got != want {
		t.Fatalf("FEN\nours   %s\ntheirs %s", got, want)
	}
	var ours, theirs []string
	for _, m := range d.ours.LegalMoves(nil) {
		ours = append(ours, m.String())
	}
	for _, m := range d.theirs.ValidMoves() {
		theirs = append(theirs, m.String())
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	if !slices.Equal(ours, theirs) {
		t.Fatalf("%s\nours   %v\ntheirs %v", d.ours, ours, theirs)
	}
	got, want := d.ours.Outcome(d.history), d.rivalOutcome()
	if got.Reason == chess.FivefoldRepetition && d.passing && want == (chess.Outcome{}) {
		return
	}
	if got != want {
		t.Fatalf("%s\nours   %v\ntheirs %v", d.ours, got, want)
	}
}

// rivalOutcome translates the rival's outcome.
func (d *duel) rivalOutcome() chess.Outcome {
	result := map[rival.Outcome]chess.Result{
		rival.NoOutcome: chess.InProgress,
		rival.WhiteWon:  chess.WhiteWins,
		rival.BlackWon:  chess.BlackWins,
		rival.Draw:      chess.Draw,
	}[d.theirs.Outcome()]
	reason := map[rival.Method]chess.Reason{
		rival.Checkmate:            chess.Checkmate,
		rival.Stalemate:            chess.Stalemate,
		rival.InsufficientMaterial: chess.InsufficientMaterial,
		rival.FivefoldRepetition:   chess.FivefoldRepetition,
	}[d.theirs.Method()]
	if result == chess.InProgress && slices.Contains(d.theirs.EligibleDraws(), rival.FiftyMoveRule) {
		return chess.Outcome{Result: chess.Draw, Reason: chess.FiftyMoves}
	}
	return chess.Outcome{Result: result, Reason: reason}
}

// play makes the same legal move on both sides.
func (d *duel) play(t testing.TB, m chess.Move) {
	t.Helper()
	for _, theirs := range d.theirs.ValidMoves() {
		if theirs.String() == m.String() {
			if err := d.theirs.UnsafeMove(&theirs, nil); err != nil {
				t.Fatalf("%s: rival refuses %s: %v", d.ours, m, err)
			}
			d.ours = d.ours.Play(m)
			if d.history = d.history.Add(&d.ours); len(d.history) == 1 {
				d.passing = d.ours.EnPassant().Valid()
			}
			if kind := m.Promotion(); kind != chess.None && kind != chess.Queen {
				d.refresh(t)
			}
			return
		}
	}
	t.Fatalf("%s: the rival does not know %s", d.ours, m)
}

// refresh makes the rival look at its own position afresh. It is called after
// underpromotions only, where no earlier position can come back.
func (d *duel) refresh(t testing.TB) {
	t.Helper()
	fen := d.theirs.Position().String()
	option, err := rival.FEN(fen)
	if err != nil {
		t.Fatalf("rival: %q: %v", fen, err)
	}
	d.theirs = rival.NewGame(option)
}

// starts are the starting positions: openings, and positions that random games from the start
// rarely reach.
var starts = []string{
	chess.StartFEN,
	"r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
	"r3k2r/pppppppp/8/8/8/8/PPPPPPPP/R3K2R w KQkq - 0 1",
	"r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
	"8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
	"4k3/pppppppp/8/8/8/8/PPPPPPPP/4K3 w - - 0 1",
	"8/k1b5/8/3B4/8/8/1n6/K7 w - - 80 100",
	"6k1/8/8/8/8/8/8/K6R w - - 0 1",
}

func TestRandomGamesAgree(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("WAMBLE_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("WAMBLE_SEED: %v", err)
		}
	}
	t.Logf("WAMBLE_SEED=%d", seed)
	games := 40
	if os.Getenv("WAMBLE_SOAK") == "1" {
		games = 1000
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	reasons := map[chess.Reason]int{}
	plies := 0
	for i := range games {
		d := newDuel(t, starts[i%len(starts)])
		for range 160 {
			d.agree(t)
			moves := d.ours.LegalMoves(nil)
			if d.ours.Outcome(d.history).Over() {
				break
			}
			d.play(t, moves[rng.IntN(len(moves))])
			plies++
		}
		reasons[d.ours.Outcome(d.history).Reason]++
	}
	t.Logf("%d games, %d plies, ended by %v", games, plies, reasons)
	if plies < games {
		t.Errorf("only %d plies in %d games", plies, games)
	}
}

// TestScriptedGamesAgree plays the ends that random games rarely reach.
func TestScriptedGamesAgree(t *testing.T) {
	for _, c := range []struct {
		name, moves string
		want        chess.Reason
	}{
		{"fool's mate", "f2f3 e7e5 g2g4 d8h4", chess.Checkmate},
		{"fivefold repetition", strings.Repeat("g1f3 g8f6 f3g1 f6g8 ", 4), chess.FivefoldRepetition},
		{"quickest stalemate", "e2e3 a7a5 d1h5 a8a6 h5a5 h7h5 h2h4 a6h6 a5c7 f7f6 c7d7 e8f7 d7b7 d8d3 b7b8 d3h7 b8c8 f7g6 c8e6", chess.Stalemate},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDuel(t, chess.StartFEN)
			for uci := range strings.FieldsSeq(c.moves) {
				m, err := d.ours.ParseUCI(uci)
				if err != nil {
					t.Fatalf("%s in %s: %v", uci, d.ours, err)
				}
				d.play(t, m)
				d.agree(t)
			}
			if got := d.ours.Outcome(d.history).Reason; got != c.want {
				t.Errorf("the game ended by %s, want %s", got, c.want)
			}
		})
	}
}

// FuzzAgree lets the fuzzer choose the moves: byte by byte, modulo their
// number.
func FuzzAgree(f *testing.F) {
	f.Add(uint8(0), []byte("\x00\x01\x02\x03"))
	f.Add(uint8(1), []byte("castle and capture"))
	f.Add(uint8(7), []byte("\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01"))
	f.Fuzz(func(t *testing.T, start uint8, choices []byte) {
		d := newDuel(t, starts[int(start)%len(starts)])
		for _, choice := range choices[:min(len(choices), 200)] {
			d.agree(t)
			moves := d.ours.LegalMoves(nil)
			if d.ours.Outcome(d.history).Over() {
				return
			}
			slices.Sort(moves)
			d.play(t, moves[int(choice)%len(moves)])
		}
		d.agree(t)
	})
}
