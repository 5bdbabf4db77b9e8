package clienttest

import (
	"fmt"

	"wamble"
	"wamble/wire"
)

// Step is one line of a script: a request that is expected, and what the
// server does about it. Without an answer the request is only acknowledged.
type Step struct {
	ctrl    wire.Control
	check   func(*wire.Packet) error
	answers []answer
	ignore  bool
	then    func()
}

type answer struct {
	header  wire.Header
	message wire.Message
	ext     []wire.Field
}

// Expect begins a step: the next request has this control code.
func Expect(c wire.Control) *Step { return &Step{ctrl: c} }

// Where adds a condition on the request.
func (s *Step) Where(check func(*wire.Packet) error) *Step {
	s.check = check
	return s
}

// Answer adds an answer, with a board in its header. Several answers are sent
// in their order.
func (s *Step) Answer(board wamble.BoardID, m wire.Message, ext ...wire.Field) *Step {
	return s.AnswerWith(wire.Header{Board: board}, m, ext...)
}

// AnswerWith adds an answer with flags and board of the caller's choice. A zero
// token becomes the session's.
func (s *Step) AnswerWith(h wire.Header, m wire.Message, ext ...wire.Field) *Step {
	s.answers = append(s.answers, answer{h, m, ext})
	return s
}

// Deny answers with ERROR.
func (s *Step) Deny(code wamble.Code, reason string, ext ...wire.Field) *Step {
	return s.Answer(0, wire.Error{Code: code, Reason: wire.Text(reason)}, ext...)
}

// Ignore makes the server behave as if the request had not arrived: it neither
// executes nor acknowledges it. The client will repeat it, which is another
// step.
func (s *Step) Ignore() *Step {
	s.ignore = true
	return s
}

// Then runs f when the step has happened, after its answers are on their way.
// It runs in the server's loop: it must not wait for the client.
func (s *Step) Then(f func()) *Step {
	s.then = f
	return s
}

// fits reports what is wrong with a request, or nil.
func (s *Step) fits(p *wire.Packet) error {
	if p.Ctrl != s.ctrl {
		return fmt.Errorf("%v came, the script expects %v", p.Ctrl, s.ctrl)
	}
	if s.check != nil {
		if err := s.check(p); err != nil {
			return fmt.Errorf("%v: %w", p.Ctrl, err)
		}
	}
	return nil
}
