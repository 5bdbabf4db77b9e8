package play

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"wamble"
	"wamble/chess"
	"wamble/wire"
)

// Game is the state of a player. It is used by one goroutine.
type Game struct {
	Board   *Board // the board that the player holds; nil if none
	Place   int    // place in the queue for a board
	Sending *Step  // the move in flight
	Offline bool   // the connection is lost
	Trail   []Step // the player's moves, newest first
	// Left is the board after the player's last move: they can predict the answer.
	Left *Board

	Only  bool // the player only watches and wants no board
	Wall  Wall
	Tree  Predictions // of the board requested last
	Stats Stats
	Caps  wire.SessionCaps
	Own   *Mnemonic // the player's identity; nil for a guest

	followed int        // number of Follow calls that looked at a board
	asking   bool       // a delayed Hello is waiting
	standing []standing // announcements that stay, newest last
	signed   time.Time  // when the server last heard that the player is active

	out []Effect
}

// The pause before a player without a board asks again, and the interval of Alive.
const (
	noBoardPause = 3 * time.Second
	signPause    = 30 * time.Second
)

// New returns the game of a player, with what was stored on their last visit.
func New(saved Saved, own *Mnemonic, only bool) *Game {
	return &Game{Trail: saved.Trail, Sending: saved.Pending, Own: own, Only: only}
}

// Saved returns what is to be stored.
func (g *Game) Saved() Saved { return Saved{Trail: g.Trail, Pending: g.Sending} }

func (g *Game) say(format string, args ...any)  { g.do(Say{clean(fmt.Sprintf(format, args...))}) }
func (g *Game) show(format string, args ...any) { g.do(Show{clean(fmt.Sprintf(format, args...))}) }
func (g *Game) do(e Effect)                     { g.out = append(g.out, e) }

// clean removes characters that could control a terminal: servers pass on texts of other
// players.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || unicode.IsPrint(r) {
			return r
		}
		return -1
	}, text)
}

// flush returns the pending effects.
func (g *Game) flush() []Effect {
	out := g.out
	g.out = nil
	return out
}

// Touched records that the player is active, so that their board stays reserved.
func (g *Game) Touched(now time.Time) []Effect {
	if g.Board != nil && !g.Offline && now.Sub(g.signed) >= signPause {
		g.signed = now
		g.do(Alive{})
	}
	return g.flush()
}

// Take handles a message and returns the effects.
func (g *Game) Take(now time.Time, m Msg) []Effect {
	switch m := m.(type) {
	case Greeted:
		g.greeted(m.Assignment)
	case Moved:
		g.moved(now, m.Assignment)
	case Given:
		g.given(m.Assignment)
	case Away:
		g.away()
	case Back:
		g.back(m.Assignment)
	case Ended:
		g.Offline = true
		g.say("The server has ended the session: %s.", because(m.Why))
		g.do(Quit{})
	case Refused:
		g.refused(now, m)
	case Notice:
		g.notice(now, m)
	case Predicted:
		g.predicted(m)
	case Predictions:
		g.predictions(m)
	case Stats:
		g.stats(m)
	case Ranking:
		g.ranking(m)
	case MadeIdentity:
		g.do(Login(m))
	case LoggedIn:
		g.loggedIn(m)
	case Terms:
		g.terms(m)
	case Watching:
		g.watching(m)
	case Seen:
		g.seen(m)
	case WatchEnded:
		g.watchEnded(m)
	case Looked:
		g.looked(m)
	}
	return g.flush()
}

// assign shows what the server gives the player.
func (g *Game) assign(s Assignment) {
	g.Board, g.Place = s.Board, s.Place
	if s.Caps != 0 {
		g.Caps = s.Caps
	}
}

// greeted handles the answer to a hello.
func (g *Game) greeted(s Assignment) {
	g.asking = false
	before := g.Board
	waited := g.Place
	g.assign(s)
	if s.Renewed {
		g.renewed()
	}
	switch {
	case g.Board == nil:
		if before != nil || g.Place != waited || waited == 0 {
			g.none()
		}
		g.askAgain()
	case before == nil || before.ID != g.Board.ID:
		g.say("Here is %s.\n%s\n%s", g.Board.Greeting(), g.Board.Facts(), Describe(g.Board.Position))
	}
	g.resend()
	g.do(Keep{})
}

func (g *Game) renewed() {
	g.say("Your earlier session has ended; you are a new player now.")
	if s := g.Sending; s != nil { // the new player does not hold the board of that move
		g.say("Your %s on board %d was not answered; the trail will show what became of it.", s.SAN, s.Board)
		g.remember(*s)
		g.Sending = nil
	}
	if g.Own != nil {
		g.do(Login{*g.Own})
	}
}

