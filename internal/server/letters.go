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

// letter is what one machine tells the others: what happened in a database, or what the
// host has said to a profile.
type letter struct {
	Database string `json:",omitempty"`
	Profile  string `json:",omitempty"`
	Input    string // as profile.AppendInput has it
}

// envelope is letters that are one note in the database.
type envelope struct {
	Name    string // of the note
	Letters []letter
}

// mail is the letters that others are to find in the database.
type mail struct {
	wake  chan struct{} // [1]: something waits
	hurry chan struct{} // [1]: it is sent at once

	mu      sync.Mutex // guards what follows
	waiting []letter
	sending envelope      // on its way to the database, or there already; without letters: none
	number  int           // of the last envelope
	rest    bool          // what waits is left to the next image
	taken   uint64        // letters so far
	posted  uint64        // of them those that are in the database
	moved   chan struct{} // closed when more are
}

func newMail() mail {
	return mail{wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1), moved: make(chan struct{})}
}

const (
	newsPrefix  = "news/"
	newsEvery   = 100 * time.Millisecond // how often letters are sent
	newsAge     = time.Minute            // after which they are forgotten
	mostLetters = 4096                   // that wait while the database is away; pressing ones are more

	// lettersTime is how long a command, a stop, or a handoff while players are served, wait
	// until others find what they were told; lastTime is how long a handoff waits when they
	// are not.
	lettersTime = 2 * time.Second
	lastTime    = 100 * time.Millisecond
)

// tell tells the other machines what the host says to a profile.
func (a *abroad) tell(profile string, in profile.Input) { a.send(letter{Profile: profile}, in) }

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

// presses reports whether somebody waits until other machines can read a letter.
func presses(in profile.Input) bool {
	news, ok := in.(*profile.News)
	return !ok || slices.ContainsFunc(news.Changes, func(c profile.Change) bool { return c.What.Pressing() })
}

// poke sends to a channel with room for one, which may be full.
func poke(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// post sends letters until ctx ends. What cannot be sent is sent again under the same name:
// it may have arrived.
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

// seal returns what is to be sent next. No image of this process has had its name before,
// but for the one that has left it on its way.
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

// arrived notes that the database has what was on its way.
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

// flush waits until all letters so far are in the database. Error: that of ctx.
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

// flushFor is flush for at most some time. What is not sent then is sent later; nil has no
// letters.
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

// setRest lets what waits stay where it is, or be sent again.
func (a *abroad) setRest(on bool) {
	if a == nil {
		return
	}
	a.mail.mu.Lock()
	a.mail.rest = on
	a.mail.mu.Unlock()
	poke(a.mail.wake)
}

// mailState is what a process knows of other machines when it becomes another image: what it
// has not told them, and what they have told, by database, which that may not have yet.
type mailState struct {
	Sending envelope
	Waiting []letter
	Heard   map[string][]profile.Change `json:",omitempty"`
}

// mostLeft is how many changes of each database are left to the next image, the newest: they
// are written while players wait, in 3 ms per thousand.
const mostLeft = 2048

// leave returns what is left for the next image; nil: nothing is. Nothing more of it is sent,
// but for what is on its way: the next image sends that again, under the same name.
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

// inherit takes what the image before this one has left, before there are databases.
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

// lastLetters sends what is still to be told to other machines before this process becomes
// another image, and returns the last of their letters that it has read, and its mailState.
func (s *Server) lastLetters() (heard int64, left []byte) {
	if a := s.placing.abroad; a != nil {
		a.flushFor(context.Background(), lastTime)
		left = a.leave()
	}
	return s.noted.last(), left
}

// inheritMail takes what the image before this one has left of letters.
func (s *Server) inheritMail() {
	b, err := s.o.Succession.Inheritance.Letters()
	if err == nil && b != nil {
		err = s.placing.abroad.inherit(b)
	}
	if err != nil {
		s.log.Error("what the image before this one could not tell other machines, and had heard of them, is lost", "err", err)
	}
}
