package profile

import (
	"fmt"
	"iter"
	"time"

	"wamble"
	"wamble/internal/board"
	"wamble/internal/intent"
	"wamble/internal/journal"
	"wamble/internal/pack"
	"wamble/internal/predict"
	"wamble/internal/session"
)

// After a crash or a handoff a profile is restored from slices of its memory that were written while it ran, and from
// the journal's tail:
//
//	Walk ──▶ slice, slice, slice …      each of one moment, with the last message
//	                                    that it includes
//	         ResumeSlice, …             the slices
//	         ResumeTail, …              all messages since the first slice, applied to
//	                                    the slices that do not include them
//	         ResumeOtherProfile, …         messages of other profiles of the store
//	         ResumeEnd, Ready
//
// The rows of boards, sessions, identities and predictions depend on no others, so their slices may be of
// different moments. Only identities are written after all sessions: what a session adds to its identity is
// counted once.

// The kinds of slices, by their first byte.
const (
	sliceLeases      = 'l' // unused numbers, refused tokens, erased keys, approximate number of boards
	sliceSessions    = 's'
	sliceIdentities  = 'i'
	sliceBoards      = 'b'
	slicePredictions = 'p'
)

// state is an element of a slice.
type state interface{ AppendState(dst []byte) []byte }

// Walk yields the memory of a running profile in slices of about size bytes, each in memory that buffer
// returns. Steps may be made between two slices, not during one.
func (p *Profile) Walk(size int, buffer func() []byte) iter.Seq[[]byte] {
	return p.slices(size, buffer, p.sessions.Walk(), false, p.boards.Walk())
}

func (p *Profile) slices(size int, buffer func() []byte, sessions iter.Seq[*session.Session], handoff bool,
	boards iter.Seq[*board.Board]) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		first := pack.Writer(p.sessions.AppendEnded(saveLeases(p, append(buffer(), sliceLeases))))
		first.Uint(uint64(p.boards.Len()))
		w := walker{size, buffer, yield}
		_ = yield(first) &&
			slice(w, sliceSessions, sessions) &&
			slice(w, sliceIdentities, p.sessions.WalkIdentities(handoff)) &&
			slice(w, sliceBoards, boards) &&
			slice(w, slicePredictions, p.audience.predictions.Walk())
	}
}

type walker struct {
	size   int
	buffer func() []byte
	yield  func([]byte) bool
}

// slice yields states of one kind.
func slice[S state](w walker, kind byte, all iter.Seq[S]) bool {
	dst := append(w.buffer(), kind)
	for s := range all {
		if dst == nil {
			dst = append(w.buffer(), kind)
		}
		if dst = s.AppendState(dst); len(dst) < w.size {
			continue
		}
		if !w.yield(dst) {
			return false
		}
		dst = nil
	}
	return dst == nil || w.yield(dst)
}

// resumption is a profile while it is restored from slices.
type resumption struct {
	*board.Resumption
	p               *Profile
	sessions        map[wamble.SessionID]*resumedSession
	order           []wamble.SessionID
	players         map[wamble.PublicKey]*resumedPlayer
	predictions     map[wamble.BoardID]*resumedTree
	boardOf         map[wamble.PredictionID]wamble.BoardID
	changedByOthers changedByOthers
	visitor         journal.Visitor
	handoff         handoff // nil after a crash
	begun           bool    // a slice of Walk was read
	damaged         bool    // a slice was
}

type resumedSession struct {
	session.Resumed
	lastSeq uint64
}

type resumedPlayer struct {
	wamble.Player
	lastSeq uint64
}

type resumedTree struct {
	rows    []wamble.Prediction
	lastSeq uint64
}

// resumeIndex is the durable index of everything decided before a crash. After a handoff it is the newest one of the
// process before.
const resumeIndex = 1

