package client_test

import (
	"context"
	"errors"
	"testing"

	"wamble"
	"wamble/client"
	"wamble/client/clienttest"
	"wamble/internal/transport"
	"wamble/wire"
)

func seen(fen string) wire.SpectateUpdate { return wire.SpectateUpdate{FEN: wire.Text(fen)} }

func state(s string) wire.Field { return wire.String(wire.KeySpectateState, s) }

func generation(n int64) wire.Field { return wire.Int(wire.KeySpectateGeneration, n) }

// summary is a step that shows two boards.
func summary(g int64) *clienttest.Step {
	return clienttest.Expect(wire.CtrlSpectateGame).Where(func(p *wire.Packet) error {
		if p.Board != 0 || p.Flags&wire.FlagFilterChess960 == 0 {
			return errors.New("not the summary of Chess960 boards")
		}
		return nil
	}).
		Answer(0, seen(""), state("summary"), generation(g)).
		AnswerWith(wire.Header{Board: 4, Flags: wire.FlagBoardIs960}, seen("8/8/8/8/8/8/8/8 w"), state("summary"),
			generation(g)).
		Answer(5, seen("8/8/8/8/8/8/8/8 b"), state("summary"), generation(g))
}

func TestSpectate(t *testing.T) {
	overBoth(t, func() []*clienttest.Step {
		return []*clienttest.Step{
			summary(7),
			clienttest.Expect(wire.CtrlSpectateGame).Answer(5, seen("8/8/8/8/8/8/8/8 w"), state("focus")),
			clienttest.Expect(wire.CtrlSpectateGame).Deny(wamble.SpectateUnavailable, ""),
			clienttest.Expect(wire.CtrlSpectateStop).Answer(0, seen(""), state("idle")),
		}
	}, func(t *testing.T, ctx context.Context, s *clienttest.Server, c *client.Client) {
		w, err := c.Spectate(ctx, client.View{Chess960: true})
		if err != nil {
			t.Fatal(err)
		}
		next := func() client.Update {
			t.Helper()
			got, err := w.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		if got := next(); !got.Reset || got.Generation != 7 || got.State != "summary" {
			t.Errorf("%+v, want a reset", got)
		}
		if got := next(); got.Board.ID != 4 || !got.Board.Chess960 || got.Board.FEN != "8/8/8/8/8/8/8/8 w" {
			t.Errorf("%+v, want board 4", got)
		}
		if got := next(); got.Board.ID != 5 || got.Generation != 7 || got.Reset {
			t.Errorf("%+v, want board 5", got)
		}
		s.Push(c.Token(), wire.Header{Board: 4, Flags: wire.FlagUnreliable}, seen("k7/8/8/8/8/8/8/8 b"), generation(8),
			wire.Int(wire.KeyBoardBot, 1))
		if got := next(); got.Board.ID != 4 || got.Generation != 8 || got.State != "" || !got.Board.Bot {
			t.Errorf("%+v, want the update", got)
		}
		if err := w.SetView(ctx, client.View{Board: 5}); err != nil || w.View().Board != 5 {
			t.Errorf("%v, watching %+v", err, w.View())
		}
		if got := next(); got.Board.ID != 5 || got.State != "focus" || got.Reset || got.Board.Bot {
			t.Errorf("%+v, want the focus", got)
		}
		if err := w.SetView(ctx, client.View{Board: 99}); client.DeniedCode(err) != wamble.SpectateUnavailable ||
			w.View().Board != 5 {
			t.Errorf("%v, watching %+v", err, w.View())
		}
		if err := w.Stop(ctx); err != nil {
			t.Error(err)
		}
		if _, err := w.Next(ctx); !errors.Is(err, client.ErrStopped) {
			t.Errorf("after Stop: %v", err)
		}
	})
}

func TestSpectateRefused(t *testing.T) {
	s := clienttest.NewServer(t,
		clienttest.Expect(wire.CtrlSpectateGame).Deny(wamble.SpectateFull, ""),
		summary(1), summary(2))
	ctx := testContext(t)
	c := dial(t, ctx, quick(), s.UDP())
	if _, err := c.Spectate(ctx, client.View{}); client.DeniedCode(err) != wamble.SpectateFull {
		t.Error(err)
	}
	first, err := c.Spectate(ctx, client.View{Chess960: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Spectate(ctx, client.View{Chess960: true}); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = first.Next(ctx)
	}
	if !errors.Is(err, client.ErrStopped) {
		t.Errorf("the first watch ended with %v", err)
	}
}

// The server ends watching: the client gets an event, and the stream ends.
func TestServerStopsWatching(t *testing.T) {
	s := clienttest.NewServer(t, summary(1))
	ctx := testContext(t)
	c := dial(t, ctx, quick(), s.WebSocket())
	w, err := c.Spectate(ctx, client.View{Chess960: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Push(c.Token(), wire.Header{Board: 4, Flags: wire.FlagUnreliable | wire.FlagSpectateStopped},
		wire.ServerNotification{Type: wire.NoticeSpectateEnded, Text: wire.Text("over")})
	s.Push(c.Token(), wire.Header{}, seen(""), state("idle"))
	for err == nil {
		_, err = w.Next(ctx)
	}
	if !errors.Is(err, client.ErrStopped) {
		t.Errorf("the watch ended with %v", err)
	}
	e, err := c.Event(ctx)
	if err != nil || e.Kind != client.Notice || e.Notice != wire.NoticeSpectateEnded || e.Text != "over" ||
		e.Board.ID != 4 || e.Flags&wire.FlagSpectateStopped == 0 {
		t.Errorf("%+v, %v", e, err)
	}
}

// A watch goes on over a new connection.
func TestWatchSurvivesReconnect(t *testing.T) {
	s := clienttest.NewServer(t, summary(1), summary(2))
	ctx := testContext(t)
	c := dial(t, ctx, quick(), s.WebSocket())
	w, err := c.Spectate(ctx, client.View{Chess960: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Disconnect(transport.CloseGoingAway)
	for g := int64(0); g != 2; {
		got, err := w.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		g = got.Generation
	}
	// A server whose spectator places are full ends it.
	s.Script(clienttest.Expect(wire.CtrlSpectateGame).Deny(wamble.SpectateFull, ""))
	s.Disconnect(transport.CloseGoingAway)
	for err == nil {
		_, err = w.Next(ctx)
	}
	if client.DeniedCode(err) != wamble.SpectateFull {
		t.Errorf("the watch ended with %v", err)
	}
}
