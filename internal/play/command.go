package play

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/wire"
)

// command is a word that the player can type instead of a move.
type command struct {
	name, args string
	help       string
	do         func(g *Game, rest string)
}

// commands is the table of commands. Line handles help, which prints the table.
var commands = []command{
	{"board", "[NUMBER]", "say what stands on your board, or on one that you watch", (*Game).tellBoard},
	{"last", "", "say the last move on your board", (*Game).tellLast},
	{"moves", "[SQUARE]", "list the legal moves, or those from a square", (*Game).tellMoves},
	{"trail", "", "list your last moves and what became of them", (*Game).trail},
	{"watch", "[NUMBER]", "watch all boards, or one", (*Game).watch},
	{"stop", "", "stop watching", func(g *Game, _ string) { g.do(StopWatching{}) }},
	{"predict", "[NUMBER] MOVE", "predict the next move of the board that you watch, or moved on last, or of another one", (*Game).predict},
	{"predictions", "[NUMBER]", "list what is predicted there", (*Game).askPredictions},
	{"score", "", "say your name and score", func(g *Game, _ string) { g.do(AskStats{Tell: true}) }},
	{"ranking", "", "list the best players, and the best programs", func(g *Game, _ string) { g.do(AskRanking{}) }},
	{"name", "NAME", "choose your name: it needs an identity", (*Game).name},
	{"identity", "[new | WORDS | forget]", "show your twelve words, make an identity, take one from its words, or forget it here", (*Game).identity},
	{"terms", "", "show the terms of service", func(g *Game, _ string) { g.do(AskTerms{}) }},
	{"accept", "", "accept them", func(g *Game, _ string) { g.do(AcceptTerms{}) }},
	{"help", "", "this list", nil},
	{"quit", "", "give your board back and leave", func(g *Game, _ string) { g.do(Quit{}) }},
}

// Line handles a line that the player has typed: a move, or a command.
func (g *Game) Line(now time.Time, line string) []Effect {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	i := slices.IndexFunc(commands, func(c command) bool { return strings.EqualFold(c.name, word) })
	switch {
	case word == "":
	case word == "?", i >= 0 && commands[i].do == nil:
		g.help()
	case i >= 0:
		commands[i].do(g, strings.TrimSpace(rest))
	default:
		g.move(now, strings.TrimSpace(line))
	}
	return append(g.flush(), g.Touched(now)...)
}

// Choose plays a move that the player has chosen on the board.
func (g *Game) Choose(now time.Time, m chess.Move) []Effect {
	if g.mayMove() {
		g.play(now, m)
	}
	return g.flush()
}

// Words returns the completions of a prefix: moves on the board for typed moves, then commands.
func (g *Game) Words(prefix string) []string {
	var list []string
	if b := g.movable(); b != nil {
		list = Complete(b.Position, prefix)
	}
	if prefix == "" {
		return list
	}
	head, rest, cut := strings.Cut(prefix, " ")
	if cut && head == "predict" {
		if b := g.target(); b != nil {
			for _, m := range Complete(b.Position, rest) {
				list = append(list, "predict "+m)
			}
		}
		return list
	}
	for _, c := range commands {
		if strings.HasPrefix(c.name, prefix) {
			list = append(list, c.name)
		}
	}
	return list
}

// movable returns the board for typed moves; nil if there is none.
func (g *Game) movable() *Board {
	if g.Sending != nil {
		return nil
	}
	return g.Board
}

// mayMove reports whether the player can move, and tells them why not.
func (g *Game) mayMove() bool {
	switch {
	case g.Sending != nil:
		g.say("Your %s on board %d is still under way.", g.Sending.SAN, g.Sending.Board)
	case g.Only:
		g.say("You only watch. 'predict MOVE' predicts the next move; without --watch you can play.")
	case g.Board == nil:
		g.none()
	default:
		return true
	}
	return false
}

// move plays a typed move.
func (g *Game) move(now time.Time, text string) {
	if len(text) > 12 || strings.ContainsAny(text, " \t") {
		g.say("%q is neither a move nor a command; 'help' lists the commands.", wire.Limit(text, 40))
		return
	}
	if !g.mayMove() {
		return
	}
	if m, ok := g.typed(g.Board, text); ok {
		g.play(now, m)
	}
}

// typed returns the move of a board that a text means. If there is not exactly one, it tells
// the player.
func (g *Game) typed(b *Board, text string) (chess.Move, bool) {
	moves := Typed(b.Position, text)
	switch len(moves) {
	case 1:
		return moves[0], true
	case 0:
		g.say("%s is no legal move on board %d%s.", text, b.ID, hint(b.Position, text))
	default:
		g.say("Which one: %s?", names(b.Position, moves))
	}
	return 0, false
}

