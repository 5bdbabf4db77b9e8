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

// After a crash a profile is restored from slices of its memory that were written while it ran, and from
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
	return func(yield func([]byte) bool) {
		saved, _ := saveLeases(p, append(buffer(), sliceLeases))
		first := pack.Writer(p.sessions.AppendEnded(saved))
		first.Uint(uint64(p.boards.Len()))
		w := walker{size, buffer, yield}
		_ = yield(first) &&
			slice(w, sliceSessions, p.sessions.Walk()) &&
			slice(w, sliceIdentities, p.sessions.WalkIdentities()) &&
			slice(w, sliceBoards, p.boards.Walk()) &&
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

// resumeIndex is the durable index of everything decided before the start: until the watermark stored has reached
// it, the store lacks some of that.
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
		p.watermarks.newest, p.watermarks.durable = resumeIndex, resumeIndex
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
	if p.stage != starting {
		return
	}
	if err := p.resumption().load(p, in); err != nil {
		out.Troubles = append(out.Troubles, fmt.Errorf("%w: %w", ErrState, err))
	}
}

func (r *resumption) load(p *Profile, in *ResumeSlice) error {
	reader := pack.NewReader(in.Data)
	switch kind := reader.Octet(); kind {
	case sliceLeases:
		for _, s := range wamble.Sequences() {
			p.leases.Add(s, readBlocks(&reader))
		}
		p.sessions.ReadEnded(&reader, resumeIndex)
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
	return sectionError(&reader)
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
// everything.
type ResumeEnd struct {
	Last        uint64
	Alone, Told bool
}

func (in *ResumeEnd) apply(p *Profile, out *Output) {
	if p.stage != starting || p.resuming == nil {
		return
	}
	r := p.resuming
	p.resuming = nil
	p.watermarks.pending = append(p.watermarks.pending, pendingIndex{resumeIndex, in.Last})
	p.watermarks.advanceStored()
	p.unstored.shared = !in.Alone
	r.dropChanged(p)
	if !in.Alone && !in.Told {
		for _, id := range r.order {
			if s := r.sessions[id]; s != nil {
				r.drop(s)
			}
		}
	}
	holds := r.Resumption.Holds()
	var over []wamble.SessionID
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
		if _, err := p.sessions.Resume(p.clock.now, &s.Resumed, player, holds[id], resumeIndex); err != nil {
			p.unstored.add(s.ID, s.Token, s.Key)
			over = append(over, id)
		}
	}
	for key := range r.players {
		if p.sessions.Identity(key) == nil {
			p.unstored.keys[key] = true
		}
	}
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
	p.onStored()
}