func (p *Profile) resumption() *resumption {
	if p.resuming == nil {
		p.resuming = &resumption{
			Resumption:      p.boards.Resume(),
			p:               p,
			sessions:        map[wamble.SessionID]*resumedSession{},
			players:         map[wamble.PublicKey]*resumedPlayer{},
			predictions:     map[wamble.BoardID]*resumedTree{},
			boardOf:         map[wamble.PredictionID]wamble.BoardID{},
			changedByOthers: changedByOthers{map[wamble.SessionID]bool{}, map[wamble.PublicKey]bool{}},
		}
		p.watermarks = watermarks{newest: resumeIndex, durable: resumeIndex, resumed: resumeIndex}
		p.transfers.after = resumeIndex
		p.unstored = newUnstored()
	}
	return p.resuming
}

// ResumeSlice is a slice of a Walk. Mark is the last message of the journal that it includes, Ahead how far
// the wall clock was ahead of the times in it.
type ResumeSlice struct {
	Mark  uint64
	Ahead time.Duration
	Data  []byte
}

func (in *ResumeSlice) pack(w *pack.Writer) {
	w.Uint(in.Mark)
	w.Int(int64(in.Ahead))
	w.Bytes(in.Data)
}

func (in *ResumeSlice) unpack(r *pack.Reader) {
	in.Mark, in.Ahead, in.Data = r.Uint(), time.Duration(r.Int()), r.Bytes()
}

func (in *ResumeSlice) apply(p *Profile, out *Output) {
	if p.stage != starting || p.resuming != nil && p.resuming.damaged {
		return
	}
	if err := p.resumption().load(p, in); err != nil {
		p.resuming.damaged = true
		out.Troubles = append(out.Troubles, fmt.Errorf("%w: %w", ErrState, err))
	}
}

func (r *resumption) load(p *Profile, in *ResumeSlice) error {
	if len(in.Data) > 0 && isHandoffSlice(in.Data[0]) {
		return r.take(in.Data[0], in.Data[1:])
	}
	r.begun = true
	reader := pack.NewReader(in.Data)
	switch kind := reader.Octet(); kind {
	case sliceLeases:
		for _, s := range wamble.Sequences() {
			p.leases.Add(s, readBlocks(&reader))
		}
		p.sessions.ReadEnded(&reader, p.watermarks.resumed)
		if reader.Remaining() > 0 { // older versions do not write it
			r.Resumption.Expect(reader.Uint())
		}
	case sliceSessions:
		for reader.Remaining() > 0 && !reader.Bad() {
			s := &resumedSession{session.ReadResumed(&reader), in.Mark}
			s.Created, s.LastSeen = shift(s.Created, in.Ahead), shift(s.LastSeen, in.Ahead)
			r.addSession(s)
		}
	case sliceIdentities:
		for reader.Remaining() > 0 && !reader.Bad() {
			i := &resumedPlayer{session.ReadPlayer(&reader), in.Mark}
			r.players[i.Key] = i
		}
	case sliceBoards:
		return r.Resumption.Load(in.Data[1:], in.Mark, in.Ahead)
	case slicePredictions:
		for reader.Remaining() > 0 && !reader.Bad() {
			id, rows := predict.ReadTree(&reader)
			r.predictions[id] = &resumedTree{rows, in.Mark}
			for i := range rows {
				r.boardOf[rows[i].ID] = id
			}
		}
	default:
		return ErrState
	}
	return sliceError(&reader)
}

func (r *resumption) addSession(s *resumedSession) {
	if r.sessions[s.ID] == nil {
		r.order = append(r.order, s.ID)
	}
	r.sessions[s.ID] = s
}

// ResumeTail is messages of the journal, in order.
type ResumeTail struct{ Messages []TailMessage }

// TailMessage is a message of the journal with its number.
type TailMessage struct {
	Seq   uint64
	Frame []byte
}

func (in *ResumeTail) pack(w *pack.Writer) {
	w.Uint(uint64(len(in.Messages)))
	for _, m := range in.Messages {
		w.Uint(m.Seq)
		w.Bytes(m.Frame)
	}
}

func (in *ResumeTail) unpack(r *pack.Reader) {
	for n := r.Count(); len(in.Messages) < n && !r.Bad(); {
		in.Messages = append(in.Messages, TailMessage{r.Uint(), r.Bytes()})
	}
}

