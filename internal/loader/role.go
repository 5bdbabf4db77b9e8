package loader

import (
	"time"

	"wamble/wire"
)

// Role is what one client does.
type Role uint8

// The roles. In modes other than Spectate, Mixed and JSON every client is a Player.
const (
	Player    Role = iota
	Watcher        // receives updates of all boards
	Predictor      // predicts moves on players' boards, and reads predictions
	Reader         // reads the leaderboard
	Speaker        // plays in JSON over a WebSocket
	roleCount
)

// roles is the table of roles: their names, the units of their answers, and their share of the
// clients of Mixed in percent.
var roles = [roleCount]struct {
	name, unit string
	share      int
}{
	Player:    {"players", "moves", 50},
	Watcher:   {"watchers", "updates", 30},
	Predictor: {"predictors", "requests", 15},
	Reader:    {"leaderboard readers", "pages", 5},
	Speaker:   {"players in JSON", "moves", 0},
}

// String returns the name of r, in the plural.
func (r Role) String() string { return roles[r].name }

// Unit returns the plural noun of what r counts.
func (r Role) Unit() string { return roles[r].unit }

// RoleReport is the result of the clients of one role.
type RoleReport struct {
	Clients  int
	Answered uint64
	Latency  Latency // of requests; empty for Watcher
}

// roleCounts returns the number of clients of each role.
func (o *Options) roleCounts() (n [roleCount]int) {
	switch o.Mode {
	case Spectate:
		n[Player], n[Watcher] = o.Players, o.Clients
	case Mixed:
		for r := Watcher; r < Speaker; r++ {
			n[r] = o.Clients * roles[r].share / 100
		}
		n[Player] = o.Clients - n[Watcher] - n[Predictor] - n[Reader]
	case JSON:
		n[Speaker] = (o.Clients + 9) / 10
		n[Player] = o.Clients - n[Speaker]
	default:
		n[Player] = o.Clients
	}
	return n
}

// moves reports whether a client makes moves.
func (l *load) moves(c *client) bool {
	return (c.role == Player || c.role == Speaker) && l.options.Mode != Hello && l.options.Mode != Legal
}

// pause makes a client wait Options.Think before its next request.
func (l *load) pause(c *client) {
	if l.options.Think == 0 {
		l.next(c)
		return
	}
	c.stage = pausing
	c.request.due = l.now + l.options.Think
}

// watch requests updates of all boards.
func (l *load) watch(c *client) {
	encode(l, c, wire.Header{Token: c.token}, wire.SpectateGame{})
	l.ask(c, asking)
}

// saw counts an update for a watcher.
func (l *load) saw(c *client) {
	if l.phase != measuring {
		return
	}
	l.report.Roles[c.role].Answered++
	if l.options.Mode == Spectate {
		l.report.Answered++
	}
}

// predict sends a prediction for a player's board, or requests the predictions for it.
func (l *load) predict(c *client) {
	of := &l.clients[l.random.IntN(l.report.Roles[Player].Clients)].holds
	h := wire.Header{Token: c.token, Board: of.board}
	moves := of.position.LegalMoves(l.scratch.moves[:0])
	if len(moves) == 0 || l.random.IntN(2) == 0 {
		encode(l, c, h, wire.GetPredictions{})
	} else {
		var text [8]byte
		uci, _ := wire.MakeUCI(moves[l.random.IntN(len(moves))].AppendUCI(text[:0]))
		encode(l, c, h, wire.SubmitPrediction{UCI: uci})
	}
	l.ask(c, asking)
}

// read requests the first page of the leaderboard.
func (l *load) read(c *client) {
	encode(l, c, wire.Header{Token: c.token}, wire.GetLeaderboard{Order: 1, Limit: 10})
	l.ask(c, asking)
}

// handleAnswer handles the answer to a request other than a move or hello.
func (l *load) handleAnswer(c *client) {
	if c.stage != asking {
		return
	}
	l.answered(c, c.request.first)
	l.pause(c)
}

// answered counts a successful answer.
func (l *load) answered(c *client, first time.Duration) {
	if l.phase == measuring {
		role := &l.report.Roles[c.role]
		role.Answered++
		role.Latency.Add(l.now - first)
		if l.options.Mode != Spectate {
			l.report.Answered++
		}
		if c.role == Player {
			l.report.Latency.Add(l.now - first)
			l.second.Add(l.now - first)
			l.report.LongestGap = max(l.report.LongestGap, l.now-l.heard)
		}
	}
	if c.role == Player {
		l.heard = l.now
	}
}
