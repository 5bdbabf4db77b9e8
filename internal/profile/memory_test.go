package profile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"wamble"
	"wamble/internal/config"
	"wamble/internal/intent"
)

// secrets are the tokens of the sessions that tests have put into a store.
var secrets sync.Map

// hashOf returns what a store keeps of a token, and tokenOf the token again.
func hashOf(t wamble.Token) wamble.TokenHash {
	secrets.Store(t.Hash(), t)
	return t.Hash()
}

func tokenOf(h wamble.TokenHash) wamble.Token {
	t, _ := secrets.Load(h)
	return t.(wamble.Token)
}

// memory is a store made of maps, simple enough to be right.
type memory struct {
	sessions map[wamble.SessionID]*wamble.Session
	boards   map[wamble.BoardID]*wamble.Board
	shards   map[wamble.BoardID]sentTo // the shard of each board
	arrivals map[wamble.BoardID]sentTo
	from     int                                  // the shard whose intents are applied
	created  map[wamble.TokenHash]*wamble.Session // those that came by an intent
	players  map[wamble.PublicKey]*wamble.Player
	scored   map[scored]bool // payouts and changes of ratings
	shown    []intent.RecordLastMoveShown
	next     [4]int64
	away     bool
	broken   bool // it answers with nonsense
	terms    []accepted
	reserved []wamble.Reservation // the answer for every player
	// predictions are in the order in which they were made.
	predictions []*wamble.Prediction
}

// sentTo is the shard to which a board was sent, and the board's version then.
type sentTo struct {
	shard   int
	version uint64
}

// scored identifies a payout that a session, or a player, gets of a board once.
type scored struct {
	board   wamble.BoardID
	session wamble.SessionID
	key     wamble.PublicKey
}

func newMemory() *memory {
	return &memory{
		players: map[wamble.PublicKey]*wamble.Player{}, scored: map[scored]bool{},
		sessions: map[wamble.SessionID]*wamble.Session{}, boards: map[wamble.BoardID]*wamble.Board{},
		created: map[wamble.TokenHash]*wamble.Session{},
		shards:  map[wamble.BoardID]sentTo{}, arrivals: map[wamble.BoardID]sentTo{},
	}
}

func (m *memory) lease(l Lease) []wamble.Block {
	first := m.next[l.Sequence] + 1
	m.next[l.Sequence] += int64(l.Count)
	return []wamble.Block{{First: first, Count: int64(l.Count)}}
}

// apply applies an intent, and returns an error for what a database would refuse.
func (m *memory) apply(in intent.Intent) error {
	if ok, err := m.applyIdentity(in); ok {
		return err
	}
	switch in := in.(type) {
	case *intent.CreateSession:
		if m.sessions[in.Session] != nil || m.created[in.Token] != nil {
			return fmt.Errorf("session %d exists", in.Session)
		}
		m.sessions[in.Session] = &wamble.Session{ID: in.Session, Token: in.Token, Created: in.At, LastSeen: in.At}
		m.created[in.Token] = m.sessions[in.Session]
		return nil
	case *intent.UpdateSessionLastSeen:
		if m.sessions[in.Session] == nil {
			return fmt.Errorf("session %d is unknown", in.Session)
		}
		if s := m.sessions[in.Session]; s.LastSeen.Before(in.At) {
			s.LastSeen = in.At
		}
		return nil
	case *intent.CreateBoard:
		if m.boards[in.Board] != nil {
			return fmt.Errorf("board %d exists", in.Board)
		}
		m.boards[in.Board] = &wamble.Board{ID: in.Board, Profile: config.DefaultName, FEN: in.FEN, Status: in.Status,
			Variant: in.Variant, Created: in.At}
		m.shards[in.Board] = sentTo{shard: m.from}
		return nil
	}
	return m.applyToBoard(in)
}

func (m *memory) applyToBoard(in intent.Intent) error {
	unknown := func(id wamble.BoardID) error { return fmt.Errorf("%v: board %d is unknown", in.Kind(), id) }
	switch in := in.(type) {
	case *intent.UpdateBoard:
		b := m.boards[in.Board]
		if b == nil {
			return unknown(in.Board)
		}
		if in.Version > b.Version {
			b.FEN, b.Status, b.Version = in.FEN, in.Status, in.Version
		}
	case *intent.UpdateBoardAssignmentTime:
		b := m.boards[in.Board]
		if b == nil {
			return unknown(in.Board)
		}
		b.LastAssigned = in.At
	case *intent.RecordMove:
		b := m.boards[in.Board]
		if b == nil || m.sessions[in.Session] == nil {
			return unknown(in.Board)
		}
		if in.Ply != len(b.Moves)+1 {
			return fmt.Errorf("board %d: move %d after %d", in.Board, in.Ply, len(b.Moves))
		}
		b.Moves = append(b.Moves, wamble.Move{Ply: in.Ply, UCI: in.UCI, Session: in.Session, At: in.At})
		if in.First {
			m.sessions[in.Session].Stats.Games++
		}
	case *intent.CreateReservation:
		b, s := m.boards[in.Board], m.sessions[in.Session]
		if b == nil || s == nil {
			return unknown(in.Board)
		}
		if b.Holder != nil && b.Holder.At.After(in.At) {
			return nil // as the stores do
		}
		b.Holder = &wamble.Reservation{Board: in.Board, Session: in.Session, Key: s.Key, White: in.White, At: in.At,
			Expires: in.Expires}
	case *intent.RemoveReservation:
		b := m.boards[in.Board]
		if b == nil {
			return unknown(in.Board)
		}
		if b.Holder != nil && !b.Holder.At.After(in.At) {
			b.Holder = nil
		}
	case *intent.RecordGameResult:
		b := m.boards[in.Board]
		if b == nil || b.Result != nil {
			return unknown(in.Board)
		}
		b.Result = &wamble.GameResult{Result: in.Result, Plies: in.Plies, Reason: in.Reason, Finished: in.At}
	case *intent.MoveBoard:
		if m.boards[in.Board] == nil {
			return unknown(in.Board)
		}
		if to := (sentTo{in.To, in.Version}); to.version > m.shards[in.Board].version {
			m.shards[in.Board], m.arrivals[in.Board] = to, to
		}
	case *intent.ArriveBoard:
		if sent, there := m.arrivals[in.Board]; there && sent.shard == in.Shard && sent.version <= in.Version {
			delete(m.arrivals, in.Board)
		}
	default:
		return m.applyToScore(in)
	}
	return nil
}