// apply replays the messages. Damaged ones were dead letters and are skipped.
func (in *ResumeTail) apply(p *Profile, _ *Output) {
	if p.stage != starting {
		return
	}
	r := p.resumption()
	for _, m := range in.Messages {
		r.visitor.Visit(m.Frame, func(in intent.Intent) { in.Kind().Row().Apply(r, m.Seq, in) })
	}
}

// ResumeEnd ends the start from slices. Last is the last message of the journal. Alone says that no other
// profile has sessions in the same store; otherwise one may have changed them since. Told says that
// ResumeOtherProfile had all such changes; if not, all sessions are dropped, and read when the store has
// everything. After a handoff none of them counts.
type ResumeEnd struct {
	Last        uint64
	Alone, Told bool
}

func (in *ResumeEnd) apply(p *Profile, out *Output) {
	if p.stage != starting || p.resuming == nil || p.resuming.damaged {
		return
	}
	if err := p.resuming.end(p, in); err != nil {
		p.resuming.damaged = true
		out.Troubles = append(out.Troubles, err)
		return
	}
	p.resuming = nil
}

func (r *resumption) end(p *Profile, in *ResumeEnd) error {
	if r.handoff == nil {
		p.watermarks.pending = append(p.watermarks.pending, pendingIndex{resumeIndex, in.Last})
		p.unstored.shared = !in.Alone
		r.dropChanged(p)
		if !in.Alone && !in.Told {
			r.dropAll()
		}
	}
	p.watermarks.advanceStored()
	over := r.resumeSessions(p)
	p.clock.noteRow(p.clock.label(r.Resumption.Newest()))
	r.Resumption.End(p.clock.now, func(id wamble.SessionID) bool {
		if s := r.sessions[id]; s != nil {
			return !s.Key.IsZero()
		}
		return true // until the store has been asked
	}, &p.frame)
	for _, id := range over {
		p.boards.Leave(p.clock.now, id, &p.frame)
	}
	r.restorePredictions()
	if r.handoff != nil {
		if err := r.handoff.load(p); err != nil {
			return err
		}
	}
	p.onStored()
	return nil
}

// dropAll leaves all sessions to the store.
func (r *resumption) dropAll() {
	for _, id := range r.order {
		if s := r.sessions[id]; s != nil {
			r.drop(s)
		}
	}
}

// resumeSessions takes sessions and identities into memory, and returns the sessions that have ended.
func (r *resumption) resumeSessions(p *Profile) (over []wamble.SessionID) {
	holds := r.Resumption.Holds()
	for _, id := range r.order {
		s := r.sessions[id]
		if s == nil {
			continue
		}
		var player *wamble.Player
		if i := r.players[s.Key]; i != nil {
			player = &i.Player
			s.Player, s.Handle = i.ID, i.Handle
		}
		s.HandedOver = r.handoff != nil
		if _, err := p.sessions.Resume(p.clock.now, &s.Resumed, player, holds[id], p.watermarks.resumed); err != nil {
			p.unstored.add(s.ID, s.Token, s.Key)
			over = append(over, id)
		}
	}
	for key, i := range r.players {
		switch {
		case p.sessions.Identity(key) != nil:
		case r.handoff != nil:
			p.sessions.ResumeIdentity(&i.Player, p.watermarks.resumed)
		default:
			p.unstored.keys[key] = true
		}
	}
	return over
}

func saveLeases(p *Profile, dst []byte) []byte {
	w := pack.Writer(dst)
	for _, s := range wamble.Sequences() {
		blocks := p.leases.Blocks(s)
		w.Uint(uint64(len(blocks)))
		for _, b := range blocks {
			w.Int(b.First)
			w.Int(b.Count)
		}
	}
	return w
}

func readBlocks(r *pack.Reader) (blocks []wamble.Block) {
	for n := r.Uint(); n > 0 && !r.Bad(); n-- {
		b := wamble.Block{First: r.Int(), Count: r.Int()}
		r.Must(b.First > 0 && b.Count > 0)
		blocks = append(blocks, b)
	}
	return blocks
}

// sliceError returns an error unless a slice was read to its last byte.
func sliceError(r *pack.Reader) error {
	if !r.Ended() {
		return ErrState
	}
	return nil
}
