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

// letter is a message from one node to all others: changes in a database, or a host's
// command to a profile.
type letter struct {
	Database string `json:",omitempty"`
	Profile  string `json:",omitempty"`
	Input    string // encoded by profile.AppendInput, in base64
}

// envelope is a batch of letters, which becomes one note in the database.
type envelope struct {
	Name    string // the note's
	Letters []letter
}

// mail is the queue of letters that are written to the database.
type mail struct {
	wake  chan struct{} // capacity 1: a letter was queued
	hurry chan struct{} // capacity 1: the next envelope is not delayed

	mu      sync.Mutex // guards what follows
	waiting []letter
	sending envelope      // being written, or written and not confirmed; without letters if none is
	number  int           // of the last envelope
	rest    bool          // no new envelope is made: the next process sends what waits
	taken   uint64        // number of letters queued so far
	posted  uint64        // number of letters written so far
	moved   chan struct{} // closed when posted grows
}

func newMail() mail {
	return mail{wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1), moved: make(chan struct{})}
}

const (
	newsPrefix  = "news/"
	newsEvery   = 100 * time.Millisecond // interval between two envelopes
	newsAge     = time.Minute            // after which notes with letters are deleted
	mostLetters = 4096                   // in the queue; urgent ones are queued beyond that

	// lettersTime bounds the flush of a command, of a stop, and of a handoff while players
	// are still served. LastTime bounds the flush of a handoff while they wait.
	lettersTime = 2 * time.Second
	lastTime    = 100 * time.Millisecond
)

// tell queues a host's command to a profile for the other nodes.
func (a *abroad) tell(profile string, in profile.Input) { a.send(letter{Profile: profile}, in) }

// send queues a letter with an input. It is dropped if it is not urgent and the queue is full.
func (a *abroad) send(l letter, in profile.Input) {
	b, err := profile.AppendInput(nil, in)
	if err != nil {
		a.s.warn(err)
		return
	}
	l.Input = base64.StdEncoding.EncodeToString(b)
	a.mail.mu.Lock()
	if len(a.mail.waiting) < mostLetters || presses(in) {
		a.mail.waiting = append(a.mail.waiting, l)
		a.mail.taken++
	}
	a.mail.mu.Unlock()
	poke(a.mail.wake)
}

// presses reports whether an input is urgent: a command, or news of a pressing change.
func presses(in profile.Input) bool {
	news, ok := in.(*profile.News)
	return !ok || slices.ContainsFunc(news.Changes, func(c profile.Change) bool { return c.What.Pressing() })
}

// poke sends to a channel of capacity 1 unless it is full.
func poke(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// post writes envelopes to the database until ctx ends. After an error an envelope is
// written again under the same name, because the first attempt may have succeeded.
func (a *abroad) post(ctx context.Context) {
	for {
		select {
		case <-a.mail.wake:
		case <-ctx.Done():
			return
		}
		e := a.seal()
		if len(e.Letters) == 0 {
			continue
		}
		b, err := json.Marshal(e.Letters)
		a.s.warn(err)
		for {
			err := a.s.cluster.log.Note(ctx, a.s.cluster.name, e.Name, string(b))
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				return
			}
			a.s.log.Warn("other machines are told later", "err", err)
			wait(ctx, newsEvery)
		}
		a.arrived()
		select {
		case <-time.After(newsEvery):
		case <-a.mail.hurry:
		case <-ctx.Done():
		}
	}
}

// seal returns the envelope to write next: the unconfirmed one, or a new one with all letters
// that wait. Names of envelopes are unique across handoffs.
func (a *abroad) seal() envelope {
	a.mail.mu.Lock()
	defer a.mail.mu.Unlock()
	if len(a.mail.sending.Letters) == 0 && len(a.mail.waiting) > 0 && !a.mail.rest {
		a.mail.number++
		a.mail.sending = envelope{fmt.Sprintf("%s%s/%x-%d", newsPrefix, a.s.cluster.log.Self(), a.s.started.UnixNano(), a.mail.number), a.mail.waiting}
		a.mail.waiting = nil
	}
	return a.mail.sending
}

