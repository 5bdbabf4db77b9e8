package profile

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/internal/intent"
	"wamble/internal/journal"
	"wamble/wire"
)

// fools is the shortest game: Black mates with its last move.
var fools = strings.Fields("f2f3 e7e5 g2g4 d8h4")

// beforeTheEnd returns a profile with board 1 before the last move of a game. The moves are
// by sessions with these numbers; those above 100 have identities, of rating 1200. The last
// one holds the board, and is greeted, and so are the sessions in here.
func beforeTheEnd(t *testing.T, conf string, moves []string, by []wamble.SessionID, here ...wamble.SessionID) *rig {
	r := newRig(t, "(def min-boards 5) "+conf)
	r.apply()
	for _, s := range by {
		if r.store.sessions[s] == nil && s > 100 {
			r.store.enlist(s, 1200, epoch)
		} else if r.store.sessions[s] == nil {
			token := wamble.Token{0xaa, byte(s)}
			r.store.sessions[s] = &wamble.Session{ID: s, Token: hashOf(token), Created: epoch, LastSeen: epoch}
		}
	}
	b := r.store.boards[1]
	p := chess.Start()
	for i, uci := range moves[:len(moves)-1] {
		m, err := p.ParseUCI(uci)
		if err != nil {
			t.Fatal(err)
		}
		p = p.Play(m)
		b.Moves = append(b.Moves, wamble.Move{Ply: i + 1, UCI: uci, Session: by[i], At: epoch})
	}
	last := by[len(by)-1]
	b.FEN, b.Status, b.Version = p.FEN(), wamble.Reserved, 9
	b.Holder = &wamble.Reservation{Board: 1, Session: last, At: epoch, Expires: epoch.Add(time.Hour)}
	r.restart()
	for _, s := range append([]wamble.SessionID{last}, here...) {
		token, n := r.store.sessions[s].Token, int(s)
		r.send(peerAt(n), helloPacket(tokenOf(token), 1))
		r.answerLoads()
		r.send(peerAt(n), ackPacket(tokenOf(token), 1))
	}
	r.took()
	return r
}

// end makes the last move, and returns the notifications about points and ratings.
func (r *rig) end(s wamble.SessionID, uci string) string {
	r.t.Helper()
	before := len(r.frames)
	r.step(&Packet{Peer: peerAt(int(s)), Data: movePacket(tokenOf(r.store.sessions[s].Token), 1, 2, uci)})
	var words []string
	for _, f := range r.frames[before:] {
		intents, err := journal.Decode(f.frame)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, in := range intents {
			switch in := in.(type) {
			case *intent.RecordPayout:
				words = append(words, fmt.Sprintf("%d gets %g", in.Session, round(in.Points)))
			case *intent.RecordRating:
				how := "by session"
				if !in.Key.IsZero() {
					how = "by key"
				}
				words = append(words, fmt.Sprintf("%d changes by %g %s", in.Session, round(in.Delta), how))
			}
		}
	}
	r.settle()
	return strings.Join(words, ", ")
}

func round(v float64) float64 { return math.Round(v*1e4) / 1e4 }

