package server

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/client"
	"wamble/internal/profile"
	"wamble/internal/store/postgres/pgtest"
)

// sharing waits until this machine and b, a data directory, have two partitions each, and
// this one reports that and reaches b.
func sharing(t *testing.T, a *here, b string) {
	t.Helper()
	until(t, "both have two parts", func() bool {
		theirs := ownedPartitions(t, b)
		for _, part := range theirs {
			if a.partitionOwners.Owner(part).Node != "b" {
				return false
			}
		}
		return len(ownedPartitions(t, a.dir)) == 2 && len(theirs) == 2
	})
	until(t, "both are connected", func() bool { m := a.router.Mesh(); return m != nil && m.Stats().Open == 1 })
}

// TestAnyMachine: a player who knows one machine plays a session of another one through it,
// over UDP, over a WebSocket and in JSON. When the other one crashes they play on, and
// nothing is lost.
func TestAnyMachine(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	a := serve(t, Options{Lease: oneDies}, clusterConf(db, "a")).ready()
	other := t.TempDir()
	b := spawn(t, other, clusterConf(db, "b"))
	sharing(t, a, other)
	ws := "ws://" + a.Addresses().HTTP.String() + "/ws"
	c := &crowd{think: 20 * time.Millisecond}
	var over []*player // of connections
	for i := range 6 {
		guest := join(t, b.address(), wamble.Token{})
		token := guest.c.Token()
		if guest.c.Close(); !a.shardOf(token).isRemote() {
			t.Fatalf("a player who came to b is in shard %d, which a has", token.Shard(4))
		}
		address := a.address()
		if i >= 3 {
			address = ws
		}
		p := join(t, address, token)
		if p.c.Token() != token {
			t.Fatalf("a player who came back through a is somebody else: %v instead of %v", p.c.Token(), token)
		}
		p.crowd = c
		if c.players = append(c.players, p); i >= 3 {
			over = append(over, p)
		}
	}
	speaksJSON := joinJSON(t, a)
	guest := join(t, b.address(), wamble.Token{})
	token := guest.c.Token()
	guest.c.Close()
	hello := speaksJSON.ask(map[string]any{"ctrl": "CLIENT_HELLO", "token": fmt.Sprintf("%x", token[:])})
	if hello.Ctrl != "SERVER_HELLO" || hello.Token != fmt.Sprintf("%x", token[:]) {
		t.Fatalf("in JSON: got %+v, want SERVER_HELLO of %v", hello, token)
	}
	if next := speaksJSON.move(hello); next.Ctrl != "BOARD_UPDATE" {
		t.Errorf("a move in JSON: got %+v, want BOARD_UPDATE", next)
	}
	c.play()
	c.more(t, 60)
	stats := a.router.Mesh().Stats()
	if stats.Sent < 60 || stats.Received < 60 {
		t.Errorf("the players did not play through the mesh: %+v", stats)
	}
	b.kill()
	began := time.Now()
	before := map[*player]int64{}
	for _, p := range c.players {
		before[p] = p.moves.Load()
	}
	until(t, "everybody plays again", func() bool {
		for p, n := range before {
			if p.moves.Load() < n+2 { // one may have been answered already
				return false
			}
		}
		return true
	})
	t.Logf("everybody played again after %v", time.Since(began))
	c.more(t, 60)
	c.finish()
	for _, p := range over {
		if !p.c.Token().IsZero() && p.moves.Load() == 0 {
			t.Error("a player of a WebSocket has not played")
		}
	}
	a.end()
	c.players = append(c.players, &player{t: t, doubtful: 1, history: speaksJSON.history}) // the move in JSON
	c.verify(t, openPostgres(t, db))
	if strings.Contains(a.log.String(), "panic") {
		t.Errorf("a panic:\n%s", a.log)
	}
}

// TestBoardOfAnotherMachine: a player of one machine watches a board of another one alone,
// predicts on it, reads the predictions of others, and gets the points. While the other
// machine cannot be asked they are told to try again.
func TestBoardOfAnotherMachine(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	a, b := twoServers(t, db, "")
	sharing(t, a, b.dir)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	player, seer := join(t, b.address(), wamble.Token{}).c, join(t, a.address(), wamble.Token{}).c
	on := player.Board().ID
	if _, err := seer.Spectate(ctx, client.View{Board: on}); err != nil {
		t.Fatalf("the board of the other machine cannot be watched: %v", err)
	}
	made, err := seer.Predict(ctx, on, "e2e4", 0)
	if err != nil || made.Status != client.SubmitCreated || made.Prediction == nil ||
		made.Prediction.Author != seer.Token() {
		t.Fatalf("got %+v, %v", made, err)
	}
	if again, err := seer.Predict(ctx, on, "d2d4", 0); err != nil || again.Status != client.SubmitDuplicate ||
		again.Prediction.ID != made.Prediction.ID {
		t.Errorf("a second one: got %+v, %v", again, err)
	}
	until(t, "all shards are up, and none has a board", func() bool {
		none, err := seer.Predict(ctx, 1<<40, "e2e4", 0)
		return err == nil && none.Status == client.SubmitNotFound
	})
	if _, err := player.Play(ctx, "e2e4"); err != nil {
		t.Fatal(err)
	}
	if rows, err := seer.Predictions(ctx, on, 0, 0); err != nil || len(rows) != 1 ||
		rows[0].Status != client.PredictionCorrect || rows[0].Author != seer.Token() {
		t.Errorf("got %+v, %v", rows, err)
	}
	until(t, "the player has got the points", func() bool {
		return pgtest.Query[int](t, db, `SELECT count(*) FROM sessions WHERE total_prediction_score = 1`) == 1
	})
	b.router.Mesh().Close()
	until(t, "the connection is gone", func() bool { return a.router.Mesh().Stats().Open == 0 })
	var denied *wamble.Denied
	if _, err := seer.Predict(ctx, on, "e7e5", 0); !errors.As(err, &denied) ||
		!strings.HasSuffix(denied.Reason, "try again") {
		t.Errorf("without the other machine: %v", err)
	}
}

// shardOf is the shard of a token.
func (h *here) shardOf(token wamble.Token) *Shard { return h.first().shards[token.Shard(4)] }

// TestAddressOfPlayer: the machine that serves a player sees the player's own address, not
// that of the machine they write to.
func TestAddressOfPlayer(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	a, b := twoServers(t, db, "")
	sharing(t, a, b.dir)
	guest := join(t, b.address(), wamble.Token{})
	token := guest.c.Token()
	guest.c.Close()
	p := join(t, a.address(), token)
	for p.moves.Load() == 0 {
		if !p.move(t.Context()) {
			t.Fatal("no move")
		}
	}
	at := func() (found netip.AddrPort) {
		b.shardOf(token).runtime.Do(t.Context(), func(life *profile.Profile) {
			for _, s := range first(life.Seek(profile.Seek{Token: token}, 10)) {
				found = s.Address
			}
		})
		return found
	}
	if got := at(); !got.IsValid() || got == a.Addresses().UDP {
		t.Errorf("the player is at %v", got)
	}
	over := join(t, "ws://"+a.Addresses().HTTP.String()+"/ws", token)
	if got := at(); !got.Addr().IsLoopback() {
		t.Errorf("the player of a WebSocket is at %v", got)
	}
	over.c.Close()
	until(t, "b knows that the connection is gone", func() bool {
		return b.router.RemoteConns() == 0
	})
}

func first[T, U any](list T, _ U) T { return list }
