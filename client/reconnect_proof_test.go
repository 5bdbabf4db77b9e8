//go:build proof

package client_test

import (
	"net"
	"net/url"
	"testing"
	"time"

	"wamble/client/clienttest"
	"wamble/internal/prooftest"
	"wamble/wire"
)

// A machine that is lost between the ACK of a move and its answer is left as early as one
// that is lost before.
func TestLeavesAMachineThatOwesAnAnswer(t *testing.T) {
	prooftest.Needs(t, "a machine for itself")
	t.Parallel()
	const soon = 4 * time.Second // an answer of the only machine is waited for longer than that
	for _, scheme := range []string{"udp", "ws"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			var s *clienttest.Server
			acked := make(chan time.Time, 1)
			s = clienttest.NewServer(t, greeting("127.0.0.1 127.0.0.2"),
				clienttest.Expect(wire.CtrlPlayerMove).Answer(2, update("8/8/8/8/8/8/8/8 w")).Then(func() {
					s.Lose(wire.CtrlPlayerMove, 100)
					acked <- time.Now()
				}))
			at := map[string]string{"udp": s.UDP(), "ws": s.WebSocket()}[scheme]
			c := dial(t, ctx, quick(), at)
			s.Drop(wire.CtrlBoardUpdate, 100)
			u, err := url.Parse(at)
			if err != nil {
				t.Fatal(err)
			}
			heard := make(chan error, 1)
			other := net.JoinHostPort("127.0.0.2", u.Port())
			if scheme == "udp" {
				conn, err := net.ListenPacket("udp", other)
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				go func() {
					_, _, err := conn.ReadFrom(make([]byte, wire.MaxPacket))
					heard <- err
				}()
			} else {
				l, err := net.Listen("tcp", other)
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				go func() {
					conn, err := l.Accept()
					if err == nil {
						conn.Close()
					}
					heard <- err
				}()
			}
			go c.Play(ctx, "e2e4")
			since := <-acked
			if err := <-heard; err != nil {
				t.Fatal(err)
			}
			if d := time.Since(since); d > soon {
				t.Errorf("the next machine is asked %v after the ACK", d)
			}
		})
	}
}