// resend sends the move again that was in flight when the player left.
func (g *Game) resend() {
	s := g.Sending
	if s == nil {
		return
	}
	if g.Board != nil && g.Board.ID == s.Board {
		if _, err := g.Board.Position.ParseUCI(s.UCI); err == nil {
			g.say("Your %s on board %d was not answered when you left. It is sent again.", s.SAN, s.Board)
			g.do(Move{Board: s.Board, UCI: s.UCI})
			return
		}
	}
	g.say("Your %s on board %d was not answered when you left; the trail will show what became of it.", s.SAN, s.Board)
	g.remember(*s)
	g.Sending = nil
}

// none tells the player that they have no board.
func (g *Game) none() {
	switch {
	case g.Only:
	case g.Place > 1:
		g.say("Every board is being played on; %d get one before you. 'watch' shows the others meanwhile.", g.Place-1)
	default:
		g.say("Every board is being played on; you get the next one that is free. 'watch' shows the others meanwhile.")
	}
}

func (g *Game) askAgain() {
	if !g.Only && !g.asking {
		g.asking = true
		g.do(Hello{After: noBoardPause})
	}
}

// play sends a move on the board that the player holds.
func (g *Game) play(now time.Time, m chess.Move) {
	b := g.Board
	g.Sending = &Step{Board: b.ID, UCI: m.String(), SAN: b.Position.SAN(m), Ply: b.Position.Ply() + 1, At: now}
	g.Left = b.after(m)
	g.do(Keep{})
	if g.Offline {
		g.say("Your %s is kept, and sent as soon as the server is back.", g.Sending.SAN)
	}
	g.do(Move{Board: b.ID, UCI: m.String()})
}

// moved handles an accepted move: the player is switched to another board.
func (g *Game) moved(now time.Time, s Assignment) {
	g.signed = now
	step := g.Sending
	g.Sending = nil
	g.assign(s)
	if step != nil {
		g.remember(*step)
		g.say("%s", g.switched(step))
	}
	if g.Board == nil {
		g.none()
		g.askAgain()
	}
	g.do(Keep{})
}

// switched describes the switch.
func (g *Game) switched(step *Step) string {
	stays := fmt.Sprintf("Your %s stays on board %d", step.SAN, step.Board)
	if strings.HasSuffix(step.SAN, "#") {
		stays = fmt.Sprintf("Checkmate! Your %s ends the game on board %d", step.SAN, step.Board)
	}
	if g.Board == nil {
		return stays + "."
	}
	return fmt.Sprintf("%s; here is %s.\n%s\n%s", stays, g.Board.Greeting(), g.Board.Facts(),
		Describe(g.Board.Position))
}

// given handles a board that the server assigned by itself.
func (g *Game) given(s Assignment) {
	before := g.Board
	if g.Sending != nil && s.Board != nil && s.Board.ID == g.Sending.Board {
		return // this is the board of the move in flight
	}
	g.assign(s)
	switch {
	case g.Board == nil:
		if before != nil {
			g.none()
		}
		g.askAgain()
		return
	case before != nil && before.ID != g.Board.ID:
		g.say("Board %d is no longer yours; here is %s.", before.ID, g.Board.Greeting())
	case before == nil:
		g.say("Here is %s.", g.Board.Greeting())
	case samePlacement(before.Position, g.Board.Position):
		return
	default:
		g.say("Board %d has changed.", g.Board.ID)
	}
	g.say("%s\n%s", g.Board.Facts(), Describe(g.Board.Position))
}

func (g *Game) away() {
	g.Offline = true
	if g.Sending != nil {
		g.say("Connection lost. Your %s is kept and will be sent; reconnecting …", g.Sending.SAN)
		return
	}
	g.say("Connection lost; reconnecting …")
}

func (g *Game) back(s Assignment) {
	g.Offline = false
	g.say("Connected again.")
	if g.Sending != nil && !s.Renewed {
		return // its answer shows the board
	}
	g.greeted(s)
}

// refused tells the player why an effect failed.
func (g *Game) refused(now time.Time, r Refused) {
	switch what := r.What.(type) {
	case Move:
		g.moveRefused(now, r)
	case Hello:
		g.asking = false
		g.Board = nil
		g.say("There is no board for you: %s.", because(r.Why))
		g.askAgain()
	case Look:
		if what.Tell {
			g.tellTrail()
		}
	case AskStats:
		if what.Tell {
			g.say("Your score is not shown: %s.", because(r.Why))
		}
	case Login:
		g.say("The identity was not accepted: %s.", because(r.Why))
	case Watch:
		g.say("Watching: %s.", because(r.Why))
	case Predict:
		g.say("%s on board %d was not predicted: %s.", what.SAN, what.Board, because(r.Why))
	default:
		g.say("That did not work: %s.", because(r.Why))
	}
}