func TestFinish(t *testing.T) {
	for _, tc := range []struct {
		name, conf string
		moves      []string
		by         []wamble.SessionID
		want       string
	}{
		{"only the winners are paid, by moves", "", fools, []wamble.SessionID{11, 12, 11, 13}, "12 gets 10, 13 gets 10"},
		{"the pot is an option", "(def max-pot 5)", fools, []wamble.SessionID{11, 12, 11, 12}, "12 gets 2.5"},
		{"who played both gets half", "", fools, []wamble.SessionID{11, 12, 12, 13}, "12 gets 5, 13 gets 10"},
		{"only the first so many count", "(def max-contributors 2)", fools, []wamble.SessionID{11, 12, 13, 14}, "12 gets 10"},
		{"a draw", "(def max-moves-per-board 3)", strings.Fields("e2e4 e7e5 g1f3"), []wamble.SessionID{11, 12, 13}, "11 gets 5, 12 gets 5, 13 gets 5"},
		{"no pot", "(def max-pot 0)", fools, []wamble.SessionID{11, 12, 11, 12}, ""},
		{"ratings of those who are here and of those who are not", "", fools, []wamble.SessionID{111, 112, 113, 114},
			"112 gets 10, 114 gets 10, 111 changes by -8 by session, 112 changes by 8 by session, 113 changes by -8 by session, 114 changes by 8 by key"},
		{"anonymous players count, and have no rating", "", fools, []wamble.SessionID{11, 112, 113, 14},
			"112 gets 10, 14 gets 10, 112 changes by 8 by session, 113 changes by -8 by session"},
		{"the stake is an option", "(def k-factor 8) (def max-pot 0)", fools, []wamble.SessionID{111, 112, 111, 112}, "111 changes by -4 by session, 112 changes by 4 by key"},
		{"ratings are off", "(def k-factor 0)", fools, []wamble.SessionID{111, 112, 111, 112}, "112 gets 10"},
		{"another rating to begin with", "(def default-rating 1600) (def max-pot 0)", fools, []wamble.SessionID{11, 112, 11, 112}, "112 changes by 29.0909 by key"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := beforeTheEnd(t, tc.conf, tc.moves, tc.by)
			last := len(tc.by) - 1
			if got := r.end(tc.by[last], tc.moves[last]); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if len(r.out.Finished) != 0 || r.p.Stats().Finished != 1 {
				t.Errorf("%d games finished, want 1", r.p.Stats().Finished)
			}
			r.apply() // the store takes it
		})
	}
}

// TestPayoutIsTold: the winners who are present are told, when it is durable; their stats are
// what the store will have.
func TestPayoutIsTold(t *testing.T) {
	r := beforeTheEnd(t, "", fools, []wamble.SessionID{11, 112, 11, 114}, 112, 11)
	r.stuck = true
	r.end(114, "d8h4")
	if got := r.took(); got != "" {
		t.Errorf("before it is durable: got %s", got)
	}
	r.stuck = false
	r.settle()
	told := map[int]string{}
	for _, s := range r.sent {
		var p wire.Packet
		if err := p.Decode(s.packet); err != nil {
			t.Fatal(err)
		}
		if n, ok := p.Message.(*wire.ServerNotification); ok {
			for _, id := range []int{11, 112, 114} {
				if peerAt(id) == s.to {
					told[id] += fmt.Sprintf("%d %d %s", n.Type, p.Board, n.Text)
				}
			}
		}
	}
	const want = "1 1 your moves won 10 points"
	if len(told) != 2 || told[112] != want || told[114] != want {
		t.Errorf("told were %v, want the winners: %s", told, want)
	}
	for _, id := range []wamble.SessionID{112, 114} {
		s := r.p.sessions.ByID(id)
		if got := r.p.sessions.Rating(s); got != 1208 {
			t.Errorf("session %d: rated %v, want 1208", id, got)
		}
	}
	r.apply()
	for _, id := range []wamble.SessionID{112, 114} {
		if s := r.store.session(id); s.Stats.Score != 10 || s.Stats.Rating != 1208 {
			t.Errorf("stored session %d: got %+v", id, s.Stats)
		}
	}
}

// TestMatingYourselfPaysNothing, though one of the two sessions has left memory, or was never
// in this shard, and the profile was restarted since.
func TestMatingYourselfPaysNothing(t *testing.T) {
	for _, other := range []struct {
		player wamble.PlayerID
		want   string
	}{{112, "114 gets 10"}, {114, ""}} {
		r := beforeTheEnd(t, "(def k-factor 0)", fools, []wamble.SessionID{112, 114, 112, 114})
		r.store.sessions[112].Player = other.player
		r.restart()
		token := tokenOf(r.store.sessions[114].Token)
		r.send(peerAt(114), helloPacket(token, 1))
		r.answerLoads()
		r.send(peerAt(114), ackPacket(token, 1))
		r.took()
		if r.p.sessions.ByID(112) != nil {
			t.Fatal("the other session is in memory")
		}
		if got := r.end(114, "d8h4"); got != other.want {
			t.Errorf("against player %d: got %q, want %q", other.player, got, other.want)
		}
	}
}

