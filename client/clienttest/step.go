package clienttest

import (
	"fmt"

	"wamble"
	"wamble/wire"
)

// Step is one line of a script: an expected request and the server's answers. Without an answer
// the request is only acknowledged.
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

// Expect begins a step: the next request must have this control code.
func Expect(c wire.Control) *Step { return &Step{ctrl: c} }

// Where adds a condition on the request.
func (s *Step) Where(check func(*wire.Packet) error) *Step {
	s.check = check
	return s
}

// Answer adds an answer with a board in its header. Several answers are sent in order.
func (s *Step) Answer(board wamble.BoardID, m wire.Message, ext ...wire.Field) *Step {
	return s.AnswerWith(wire.Header{Board: board}, m, ext...)
}

// AnswerWith adds an answer with the flags and board of h. A zero token is replaced by the
// session's.
func (s *Step) AnswerWith(h wire.Header, m wire.Message, ext ...wire.Field) *Step {
	s.answers = append(s.answers, answer{h, m, ext})
	return s
}

// Deny answers with ERROR.
func (s *Step) Deny(code wamble.Code, reason string, ext ...wire.Field) *Step {
	return s.Answer(0, wire.Error{Code: code, Reason: wire.Text(reason)}, ext...)
}

// Ignore makes the server behave as if the request had not arrived: it neither executes nor
// acknowledges it. The client repeats it, which is a step of its own.
func (s *Step) Ignore() *Step {
	s.ignore = true
	return s
}

// Then runs f after the step's answers were sent. It runs in the server's loop: it must not
// wait for the client.
func (s *Step) Then(f func()) *Step {
	s.then = f
	return s
}

// fits returns what is wrong with a request, or nil.
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