func (g *Game) moveRefused(now time.Time, r Refused) {
	step := g.Sending
	if step == nil {
		return
	}
	if r.Made {
		g.moved(now, Assignment{})
		return
	}
	g.Sending, g.Left = nil, nil
	switch {
	case r.Unsure:
		g.remember(*step)
		g.say("The connection broke while your %s on board %d was under way; the trail will show what became of it.",
			step.SAN, step.Board)
	default:
		g.say("Your %s on board %d was not played: %s.", step.SAN, step.Board, because(r.Why))
	}
	g.do(Keep{})
	g.do(Hello{})
}

// reasons maps servers' texts to plain words.
var reasons = map[string]string{
	"move rejected (status=1)":  "the request was malformed",
	"move rejected (status=2)":  "the board is no longer yours",
	"move rejected (status=3)":  "it was not your turn",
	"move rejected (status=4)":  "it is not a move",
	"move rejected (status=5)":  "it is not legal",
	"terms acceptance required": "the terms are not accepted; 'terms' shows them, 'accept' accepts them",
	"log in first":              "that needs an identity; 'identity new' makes one",
}

// because returns a reason in plain words.
func because(why string) string {
	if words, ok := reasons[why]; ok {
		return words
	}
	if why == "" {
		return "the server does not allow it"
	}
	return strings.TrimRight(why, ".")
}

// notice tells the player what the server sent by itself.
func (g *Game) notice(now time.Time, n Notice) {
	if n.ID != 0 {
		g.announced(now, n)
		return
	}
	switch n.Type {
	case wire.NoticePotPayout:
		g.paid(n.Board, n.Text)
		g.do(AskStats{})
	case wire.NoticeSpectateEnded:
		g.say("%s", sentence(n.Text, "Watching has ended"))
	case wire.NoticeReservationReleased:
		g.say("Your time for board %d is over; others may move there now.", n.Board)
	case wire.NoticeSessionExpired:
		g.say("%s", sentence(n.Text, "Your session has expired"))
		g.do(Hello{})
	default:
		g.say("%s", sentence(n.Text, "The server has something to say, but no words"))
	}
}

// standing is an announcement that stays.
type standing struct {
	id        int64
	text      string
	until     time.Time
	countdown bool
}

// at returns the text of the announcement at a time.
func (s *standing) at(now time.Time) string {
	if !s.countdown {
		return s.text
	}
	return fmt.Sprintf("%s In %s.", s.text, roughly(s.until.Sub(now)))
}

// maxStanding is how many announcements are remembered.
const maxStanding = 16

// announced tells the player an announcement that stays, once.
func (g *Game) announced(now time.Time, n Notice) {
	at := slices.IndexFunc(g.standing, func(s standing) bool { return s.id == n.ID })
	if n.For == 0 {
		if at >= 0 {
			g.standing = slices.Delete(g.standing, at, at+1)
		}
		g.say("%s", sentence(n.Text, "An announcement is withdrawn"))
		return
	}
	s := standing{n.ID, clean(sentence(n.Text, "The server has something to say, but no words")), now.Add(n.For),
		n.Countdown}
	if at >= 0 {
		g.standing[at] = s
		return
	}
	g.standing = append(g.standing[max(0, len(g.standing)+1-maxStanding):], s)
	g.say("%s", s.at(now))
}

// Announced returns the text of the newest announcement that stays at a time; "" if there is
// none.
func (g *Game) Announced(now time.Time) string {
	for _, s := range slices.Backward(g.standing) {
		if now.Before(s.until) {
			return s.at(now)
		}
	}
	return ""
}

// roughly returns a duration in words.
func roughly(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", int(d.Hours())/24)
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d hours", int(d.Hours()))
	case d >= 2*time.Minute:
		return fmt.Sprintf("%d minutes", int(d.Minutes()))
	}
	return fmt.Sprintf("%d seconds", int(d.Seconds()))
}

// paid records the points that a board has paid: the first number in the server's text.
func (g *Game) paid(board wamble.BoardID, text string) {
	from := strings.IndexAny(text, "0123456789")
	if from < 0 {
		return
	}
	points, _, _ := strings.Cut(text[from:], " ")
	for i := range g.Trail {
		if g.Trail[i].Board == board && g.Trail[i].Fate != NotPlayed {
			g.Trail[i].Fate, g.Trail[i].Paid = Won, points
		}
	}
	if board == 0 {
		g.say("Your moves won %s points.", points)
	} else {
		g.say("Board %d is won: your moves won %s points.", board, points)
	}
	g.do(Keep{})
}

// sentence makes text a sentence; an empty text is replaced by otherwise.
func sentence(text, otherwise string) string {
	if text == "" {
		text = otherwise
	}
	text = strings.ToUpper(text[:1]) + text[1:]
	if !strings.ContainsAny(text[len(text)-1:], ".!?") {
		text += "."
	}
	return text
}
