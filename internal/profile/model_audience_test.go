package profile

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/prooftest"
	"wamble/wire"
)

// foresight is the judge's record of predictions and of what spectators may see.
type foresight struct {
	predictions map[wamble.PredictionID]*prediction
	fens        map[shownKey]string // every position that each board ever had
	ends        [4]int              // of predictions, by status
}

type prediction struct {
	intent.RecordPrediction
	status wamble.PredictionStatus
}

func newForesight() foresight {
	return foresight{predictions: map[wamble.PredictionID]*prediction{}, fens: map[shownKey]string{}}
}

// predicted checks that a prediction is new, about a move to come, and legal if its ancestors
// come true.
func (j *judge) predicted(in *intent.RecordPrediction) error {
	g := j.games[in.Board]
	if g == nil || g.over || j.predictions[in.ID] != nil || in.Ply <= len(g.movers) {
		return fmt.Errorf("it is not new, or comes too late")
	}
	var chain []string
	ply := in.Ply
	for id := in.Parent; id != 0; {
		p := j.predictions[id]
		if p == nil || p.Board != in.Board || p.Ply != ply-1 || p.status == wamble.Incorrect ||
			p.status == wamble.Expired {
			return fmt.Errorf("it does not follow from %+v", p)
		}
		if p.status == wamble.Pending {
			chain = append(chain, p.UCI)
		}
		ply, id = p.Ply, p.Parent
	}
	if in.Parent == 0 && in.Ply != len(g.movers)+1 {
		return fmt.Errorf("it is not about the next move")
	}
	on := g.position
	for i := len(chain); i >= 0; i-- {
		uci := in.UCI
		if i > 0 {
			uci = chain[i-1]
		}
		m, err := on.ParseUCI(uci)
		if err != nil {
			return fmt.Errorf("%s: %w", uci, err)
		}
		on = on.Play(m)
		if i == 0 {
			break
		}
	}
	j.predictions[in.ID] = &prediction{RecordPrediction: *in}
	return nil
}

// resolved checks that a prediction is resolved once, by the rules.
func (j *judge) resolved(in *intent.ResolvePrediction) error {
	p := j.predictions[in.ID]
	if p == nil || p.Session != in.Session || p.status != wamble.Pending {
		return fmt.Errorf("it is not pending: %+v", p)
	}
	g := j.games[p.Board]
	now, right, points := len(g.movers) == p.Ply, g.last == p.UCI, 0.0
	parent := j.predictions[p.Parent]
	ok := false
	switch in.Status {
	case wamble.Correct:
		ok, points = now && right, math.Pow(2, float64(min(p.Streak, 9)))
	case wamble.Incorrect:
		ok, points = now && !right, -0.25
	case wamble.Expired:
		ok = g.over || parent != nil && (parent.status == wamble.Incorrect || parent.status == wamble.Expired)
	}
	if !ok || in.Points != points {
		return fmt.Errorf("%+v after %d plies, the last %s, pays %g", p, len(g.movers), g.last, points)
	}
	p.status = in.Status
	j.ends[in.Status]++
	return nil
}

// pendingIsOpen checks that no prediction is pending that should be resolved.
func (j *judge) pendingIsOpen() error {
	for id, p := range j.predictions {
		if g := j.games[p.Board]; p.status == wamble.Pending && (g.over || p.Ply <= len(g.movers)) {
			return fmt.Errorf("prediction %d of ply %d was never resolved: the game has %d, over %v", id, p.Ply,
				len(g.movers), g.over)
		}
	}
	return nil
}