// arrived confirms that the envelope was written.
func (a *abroad) arrived() {
	a.mail.mu.Lock()
	defer a.mail.mu.Unlock()
	a.mail.posted += uint64(len(a.mail.sending.Letters))
	a.mail.sending = envelope{}
	close(a.mail.moved)
	a.mail.moved = make(chan struct{})
	if len(a.mail.waiting) > 0 {
		poke(a.mail.wake)
	}
}

// flush waits until all letters queued so far are in the database. Error: that of ctx.
func (a *abroad) flush(ctx context.Context) error {
	a.mail.mu.Lock()
	upTo := a.mail.taken
	a.mail.mu.Unlock()
	for {
		a.mail.mu.Lock()
		posted, moved := a.mail.posted, a.mail.moved
		a.mail.mu.Unlock()
		if posted >= upTo {
			return nil
		}
		poke(a.mail.hurry)
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// flushFor is flush with a time limit. Letters that are not written by then are written
// later. It does nothing if a is nil.
func (a *abroad) flushFor(ctx context.Context, most time.Duration) {
	if a == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	if err := a.flush(ctx); err != nil {
		a.s.log.Warn("other machines are told later: the journal's database takes too long", "err", err)
	}
}

// setRest stops or resumes the making of new envelopes.
func (a *abroad) setRest(on bool) {
	if a == nil {
		return
	}
	a.mail.mu.Lock()
	a.mail.rest = on
	a.mail.mu.Unlock()
	poke(a.mail.wake)
}

// mailState is what a handoff passes on: the letters that are not written yet, and, by
// database, the changes received from other nodes that the database may not have yet.
type mailState struct {
	Sending envelope
	Waiting []letter
	Heard   map[string][]profile.Change `json:",omitempty"`
}

// mostLeft bounds the changes of each database in a mailState; the newest are kept. They
// are written while players wait, in 3 ms per thousand.
const mostLeft = 2048

// leave returns the encoded mailState for the next process; nil if it is empty. From now on
// no new envelope is made. One that is being written is written again by the next process,
// under the same name.
func (a *abroad) leave() []byte {
	l := mailState{Heard: map[string][]profile.Change{}}
	for _, db := range a.s.stores.all() {
		if heard := db.Registry.Heard(); len(heard) > 0 {
			l.Heard[db.database] = heard[max(0, len(heard)-mostLeft):]
		}
	}
	a.setRest(true)
	a.mail.mu.Lock()
	defer a.mail.mu.Unlock()
	if l.Sending, l.Waiting = a.mail.sending, a.mail.waiting; len(l.Sending.Letters)+len(l.Waiting)+len(l.Heard) == 0 {
		return nil
	}
	b, err := json.Marshal(l)
	a.s.warn(err)
	return b
}

// inherit restores the mailState of the process before the handoff. It is called before the
// databases are open.
func (a *abroad) inherit(b []byte) error {
	var l mailState
	if err := json.Unmarshal(b, &l); err != nil {
		return err
	}
	a.mail.mu.Lock()
	defer a.mail.mu.Unlock()
	a.mail.sending, a.mail.waiting = l.Sending, append(l.Waiting, a.mail.waiting...)
	a.mail.taken += uint64(len(l.Sending.Letters) + len(l.Waiting))
	a.inherited = l.Heard
	poke(a.mail.wake)
	return nil
}

// lastLetters flushes the letters before an exec. It returns the version of the last envelope
// that was applied, and the encoded mailState.
func (s *Server) lastLetters() (heard int64, left []byte) {
	if a := s.placing.abroad; a != nil {
		a.flushFor(context.Background(), lastTime)
		left = a.leave()
	}
	return s.noted.last(), left
}

// inheritMail restores the mailState from the handoff's inheritance.
func (s *Server) inheritMail() {
	b, err := s.o.Succession.Inheritance.Letters()
	if err == nil && b != nil {
		err = s.placing.abroad.inherit(b)
	}
	if err != nil {
		s.log.Error("what the image before this one could not tell other machines, and had heard of them, is lost", "err", err)
	}
}
