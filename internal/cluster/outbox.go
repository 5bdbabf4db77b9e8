package cluster

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

// Message is what one node tells all others: changes in a database, or a host's
// command to a profile.
type Message struct {
	Database string `json:",omitempty"`
	Profile  string `json:",omitempty"`
	Input    string // encoded by profile.AppendInput, in base64
}

// messageBatch is a batch of messages, which becomes one note in the database.
type messageBatch struct {
	Name     string    // the note's
	Messages []Message `json:"Letters"`
}

// outbox is the queue of messages that are written to the database.
type outbox struct {
	wake     chan struct{} // capacity 1: a message was queued
	flushNow chan struct{} // capacity 1: the next batch is not delayed

	mu         sync.Mutex // guards what follows
	pending    []Message
	sending    messageBatch  // being written, or written and not confirmed; without messages if none is
	number     int           // of the last batch
	paused     bool          // no new batch is made: the next process sends what waits
	added      uint64        // number of messages queued so far
	flushed    uint64        // number of messages written so far
	progressed chan struct{} // closed when flushed grows
}

func newOutbox() outbox {
	return outbox{wake: make(chan struct{}, 1), flushNow: make(chan struct{}, 1), progressed: make(chan struct{})}
}

const (
	MessagePrefix      = "news/"                // begins the names of notes with messages
	MessageMaxAge      = time.Minute            // after which notes with messages are deleted
	messageEvery       = 100 * time.Millisecond // interval between two batches
	maxPendingMessages = 4096                   // in the queue; urgent ones are queued beyond that

	// FlushTimeout bounds the flush of a command, of a stop, and of a handoff while players
	// are still served. HandoffFlushTimeout bounds the flush of a handoff while they wait.
	FlushTimeout        = 2 * time.Second
	HandoffFlushTimeout = 100 * time.Millisecond
)

// Broadcast queues a host's command to a profile for the other nodes.
func (p *Peers) Broadcast(profile string, in profile.Input) {
	p.enqueue(Message{Profile: profile}, in)
}

// Publish queues changes in a database for the other nodes.
func (p *Peers) Publish(database string, events *profile.StoreEvents) {
	p.enqueue(Message{Database: database}, events)
}

// enqueue queues a message with an input. It is dropped if it is not urgent and the queue is full.
func (p *Peers) enqueue(l Message, in profile.Input) {
	b, err := profile.AppendInput(nil, in)
	if err != nil {
		p.o.Warn(err)
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

// isUrgent reports whether an input is urgent: a command, or urgent events.
func isUrgent(in profile.Input) bool {
	events, ok := in.(*profile.StoreEvents)
	return !ok || slices.ContainsFunc(events.Changes, func(c profile.StoreEvent) bool { return c.Urgent })
}

// wake sends to a channel of capacity 1 unless it is full.
func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// sleep waits for d or the end of ctx.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// SendLoop writes batches to the database until ctx ends. After an error a batch is
// written again under the same name, because the first attempt may have succeeded.
func (p *Peers) SendLoop(ctx context.Context) {
	for {
		select {
		case <-p.outbox.wake:
		case <-ctx.Done():
			return
		}
		e := p.nextBatch()
		if len(e.Messages) == 0 {
			continue
		}
		b, err := json.Marshal(e.Messages)
		p.o.Warn(err)
		for {
			err := p.o.Log.Note(ctx, p.o.Journal, e.Name, string(b))
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				return
			}
			p.o.Logger.Warn("other machines are told later", "err", err)
			sleep(ctx, messageEvery)
		}
		p.batchSent()
		select {
		case <-time.After(messageEvery):
		case <-p.outbox.flushNow:
		case <-ctx.Done():
		}
	}
}

// nextBatch returns the batch to write next: the unconfirmed one, or a new one with all messages
// that wait. Names of batches are unique across handoffs.
func (p *Peers) nextBatch() messageBatch {
	p.outbox.mu.Lock()
	defer p.outbox.mu.Unlock()
	if len(p.outbox.sending.Messages) == 0 && len(p.outbox.pending) > 0 && !p.outbox.paused {
		p.outbox.number++
		p.outbox.sending = messageBatch{fmt.Sprintf("%s%s/%x-%d", MessagePrefix, p.o.Log.Self(), p.o.Started.UnixNano(),
			p.outbox.number), p.outbox.pending}
		p.outbox.pending = nil
	}
	return p.outbox.sending
}

// batchSent confirms that the batch was written.
func (p *Peers) batchSent() {
	p.outbox.mu.Lock()
	defer p.outbox.mu.Unlock()
	p.outbox.flushed += uint64(len(p.outbox.sending.Messages))
	p.outbox.sending = messageBatch{}
	close(p.outbox.progressed)
	p.outbox.progressed = make(chan struct{})
	if len(p.outbox.pending) > 0 {
		wake(p.outbox.wake)
	}
}

// Flush waits until all messages queued so far are in the database. Error: that of ctx.
func (p *Peers) Flush(ctx context.Context) error {
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

// FlushWithin is Flush with a time limit. Messages that are not written by then are written
// later. It does nothing if p is nil.
func (p *Peers) FlushWithin(ctx context.Context, most time.Duration) {
	if p == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	if err := p.Flush(ctx); err != nil {
		p.o.Logger.Warn("other machines are told later: the journal's database takes too long", "err", err)
	}
}

// SetPaused stops or resumes the making of new batches.
func (p *Peers) SetPaused(on bool) {
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
	Sending  messageBatch
	Waiting  []Message
	Received map[string][]profile.StoreEvent `json:"Heard,omitempty"`
}

// maxHandedOver bounds the changes of each database in an outboxState; the newest are kept. They
// are written while players wait, in 3 ms per thousand.
const maxHandedOver = 2048

// HandOver returns the encoded outboxState for the next process; nil if it is empty. Received has
// the changes that other nodes have made, by database. From now on no new batch is made. One
// that is being written is written again by the next process, under the same name.
func (p *Peers) HandOver(received map[string][]profile.StoreEvent) []byte {
	l := outboxState{Received: map[string][]profile.StoreEvent{}}
	for database, events := range received {
		if len(events) > 0 {
			l.Received[database] = events[max(0, len(events)-maxHandedOver):]
		}
	}
	p.SetPaused(true)
	p.outbox.mu.Lock()
	defer p.outbox.mu.Unlock()
	if l.Sending, l.Waiting = p.outbox.sending,
		p.outbox.pending; len(l.Sending.Messages)+len(l.Waiting)+len(l.Received) == 0 {
		return nil
	}
	b, err := json.Marshal(l)
	p.o.Warn(err)
	return b
}

// Inherit restores the outboxState of the process before the handoff, and returns the changes that
// it received, by database.
func (p *Peers) Inherit(b []byte) (received map[string][]profile.StoreEvent, err error) {
	var l outboxState
	if err := json.Unmarshal(b, &l); err != nil {
		return nil, err
	}
	p.outbox.mu.Lock()
	defer p.outbox.mu.Unlock()
	p.outbox.sending, p.outbox.pending = l.Sending, append(l.Waiting, p.outbox.pending...)
	p.outbox.added += uint64(len(l.Sending.Messages) + len(l.Waiting))
	wake(p.outbox.wake)
	return l.Received, nil
}