// checkBeside checks a packet to a watcher or predictor: what it shows is durable, and it has
// no token but their own.
func (w *world) checkBeside(to wamble.Peer, p *wire.Packet) {
	if c := w.clients[to]; c == nil || p.Token != c.token && !c.token.IsZero() {
		w.t.Fatalf("%v carries a token that is not the reader's", p.Ctrl)
	}
	switch m := p.Message.(type) {
	case *wire.SpectateUpdate:
		version, _ := p.Ext.Int(wire.KeyBoardVersion)
		if want := w.judge.fens[shownKey{p.Board, uint64(version)}]; len(m.FEN) > 0 && want != m.FEN.String() {
			w.t.Fatalf("board %d version %d is shown as %q; durable is %q", p.Board, version, m.FEN, want)
		}
	case *wire.PredictionData:
		for _, row := range m.Rows {
			known := w.judge.predictions[wamble.PredictionID(row.ID)]
			if known == nil {
				w.t.Fatalf("prediction %d is shown, but not durable", row.ID)
			}
			owner, isToken := w.judge.tokens[wamble.Token(row.Author).Hash()]
			if mine := known.Session == w.judge.tokens[p.Token.Hash()]; mine != isToken || mine &&
				owner != known.Session {
				w.t.Fatalf("prediction %d of %d is shown to %d with a token of %d", row.ID, known.Session,
					w.judge.tokens[p.Token.Hash()], owner)
			}
		}
	}
}

// mirror is a watcher's view, by the rules of docs/protocol.md.
type mirror struct {
	generation int64
	boards     map[wamble.BoardID]sighting
}

type sighting struct {
	version int64
	fen     string
}

func (m *mirror) see(p *wire.Packet) {
	fen := p.Message.(*wire.SpectateUpdate).FEN
	generation, _ := p.Ext.Int(wire.KeySpectateGeneration)
	version, _ := p.Ext.Int(wire.KeyBoardVersion)
	if generation < m.generation {
		return
	}
	if generation > m.generation {
		m.generation = generation
		clear(m.boards)
	}
	switch {
	case p.Board == 0 || version < m.boards[p.Board].version:
	case len(fen) == 0:
		delete(m.boards, p.Board)
	default:
		m.boards[p.Board] = sighting{version, fen.String()}
	}
}

// differs returns the first board that differs in a watcher's view.
func (m *mirror) differs(want map[wamble.BoardID]string) string {
	for _, id := range slices.Sorted(maps.Keys(want)) {
		if got := m.boards[id].fen; got != want[id] {
			return fmt.Sprintf("board %d is seen as %q, want %q", id, got, want[id])
		}
	}
	for _, id := range slices.Sorted(maps.Keys(m.boards)) {
		if want[id] == "" {
			return fmt.Sprintf("board %d is seen, but gone", id)
		}
	}
	return ""
}

// saw takes a packet to a watcher or predictor.
func (c *client) saw(p *wire.Packet) {
	state, _ := p.Ext.Text(wire.KeySpectateState)
	if p.Ctrl == wire.CtrlSpectateUpdate && c.mirror != nil && state != wire.SpectateFocus {
		c.mirror.see(p)
	}
	answers := map[wire.Control]wire.Control{
		wire.CtrlSubmitPrediction: wire.CtrlPredictionData, wire.CtrlGetPredictions: wire.CtrlPredictionData,
		wire.CtrlSpectateGame: wire.CtrlSpectateUpdate, wire.CtrlSpectateStop: wire.CtrlSpectateUpdate,
	}
	if c.pending != nil && answers[c.ctrl] == p.Ctrl && !p.Flags.Unreliable() {
		if state == wire.SpectateIdle {
			c.mirror = nil
		}
		c.answered()
	}
}

// watch asks for the summary.
func (c *client) watch() {
	if c.mirror == nil {
		c.mirror = &mirror{boards: map[wamble.BoardID]sighting{}}
	}
	c.ask(wire.CtrlSpectateGame, watchPacket(c.token, 0, c.seq, 0))
}