// hint returns advice for a player whose text is not a legal move.
func hint(p chess.Position, text string) string {
	if p.InCheck() {
		return fmt.Sprintf("; %s is in check and can play %s", sideName(p.Turn()), names(p, p.LegalMoves(nil)))
	}
	kind := strings.IndexByte("NBRQK", text[0])
	if kind < 0 {
		return "; 'moves' lists those, 'help' the commands"
	}
	want := chess.Knight + chess.Kind(kind)
	moves := filter(p.LegalMoves(nil), func(m chess.Move) bool { return p.PieceAt(m.From()).Kind == want })
	if len(moves) == 0 {
		return fmt.Sprintf("; no %s can move", kindNames[want])
	}
	return fmt.Sprintf("; your %s can play %s", kindNames[want], names(p, moves))
}

func (g *Game) help() {
	var text strings.Builder
	text.WriteString("Type a move, as Nf3 or g1f3, or one of these:\n")
	for _, c := range commands {
		fmt.Fprintf(&text, "%s - %s\n", strings.TrimSpace(c.name+" "+c.args), c.help)
	}
	g.show("%s", strings.TrimSuffix(text.String(), "\n"))
}

// number reads the number of a board; an empty text means otherwise.
func (g *Game) number(text string, otherwise wamble.BoardID) (wamble.BoardID, bool) {
	if text == "" {
		return otherwise, true
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || n == 0 {
		g.say("%q is not the number of a board.", wire.Limit(text, 40))
		return 0, false
	}
	return wamble.BoardID(n), true
}

// find returns a board that the player sees, nil if they do not see it.
func (g *Game) find(id wamble.BoardID) *Board {
	for _, b := range []*Board{g.Board, g.Wall.Boards[id], g.Left} {
		if b != nil && b.ID == id {
			return b
		}
	}
	return nil
}

func (g *Game) tellBoard(rest string) {
	var mine wamble.BoardID
	switch {
	case g.Wall.Focus != 0:
		mine = g.Wall.Focus
	case g.Board != nil:
		mine = g.Board.ID
	}
	id, ok := g.number(rest, mine)
	b := g.find(id)
	switch {
	case !ok:
	case b == nil && rest == "":
		g.none()
	case b == nil:
		g.say("You do not see board %d; 'watch %d' watches it.", id, id)
	case b == g.Board:
		g.show("%s\n%s\n%s", sentence(b.Greeting(), ""), b.Facts(), Describe(b.Position))
	default:
		g.show("Board %d, %s is to move.\n%s\n%s", b.ID, b.Side(), b.Facts(), Describe(b.Position))
	}
}

func (g *Game) tellLast(string) {
	switch {
	case g.Board == nil:
		g.none()
	case g.Board.LastMove() == "":
		g.say("No move was made on board %d yet.", g.Board.ID)
	default:
		g.say("%s", g.Board.LastMove())
	}
}

func (g *Game) tellMoves(rest string) {
	b := g.movable()
	if b == nil {
		g.none()
		return
	}
	if rest == "" {
		g.show("%s", names(b.Position, b.Position.LegalMoves(nil)))
		return
	}
	s, err := chess.ParseSquare(strings.ToLower(rest))
	if err != nil {
		g.say("%q is no square: %v.", wire.Limit(rest, 40), err)
		return
	}
	moves := b.Position.LegalFrom(nil, s)
	if len(moves) == 0 {
		g.say("Nothing can move from %s.", s)
		return
	}
	g.show("%s", names(b.Position, moves))
}

func (g *Game) watch(rest string) {
	if id, ok := g.number(rest, 0); ok {
		g.do(Watch{id})
	}
}

// target returns the board for predictions without a board number.
func (g *Game) target() *Board {
	if g.Wall.Focus != 0 {
		return g.Wall.Boards[g.Wall.Focus]
	}
	return g.Left
}

func (g *Game) predict(rest string) {
	b := g.target()
	first, move, two := strings.Cut(rest, " ")
	if two {
		id, ok := g.number(first, 0)
		if !ok {
			return
		}
		if b = g.find(id); b == nil {
			g.say("You do not see board %d; 'watch %d' watches it.", id, id)
			return
		}
	} else {
		move = rest
	}
	switch {
	case b == nil:
		g.say("There is no board to predict on: make a move, or watch a board with 'watch NUMBER'.")
	case move == "":
		g.say("Which move? 'predict e5' predicts it on board %d.", b.ID)
	default:
		if m, ok := g.typed(b, strings.TrimSpace(move)); ok {
			g.do(Predict{Board: b.ID, UCI: m.String(), SAN: b.Position.SAN(m)})
		}
	}
}

func (g *Game) askPredictions(rest string) {
	var id wamble.BoardID
	if b := g.target(); b != nil {
		id = b.ID
	}
	id, ok := g.number(rest, id)
	switch {
	case !ok:
	case id == 0:
		g.say("Of which board? 'predictions 12' lists those of board 12.")
	default:
		g.do(AskPredictions{Board: id, Tell: true})
	}
}
