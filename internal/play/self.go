package play

import (
	"fmt"
	"strings"

	"wamble"
	"wamble/chess"
	"wamble/wire"
)

// name handles the command that sets the player's name.
func (g *Game) name(rest string) {
	switch err := wamble.CheckName(rest); {
	case g.Own == nil:
		g.say("A name needs an identity; 'identity new' makes one.")
	case err != nil:
		g.say("%s", sentence(err.Error(), ""))
	default:
		g.do(SetName{rest})
	}
}

// identity handles the command that shows, creates, imports or deletes the player's identity.
func (g *Game) identity(rest string) {
	switch {
	case rest == "" && g.Own == nil:
		g.say("You are a guest: your score is lost with this computer. 'identity new' makes an identity, 'identity' with its twelve words brings one back, also one from a browser.")
	case rest == "":
		g.show("%s", g.Own.secret())
	case rest == "new" && g.Own != nil:
		g.say("You have an identity. 'identity' shows its words; 'identity forget' forgets it here, for a new one.")
	case rest == "new":
		g.do(NewIdentity{})
	case rest == "forget" && g.Own == nil:
		g.say("You are a guest already.")
	case rest == "forget":
		g.say("This computer has forgotten your identity; its twelve words bring it back.")
		g.Own, g.Stats = nil, Stats{}
		g.do(KeepIdentity{})
		g.do(Logout{})
	default:
		e, err := parseIdentity(rest)
		if err != nil {
			g.say("These are not the words of an identity: %v. One of a client of the original is given by its seed, 32 hexadecimal digits.", err)
			return
		}
		g.do(Login{e})
	}
}

// secret says what the player must keep.
func (m Mnemonic) secret() string {
	if m.Original {
		return "Whoever has this seed of a client of the original is you. Keep it secret, and keep it:\n" + m.String()
	}
	return "Whoever has these twelve words is you, here and in a browser. Keep them secret, and keep them:\n" + m.String()
}

func (g *Game) loggedIn(m LoggedIn) {
	first := g.Own == nil || *g.Own != m.Identity
	g.Own = &m.Identity
	before := g.Board
	g.assign(m.Assignment)
	if first {
		g.show("You have an identity now. %s", m.Identity.secret())
	}
	if g.Board != nil && (before == nil || before.ID != g.Board.ID) {
		g.say("Here is %s.\n%s\n%s", g.Board.Greeting(), g.Board.Facts(), Describe(g.Board.Position))
	}
	g.do(KeepIdentity{g.Own})
	g.do(Keep{})
	g.do(AskStats{})
}

func (g *Game) stats(s Stats) {
	s.Handle = clean(s.Handle)
	g.Stats = s
	who := "You are a guest"
	if s.Handle != "" {
		who = "You are " + s.Handle
	}
	switch {
	case s.Named:
		g.say("%s now.", who)
	case s.Tell:
		g.say("%s: %.1f points in %d games.", who, s.Score, s.Games)
	}
}

func (g *Game) ranking(r Ranking) {
	text := "Nobody is ranked yet."
	if len(r.Rows) > 0 {
		text = rankLines(r.Rows)
	}
	if len(r.Bots) > 0 { // in the same text: a second Show would cover the first
		text += "\n\nPrograms:\n" + rankLines(r.Bots)
	}
	g.show("%s", text)
}

func rankLines(rows []Rank) string {
	var lines []string
	for _, row := range rows {
		line := fmt.Sprintf("%d. %s, %.1f points", row.Rank, row.Name, row.Score)
		if row.Rating >= 0.5 {
			line += fmt.Sprintf(", rating %.0f", row.Rating)
		}
		if row.Own {
			line += " (you)"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func (g *Game) terms(t Terms) {
	switch {
	case t.Accepted:
		g.say("The terms are accepted.")
		g.do(Hello{})
	case t.Text == "":
		g.say("There are no terms.")
	default:
		g.show("%s\n'accept' accepts these terms.", strings.TrimSpace(t.Text))
	}
}

// trail requests the outcome of open moves, and then lists all moves.
func (g *Game) trail(string) {
	if open := g.Open(); len(open) > 0 && !g.Offline {
		g.do(Look{Boards: open, Tell: true})
		return
	}
	g.tellTrail()
}

// shownSteps is how many steps are listed.
const shownSteps = 20

func (g *Game) tellTrail() {
	if len(g.Trail) == 0 {
		g.say("You have made no move yet.")
		return
	}
	var lines []string
	for i := range g.Trail[:min(len(g.Trail), shownSteps)] {
		lines = append(lines, g.Trail[i].String())
	}
	g.show("%s", strings.Join(lines, "\n"))
}

// looked records the outcomes of moves, and tells the player when a game has ended.
func (g *Game) looked(m Looked) {
	changed := false
	for i := range g.Trail {
		s := &g.Trail[i]
		for j := range m.Records {
			if m.Records[j].Board != s.Board || s.Fate.Over() {
				continue
			}
			before := *s
			s.settle(&m.Records[j])
			changed = changed || *s != before
			if s.Fate != before.Fate && s.Fate.Over() && !m.Tell {
				g.say("%s", sentence(s.String(), ""))
			}
		}
	}
	if changed {
		g.do(Keep{})
	}
	if m.Tell {
		g.tellTrail()
	}
}

// submitted has the text for each result of a prediction.
var submitted = map[wire.SubmitStatus]string{
	0:                        "is predicted",
	wire.SubmitCreated:       "is predicted",
	wire.SubmitDuplicate:     "was not predicted: you have predicted there already",
	wire.SubmitDuplicateMove: "is predicted by somebody else already",
	wire.SubmitInvalid:       "was not predicted: it is no legal move there now",
	wire.SubmitLimit:         "was not predicted: too many of your predictions are open",
	wire.SubmitNotAllowed:    "was not predicted: the server does not allow it",
	wire.SubmitNotFound:      "was not predicted: there is no such board any more",
	wire.SubmitDisabled:      "was not predicted: the server has no predictions",
}

func (g *Game) predicted(m Predicted) {
	g.say("%s on board %d %s.", m.SAN, m.Board, submitted[m.Status])
	if m.Board == g.Wall.Focus {
		g.do(AskPredictions{Board: m.Board})
	}
}

func (g *Game) predictions(m Predictions) {
	g.Tree = m
	if !m.Tell {
		return
	}
	if len(m.Rows) == 0 {
		g.say("Nobody has predicted the next move of board %d.", m.Board)
		return
	}
	b := g.find(m.Board)
	var list []string
	for _, row := range m.Rows {
		text := row.UCI
		if b != nil {
			text = Name(b.Position, row.UCI)
		}
		text = fmt.Sprintf("%s by %d", text, row.Count)
		if row.Own {
			text += " (yours)"
		}
		list = append(list, text)
	}
	g.say("Predicted on board %d: %s.", m.Board, strings.Join(list, ", "))
}

// Name returns a legal move in SAN, any other text unchanged.
func Name(p chess.Position, uci string) string {
	if m, err := p.ParseUCI(uci); err == nil {
		return p.SAN(m)
	}
	return uci
}
