package opening

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"wamble/chess"
)

// TestTable: every line is an opening that can be played, and no two name one position.
func TestTable(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(table), "\n")
	line := regexp.MustCompile(`^[A-E][0-9]{2}\t\S[^\t]*\S\t[a-h][1-8][a-h][1-8]( [a-h][1-8][a-h][1-8][qrbn]?)*$`)
	for _, text := range lines {
		if !line.MatchString(text) {
			t.Errorf("%q is no line of the table", text)
		}
	}
	if got, want := len(names()), len(lines); got != want || want < 3000 {
		t.Errorf("%d positions have a name, want %d", got, want)
	}
}

// play returns the moves of a game in SAN.
func play(t testing.TB, game string) (moves []chess.Move) {
	p := chess.Start()
	for san := range strings.FieldsSeq(game) {
		m, err := p.ParseSAN(san)
		if err != nil {
			t.Fatal(err)
		}
		moves = append(moves, m)
		p.Apply(m)
	}
	return moves
}

func TestFind(t *testing.T) {
	for _, tt := range []struct {
		game, want string
	}{
		{"", " 0 false"},
		{"e4", "B00 King's Pawn 1 true"},
		{"e4 c5 Nf3 d6 d4 cxd4 Nxd4 Nf6 Nc3 a6 h3 h5", "B90 Sicilian Defense: Najdorf Variation, Adams Attack 11 true"},
		{"e4 e5 Nf3 Nc6 Bb5 a6", "C70 Ruy Lopez: Morphy Defense 6 true"},
		{"Nf3 d5 d4", "D02 Queen's Pawn Game: Zukertort Variation 3 true"}, // by another order of moves
	} {
		o, plies, ok := Find(chess.Start(), play(t, tt.game))
		if got := strings.TrimLeft(fmt.Sprintf("%s %s %d %v", o.ECO, o.Name, plies, ok),
			" "); got != strings.TrimLeft(tt.want, " ") {
			t.Errorf("%s: %s, want %s", tt.game, got, tt.want)
		}
	}
	if o, ok := Of(chess.Start()); ok {
		t.Errorf("the start is %v", o)
	}
}

func ExampleOf() {
	p, err := chess.ParseFEN("rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2")
	if err != nil {
		panic(err)
	}
	o, _ := Of(p)
	fmt.Println(o.ECO, o.Name)
	// Output: B20 Sicilian Defense
}

func ExampleFind() {
	p := chess.Start()
	var moves []chess.Move
	for _, san := range []string{"d4", "Nf6", "c4", "g6", "Nc3", "Bg7", "e4"} {
		m, err := p.ParseSAN(san)
		if err != nil {
			panic(err)
		}
		moves = append(moves, m)
		p.Apply(m)
	}
	o, plies, _ := Find(chess.Start(), moves)
	fmt.Println(o.ECO, o.Name, "after", plies, "moves")
	// Output: E70 King's Indian Defense: Normal Variation after 7 moves
}
