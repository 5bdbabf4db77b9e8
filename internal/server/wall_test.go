package server

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"

	"wamble"
	"wamble/client"
	"wamble/internal/cluster"
	"wamble/internal/store/postgres/pgtest"
)

// bridge forwards to a TCP address, and can be cut.
type bridge struct {
	listener net.Listener
	mu       sync.Mutex
	cut      bool
	conns    []net.Conn
}

func newBridge(t *testing.T, to string) *bridge {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &bridge{listener: l}
	t.Cleanup(func() {
		l.Close()
		b.set(true)
	})
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil || !b.keep(near, far) {
				near.Close()
				continue
			}
			go io.Copy(near, far)
			go io.Copy(far, near)
		}
	}()
	return b
}

// keep records the ends of a connection; it closes them and returns false if the bridge is
// cut.
func (b *bridge) keep(conns ...net.Conn) bool {
	b.mu.Lock()
	b.conns = append(b.conns, conns...)
	cut := b.cut
	b.mu.Unlock()
	b.set(cut)
	return !cut
}

// set cuts the bridge, or mends it.
func (b *bridge) set(cut bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cut = cut; cut {
		for _, c := range b.conns {
			c.Close()
		}
		b.conns = nil
	}
}

// TestWallAfterACut: a watcher on one machine is shown the moves that were played on another
// one while the two were not connected.
func TestWallAfterACut(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	b := serve(t, Options{}, clusterConf(db, "b")).ready()
	road := newBridge(t, *b.meshAddress.Load())
	over := road.listener.Addr().String()
	b.meshAddress.Store(&over)
	until(t, "others would take the bridge", func() bool { return b.partitionOwners.LiveNodes()["b"].Address == over })
	a := serve(t, Options{}, clusterConf(db, "a")).ready()
	sharing(t, a, b.dir)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	player, watcher := join(t, b.address(), wamble.Token{}).c, join(t, a.address(), wamble.Token{}).c
	on := player.Board().ID
	w, err := watcher.Spectate(ctx, client.View{Board: on})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "b knows that somebody watches on a", func() bool {
		return b.router.Mesh().Wanted(b.first().name) && watched(b.rebalancer.peers.Counts(b.first().name))
	})
	road.set(true)
	until(t, "the connection is gone", func() bool {
		return a.router.Mesh().Stats().Open == 0 && !b.router.Mesh().Wanted(b.first().name)
	})
	after := play(t, ctx, player)
	road.set(false)
	for {
		got, err := w.Next(ctx)
		if err != nil {
			t.Fatalf("what was played meanwhile is not seen: %v", err)
		}
		if got.Board.ID == on && got.Board.FEN == after {
			break
		}
	}
}

// watched reports whether one of the remote shards is watched.
func watched(r cluster.RemoteShards) bool {
	for _, c := range r {
		if c.Watched {
			return true
		}
	}
	return false
}
