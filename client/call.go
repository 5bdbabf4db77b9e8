package client

import (
	"context"
	"errors"
	"slices"

	"wamble"
	"wamble/wire"
)

// call is a request in progress. The loop sends one at a time, because answers of old servers
// do not name their request.
type call struct {
	ctx    context.Context
	packet []byte     // encoded; token and sequence number are set when it is sent
	info   *wire.Info // row of its control code
	// take reads an answer. It returns false if the packet answers another call, as a late
	// answer to an earlier call does.
	take func(p *wire.Packet) bool
	// repeatable says that the request may be sent again under a new sequence number if the
	// connection broke, or no answer came.
	repeatable bool

	seq   uint32
	acked bool
	sent  int // number of sends, each under a new sequence number
	done  chan error
}

// errBroken ends a call that must not be sent twice, when its answer was lost with the
// connection.
var errBroken = errors.New("the connection broke")

// expects reports whether packets of this control code may answer the call.
func (c *call) expects(ctrl wire.Control) bool {
	return ctrl == wire.CtrlError || slices.Contains(c.info.Replies, ctrl) ||
		ctrl == wire.CtrlLoginFailed && c.info.Code == wire.CtrlLoginRequest
}

// denied returns the error for an ERROR or LOGIN_FAILED, nil for any other packet.
func denied(p *wire.Packet) *wamble.Denied {
	d := &wamble.Denied{}
	switch m := p.Message.(type) {
	case *wire.Error:
		d.Code, d.Reason = m.Code, m.Reason.String()
	case *wire.LoginFailed:
		d.Code, d.Reason = m.Code, m.Reason.String()
	default:
		return nil
	}
	if v, ok := p.Ext.Int(wire.KeyErrorBlocking); ok && v != 0 {
		d.Blocking = true
	}
	return d
}

// finish ends the call. It does not block if the caller has gone.
func (c *call) finish(err error) {
	select {
	case c.done <- err:
	default:
	}
}

// newCall encodes a request.
func newCall[M wire.Message](ctx context.Context, h wire.Header, m M, ext ...wire.Field) (*call, error) {
	packet, err := wire.Append(nil, h, m, ext...)
	if err != nil {
		return nil, err
	}
	info, _ := m.Control().Info()
	return &call{ctx: ctx, packet: packet, info: info, repeatable: true, done: make(chan error, 1)}, nil
}

// taking returns the take function of a call from a function that reads the answer's type.
func taking[A wire.Message](read func(p *wire.Packet, answer A) bool) func(*wire.Packet) bool {
	return func(p *wire.Packet) bool {
		answer, ok := p.Message.(A)
		return ok && read(p, answer)
	}
}

// do passes the call to the loop and waits for its end.
func (c *Client) do(k *call) error {
	if err := k.ctx.Err(); err != nil {
		return err
	}
	if c.Token().IsZero() && !k.info.ZeroToken {
		return ErrNoSession
	}
	select {
	case c.calls <- k:
	case <-k.ctx.Done():
		return k.ctx.Err()
	case <-c.ended:
		return c.why()
	}
	select {
	case err := <-k.done:
		return err
	case <-k.ctx.Done():
		return k.ctx.Err()
	case <-c.ended:
		select {
		case err := <-k.done: // it was answered before the client ended
			return err
		default:
			return c.why()
		}
	}
}

// ask sends a request and returns the value that read makes of its answer. The answer's bytes
// are valid only inside read, which returns false if the answer is for another request.
func ask[M, A wire.Message, T any](ctx context.Context, c *Client, h wire.Header, m M,
	read func(p *wire.Packet, answer A) (T, bool), ext ...wire.Field) (T, error) {
	var result, none T
	k, err := newCall(ctx, h, m, ext...)
	if err != nil {
		return none, err
	}
	k.take = taking(func(p *wire.Packet, answer A) (mine bool) {
		result, mine = read(p, answer)
		return mine
	})
	if err := c.do(k); err != nil {
		return none, err
	}
	return result, nil
}

// tell sends a request whose only answer is the ACK.
func tell[M wire.Message](ctx context.Context, c *Client, m M) error {
	k, err := newCall(ctx, wire.Header{}, m)
	if err != nil {
		return err
	}
	return c.do(k)
}