func (m *memory) applyToScore(in intent.Intent) error {
	switch in := in.(type) {
	case *intent.RecordPayout:
		s, b := m.sessions[in.Session], m.boards[in.Board]
		once := scored{board: in.Board, session: in.Session}
		if s == nil || b == nil || b.Result == nil || m.scored[once] {
			return fmt.Errorf("session %d is paid for board %d, which is not over, or again", in.Session, in.Board)
		}
		m.scored[once] = true
		s.Stats.Score += in.Points
	case *intent.RecordRating:
		key := in.Key
		if key.IsZero() {
			key = m.sessions[in.Session].Key
		}
		player, b := m.players[key], m.boards[in.Board]
		once := scored{board: in.Board, key: key}
		if player == nil || b == nil || b.Result == nil || m.scored[once] {
			return fmt.Errorf("session %d is rated for board %d, which is not over, or again", in.Session, in.Board)
		}
		m.scored[once] = true
		player.Stats.Rating += in.Delta
	case *intent.RecordLastMoveShown:
		if m.sessions[in.Session] == nil || m.boards[in.Board] == nil {
			return fmt.Errorf("session %d was shown board %d: one of them is unknown", in.Session, in.Board)
		}
		m.shown = append(m.shown, *in)
	default:
		return m.applyPrediction(in)
	}
	return nil
}

// enlist adds a session with an identity, as if it were old.
func (m *memory) enlist(id wamble.SessionID, rating float64, at time.Time) *wamble.Session {
	key := wamble.PublicKey{1, byte(id), byte(id >> 8), byte(id >> 16)}
	token := wamble.Token(wamble.Token{0xee, byte(id), byte(id >> 8), byte(id >> 16)}.Hash()) // no part of it is another's
	handle := fmt.Sprintf("h_%04d", id)
	m.players[key] = &wamble.Player{ID: wamble.PlayerID(id), Key: key, Handle: handle,
		Stats: wamble.Stats{Rating: rating}}
	m.sessions[id] = &wamble.Session{ID: id, Token: hashOf(token), Player: wamble.PlayerID(id), Key: key,
		Handle: handle, Created: at, LastSeen: at}
	m.created[hashOf(token)] = m.sessions[id]
	return m.sessions[id]
}

// session returns a copy of a stored session, with the rating of its player.
func (m *memory) session(id wamble.SessionID) *wamble.Session {
	s := *m.sessions[id]
	if p := m.players[s.Key]; p != nil {
		s.Stats.Rating = p.Stats.Rating
	}
	return &s
}

func (m *memory) byToken(t wamble.Token) *wamble.Session {
	if s := m.created[hashOf(t)]; s != nil {
		return s
	}
	for _, s := range m.sessions {
		if s.Token == t.Hash() {
			return s
		}
	}
	return nil
}

// liveBoards returns copies of the boards that are not archived, by number.
func (m *memory) liveBoards() []*wamble.Board {
	var live []*wamble.Board
	for _, id := range slices.SortedFunc(maps.Keys(m.boards), cmp.Compare[wamble.BoardID]) {
		if b := m.boards[id]; b.Status != wamble.Archived {
			live = append(live, m.copyOf(b))
		}
	}
	return live
}

// liveBoardsOf returns those of a shard.
func (m *memory) liveBoardsOf(shard int) []*wamble.Board {
	return slices.DeleteFunc(m.liveBoards(), func(b *wamble.Board) bool { return m.shards[b.ID].shard != shard })
}

// arrived returns copies of the boards that were sent to a shard, by number.
func (m *memory) arrived(shard int) (boards []wamble.Board) {
	for _, id := range slices.SortedFunc(maps.Keys(m.arrivals), cmp.Compare[wamble.BoardID]) {
		if m.arrivals[id].shard == shard {
			boards = append(boards, *m.copyOf(m.boards[id]))
		}
	}
	return boards
}

func (m *memory) copyOf(b *wamble.Board) *wamble.Board {
	c := *b
	c.Moves = slices.Clone(b.Moves)
	for i := range c.Moves {
		if s := m.sessions[c.Moves[i].Session]; s != nil && m.players[s.Key] != nil {
			c.Moves[i].Player, c.Moves[i].Handle, c.Moves[i].Rating = s.Player, s.Handle, m.players[s.Key].Stats.Rating
		}
	}
	if b.Holder != nil {
		h := *b.Holder
		if s := m.sessions[h.Session]; s != nil {
			h.Key = s.Key
		}
		c.Holder = &h
	}
	return &c
}

// answer returns the store's answer to a load.
func (m *memory) answer(l Load) Input {
	in := &Loaded{Load: l.ID, Outcome: NotFound}
	if m.away {
		in.Outcome = Away
		return in
	}
	if m.broken {
		in.Outcome = Broken
		return in
	}
	switch l.Subject {
	case GameOf:
		if b := m.boards[l.Board]; b != nil {
			in.Board, in.Outcome = m.copyOf(b), Found
		}
	default:
		m.answerIdentity(l, in)
	}
	return in
}
