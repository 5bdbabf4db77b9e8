package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"wamble/internal/profile"
)

// peerMessage is a message from one node to all others: changes in a database, or a host's
// command to a profile.
type peerMessage struct {
	Database string `json:",omitempty"`
	Profile  string `json:",omitempty"`
	Input    string // encoded by profile.AppendInput, in base64
}

// messageBatch is a batch of messages, which becomes one note in the database.
type messageBatch struct {
	Name    string // the note's
	Letters []peerMessage
}

// outbox is the queue of messages that are written to the database.
type outbox struct {
	wake     chan struct{} // capacity 1: a message was queued
	flushNow chan struct{} // capacity 1: the next envelope is not delayed

	mu         sync.Mutex // guards what follows
	pending    []peerMessage
	sending    messageBatch  // being written, or written and not confirmed; without messages if none is
	number     int           // of the last envelope
	paused     bool          // no new envelope is made: the next process sends what waits
	added      uint64        // number of messages queued so far
	flushed    uint64        // number of messages written so far
	progressed chan struct{} // closed when posted grows
}

func newOutbox() outbox {
	return outbox{wake: make(chan struct{}, 1), flushNow: make(chan struct{}, 1), progressed: make(chan struct{})}
}

const (
	peerMessagePrefix  = "news/"
	peerMessageEvery   = 100 * time.Millisecond // interval between two envelopes
	peerMessageMaxAge  = time.Minute            // after which notes with messages are deleted
	maxPendingMessages = 4096                   // in the queue; urgent ones are queued beyond that

	// flushTimeout bounds the flush of a command, of a stop, and of a handoff while players
	// are still served. LastTime bounds the flush of a handoff while they wait.
	flushTimeout        = 2 * time.Second
	handoffFlushTimeout = 100 * time.Millisecond
)

// broadcastInput queues a host's command to a profile for the other nodes.
func (p *peers) broadcastInput(profile string, in profile.Input) {
	p.enqueue(peerMessage{Profile: profile}, in)
}

// enqueue queues a message with an input. It is dropped if it is not urgent and the queue is full.
func (p *peers) enqueue(l peerMessage, in profile.Input) {
	b, err := profile.AppendInput(nil, in)
	if err != nil {
		p.s.warn(err)
		return
	}
	l.Input = base64.StdEncoding.EncodeToString(b)
	p.outbox.mu.Lock()
	if len(p.outbox.pending) < maxPendingMessages || isUrgent(in) {
		p.outbox.pending = append(p.outbox.pending, l)
		p.outbox.added++
	}
	p.outbox.mu.Unlock()
	wake(p.outbox.wake)
}

// isUrgent reports whether an input is urgent: a command, or news of a pressing change.
func isUrgent(in profile.Input) bool {
	events, ok := in.(*profile.StoreEvents)
	return !ok || slices.ContainsFunc(events.Changes, func(c profile.StoreEvent) bool { return c.What.Urgent() })
}

// wake sends to a channel of capacity 1 unless it is full.
func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// sendLoop writes envelopes to the database until ctx ends. After an error an envelope is
// written again under the same name, because the first attempt may have succeeded.
func (p *peers) sendLoop(ctx context.Context) {
	for {
		select {
		case <-p.outbox.wake:
		case <-ctx.Done():
			return
		}
		e := p.nextBatch()
		if len(e.Letters) == 0 {
			continue
		}
		b, err := json.Marshal(e.Letters)
		p.s.warn(err)
		for {
			err := p.s.sharedJournal.log.Note(ctx, p.s.sharedJournal.name, e.Name, string(b))
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				return
			}
			p.s.log.Warn("other machines are told later", "err", err)
			sleep(ctx, peerMessageEvery)
		}
		p.batchSent()
		select {
		case <-time.After(peerMessageEvery):
		case <-p.outbox.flushNow:
		case <-ctx.Done():
		}
	}
}

// nextBatch returns the envelope to write next: the unconfirmed one, or a new one with all messages
// that wait. Names of envelopes are unique across handoffs.
func (p *peers) nextBatch() messageBatch {
	p.outbox.mu.Lock()
	defer p.outbox.mu.Unlock()
	if len(p.outbox.sending.Letters) == 0 && len(p.outbox.pending) > 0 && !p.outbox.paused {
		p.outbox.number++
		p.outbox.sending = messageBatch{fmt.Sprintf("%s%s/%x-%d", peerMessagePrefix, p.s.sharedJournal.log.Self(), p.s.started.UnixNano(), p.outbox.number), p.outbox.pending}
		p.outbox.pending = nil
	}
	return p.outbox.sending
}