// actBeside makes a request other than playing, now and then.
func (c *client) actBeside() bool {
	rng := c.w.rng
	board := wamble.BoardID(1 + rng.IntN(60))
	switch n := rng.IntN(100); {
	case n < 40: // a prediction; some are late, some nonsense
		g := c.w.judge.games[board]
		if g == nil {
			return false
		}
		uci, parent := "e9e9", uint64(0)
		if legal := g.position.LegalMoves(nil); len(legal) > 0 {
			uci = legal[rng.IntN(min(len(legal), 4))].String()
		}
		if rng.IntN(3) == 0 && len(c.w.judge.predictions) > 0 {
			parent = uint64(1 + rng.IntN(len(c.w.judge.predictions)))
			if p := c.w.judge.predictions[wamble.PredictionID(parent)]; p != nil {
				board = p.Board
			}
		}
		c.ask(wire.CtrlSubmitPrediction, submitPacket(c.token, board, c.seq, uci, parent))
	case n < 50:
		c.ask(wire.CtrlGetPredictions, treePacket(c.token, board, c.seq, uint8(rng.IntN(4)), uint8(rng.IntN(20))))
	case n < 55:
		c.watch()
	case n < 57:
		c.ask(wire.CtrlSpectateGame, watchPacket(c.token, board, c.seq, 0))
	case n < 58:
		c.ask(wire.CtrlSpectateStop, stopPacket(c.token, c.seq))
	default:
		return false
	}
	return true
}

// settleDown lets everything come to rest: nothing is lost or overtaken, nobody moves, and
// the watchers ask once more when nothing old is under way.
func (w *world) settleDown() []*client {
	w.syncs, w.store.away, w.quiet = true, false, true
	var inputs []Input
	for len(w.groups) > 0 {
		inputs = append(inputs, w.sync()...)
	}
	still := *w.opts.Config
	still.Boards.InactivityTimeout, still.Boards.AwayTimeout = time.Hour, time.Hour // so that no reservation ends
	w.step(append(inputs, &StoreBack{}, &Configure{Config: &still})...)
	w.run(w.now.Add(5 * time.Second))
	var watchers []*client
	for i := range w.arrived {
		c := w.clients[peerAt(i+1)]
		leaves := c != nil && c.pending != nil && c.ctrl == wire.CtrlClientGoodbye
		if c != nil && !c.gone && !leaves && c.mirror != nil && w.judge.tokens[c.token.Hash()] != 0 {
			watchers = append(watchers, c)
			c.seq++
			c.watch()
		}
	}
	w.run(w.now.Add(25 * time.Second))
	return watchers
}

// TestModelOfAudience runs a model in which players also watch and predict: every prediction
// is resolved once and by the rules, nobody sees a token of others or what is not durable,
// and in the end every watcher sees every board as it is.
func TestModelOfAudience(t *testing.T) {
	t.Parallel()
	players, length := prooftest.Sized(150, 300, 6000), prooftest.Sized(20*time.Second, 30*time.Second, 10*time.Minute)
	w := newWorld(t, prooftest.Seed(t), 2, `(def min-boards 6) (def max-boards 60) (def max-players 300) (def max-moves-per-board 14)
		(def new-players-per-ip-per-min 0) (def inactivity-timeout 10) (def session-timeout 60) (def max-client-sessions 100000)
		(def prediction-mode "streak") (def prediction-penalty-incorrect 0.25) (def prediction-max-per-parent 3)
		(def spectator-packets-per-sec 60)`)
	w.audience = true
	w.live(players, length)
	j := w.judge
	if err := j.pendingIsOpen(); err != nil {
		t.Error(err)
	}
	if j.ends[wamble.Correct] == 0 || j.ends[wamble.Incorrect] == 0 || j.ends[wamble.Expired] == 0 {
		t.Errorf("too quiet a world: predictions ended %v", j.ends)
	}
	watchers := w.settleDown()
	want := map[wamble.BoardID]string{}
	for b := range w.p.boards.All() {
		if b.Watchable() {
			want[b.ID()] = wire.ShortFEN(b.FEN())
		}
	}
	for _, c := range watchers {
		if wrong := c.mirror.differs(want); wrong != "" {
			t.Errorf("%v, who waits for %v %v: %s", c.peer, c.ctrl, c.pending != nil, wrong)
		}
	}
	if len(watchers) == 0 {
		t.Error("too quiet a world: nobody watches")
	}
	t.Logf("%d predictions, ended %v; %d watchers see %d boards", len(j.predictions), j.ends, len(watchers), len(want))
}