// TestOnePlayerTwoSessions: a player is rated once, though they played in two sessions.
func TestOnePlayerTwoSessions(t *testing.T) {
	r := beforeTheEnd(t, "(def max-pot 0)", fools, []wamble.SessionID{11, 112, 11, 114})
	second := r.store.sessions[112]
	second.Key, second.Player, second.Handle = r.store.sessions[114].Key, 114, "h_0114"
	r.send(peerAt(112), helloPacket(tokenOf(second.Token), 1))
	r.answerLoads()
	if got, want := r.end(114, "d8h4"), "112 changes by 16 by key"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	r.apply()
	if got := r.store.players[second.Key].Stats.Rating; got != 1216 {
		t.Errorf("got a rating of %v, want 1216", got)
	}
}

// TestOverAtTheStart: 300 games are over when max-moves-per-board is lowered at a restart.
// All are ended, with result and payouts in one frame each, and the next restart finds none
// of them. Their predictions expire.
func TestOverAtTheStart(t *testing.T) {
	const games, players = 300, 4
	r := newRig(t, `(def min-boards 304) (def prediction-mode "streak")`)
	r.apply()
	var tokens [players]wamble.Token
	for n := range tokens {
		tokens[n], _ = r.join(n + 1)
	}
	r.apply()
	for id := wamble.BoardID(1); id <= games; id++ {
		b := r.store.boards[id]
		p := chess.Start()
		for i, uci := range fools[:3] {
			m, _ := p.ParseUCI(uci)
			p = p.Play(m)
			b.Moves = append(b.Moves,
				wamble.Move{Ply: i + 1, UCI: uci, Session: r.store.session(wamble.SessionID(1 + i)).ID, At: epoch})
		}
		b.FEN, b.Status, b.Holder = p.FEN(), wamble.Active, nil
	}
	predicted := &wamble.Prediction{ID: 9, Board: 1, Session: 1, Ply: 4, UCI: "d8h4", Status: wamble.Pending}
	r.store.predictions = append(r.store.predictions, predicted)
	r.options.Config = configOf(t, `(def min-boards 304) (def max-moves-per-board 3) (def prediction-mode "streak")`)
	r.restart()
	r.wait(time.Second)
	if n := r.p.stats.Damaged; n != 0 {
		t.Errorf("%d boards are damaged", n)
	}
	for _, f := range r.frames {
		intents, err := journal.Decode(f.frame)
		if err != nil {
			t.Fatal(err)
		}
		results, payouts := 0, 0
		for _, in := range intents {
			switch in.(type) {
			case *intent.RecordGameResult:
				results++
			case *intent.RecordPayout:
				payouts++
			}
		}
		if results > 1 || results == 1 && payouts != 3 {
			t.Fatalf("a frame has %d results and %d payouts", results, payouts)
		}
	}
	r.apply()
	for id := wamble.BoardID(1); id <= games; id++ {
		if b := r.store.boards[id]; b.Status != wamble.Archived || b.Result == nil || b.Result.Reason != "move limit" {
			t.Fatalf("board %d is %s with the result %+v", id, b.Status, b.Result)
		}
	}
	if got := predicted.Status; got != wamble.Expired {
		t.Errorf("the prediction is %v, want it expired", got)
	}
	if got := r.p.stats.Finished; got != games {
		t.Errorf("%d games have ended, want %d", got, games)
	}
	r.restart()
	r.wait(time.Second)
	if got := r.p.stats.Finished; got != 0 {
		t.Errorf("%d games have ended again", got)
	}
}