// batchSent confirms that the envelope was written.
func (p *peers) batchSent() {
	p.outbox.mu.Lock()
	defer p.outbox.mu.Unlock()
	p.outbox.flushed += uint64(len(p.outbox.sending.Letters))
	p.outbox.sending = messageBatch{}
	close(p.outbox.progressed)
	p.outbox.progressed = make(chan struct{})
	if len(p.outbox.pending) > 0 {
		wake(p.outbox.wake)
	}
}

// flush waits until all messages queued so far are in the database. Error: that of ctx.
func (p *peers) flush(ctx context.Context) error {
	p.outbox.mu.Lock()
	upTo := p.outbox.added
	p.outbox.mu.Unlock()
	for {
		p.outbox.mu.Lock()
		posted, moved := p.outbox.flushed, p.outbox.progressed
		p.outbox.mu.Unlock()
		if posted >= upTo {
			return nil
		}
		wake(p.outbox.flushNow)
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// flushWithin is flush with a time limit. Letters that are not written by then are written
// later. It does nothing if a is nil.
func (p *peers) flushWithin(ctx context.Context, most time.Duration) {
	if p == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	if err := p.flush(ctx); err != nil {
		p.s.log.Warn("other machines are told later: the journal's database takes too long", "err", err)
	}
}

// setPaused stops or resumes the making of new envelopes.
func (p *peers) setPaused(on bool) {
	if p == nil {
		return
	}
	p.outbox.mu.Lock()
	p.outbox.paused = on
	p.outbox.mu.Unlock()
	wake(p.outbox.wake)
}

// outboxState is what a handoff passes on: the messages that are not written yet, and, by
// database, the changes received from other nodes that the database may not have yet.
type outboxState struct {
	Sending messageBatch
	Waiting []peerMessage
	Heard   map[string][]profile.StoreEvent `json:",omitempty"`
}

// maxHandedOver bounds the changes of each database in a outboxState; the newest are kept. They
// are written while players wait, in 3 ms per thousand.
const maxHandedOver = 2048

// handOver returns the encoded outboxState for the next process; nil if it is empty. From now on
// no new envelope is made. One that is being written is written again by the next process,
// under the same name.
func (p *peers) handOver() []byte {
	l := outboxState{Heard: map[string][]profile.StoreEvent{}}
	for _, db := range p.s.stores.all() {
		if events := db.Registry.RemoteEvents(); len(events) > 0 {
			l.Heard[db.database] = events[max(0, len(events)-maxHandedOver):]
		}
	}
	p.setPaused(true)
	p.outbox.mu.Lock()
	defer p.outbox.mu.Unlock()
	if l.Sending, l.Waiting = p.outbox.sending, p.outbox.pending; len(l.Sending.Letters)+len(l.Waiting)+len(l.Heard) == 0 {
		return nil
	}
	b, err := json.Marshal(l)
	p.s.warn(err)
	return b
}

// inherit restores the outboxState of the process before the handoff. It is called before the
// databases are open.
func (p *peers) inherit(b []byte) error {
	var l outboxState
	if err := json.Unmarshal(b, &l); err != nil {
		return err
	}
	p.outbox.mu.Lock()
	defer p.outbox.mu.Unlock()
	p.outbox.sending, p.outbox.pending = l.Sending, append(l.Waiting, p.outbox.pending...)
	p.outbox.added += uint64(len(l.Sending.Letters) + len(l.Waiting))
	p.inherited = l.Heard
	wake(p.outbox.wake)
	return nil
}

// handOverMessages flushes the messages before an exec. It returns the version of the last envelope
// that was applied, and the encoded outboxState.
func (s *Server) handOverMessages() (lastVersion int64, state []byte) {
	if a := s.rebalancer.peers; a != nil {
		a.flushWithin(context.Background(), handoffFlushTimeout)
		state = a.handOver()
	}
	return s.receivedNotes.lastApplied(), state
}

// inheritOutbox restores the outboxState from the handoff's inheritance.
func (s *Server) inheritOutbox() {
	b, err := s.o.Handoff.Inheritance.PeerState()
	if err == nil && b != nil {
		err = s.rebalancer.peers.inherit(b)
	}
	if err != nil {
		s.log.Error("what the image before this one could not tell other machines, and had heard of them, is lost", "err", err)
	}
}
