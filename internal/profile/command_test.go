package profile

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/journal"
	"wamble/wire"
)

func host(n int) netip.Prefix { return netip.PrefixFrom(peerAt(n).IP(), 32) }

// notices returns the notifications among what was sent, by receiver, with their
// text.
func (r *rig) notices() map[wamble.Peer]string {
	found := map[wamble.Peer]string{}
	for _, s := range r.sent {
		var p wire.Packet
		if p.Decode(s.packet) == nil && p.Ctrl == wire.CtrlServerNotification {
			n := p.Message.(*wire.ServerNotification)
			found[s.to] += fmt.Sprintf("%d %s", n.Type, n.Text)
		}
	}
	r.sent = nil
	return found
}

// TestAnnounce: every player present is told once, and not all in one step.
func TestAnnounce(t *testing.T) {
	const players = 3*announcedAtOnce + 7
	r := newRig(t, fmt.Sprintf("(def min-boards %d) (def max-boards %d) (def new-players-per-ip-per-min 0)", players,
		players))
	for n := range players {
		r.join(n + 1)
	}
	r.step(&Announce{Notice: wire.NoticeMaintenance, Text: strings.Repeat("é", 60)})
	told := map[wamble.Peer]string{}
	portions := 0
	for end := r.now.Add(time.Minute); ; portions++ {
		got := r.notices()
		if len(got) > announcedAtOnce {
			t.Fatalf("%d notifications in one step, want %d at most", len(got), announcedAtOnce)
		}
		for peer, text := range got {
			told[peer] += text
		}
		if len(told) == players || r.now.After(end) {
			break
		}
		r.now = r.now.Add(announcedEvery)
		r.step(&Tick{})
	}
	if len(told) != players || portions != 3 {
		t.Fatalf("%d of %d were told after %d more portions, want 3", len(told), players, portions)
	}
	for peer, got := range told {
		if want := "3 " + strings.Repeat("é", 44); got != want {
			t.Fatalf("%v was told %q, want %q", peer, got, want)
		}
	}
	if n := r.p.Stats().Host.Announced; n != players {
		t.Errorf("got %d announced, want %d", n, players)
	}
	// The newest announcement counts, and later players are not told.
	r.step(&Announce{Notice: wire.NoticeAnnouncement, Text: "hello"})
	if got := r.notices(); len(got) != announcedAtOnce {
		t.Errorf("got %d notifications, want %d", len(got), announcedAtOnce)
	}
}

// TestStand: players present are told of a lasting announcement once; players who come before
// its end are told, too, also after a handoff; and all are told that it is withdrawn.
func TestStand(t *testing.T) {
	r := newRig(t, "(def min-boards 9)")
	first, _ := r.join(1)
	tea := Standing{ID: 7, Notice: wire.NoticeMaintenance, Text: "tea", Until: r.now.Add(time.Hour), Countdown: true}
	texts := func() string {
		var all []string
		for peer, text := range r.notices() {
			all = append(all, fmt.Sprintf("%v %s", peer.IP(), text))
		}
		slices.Sort(all)
		return strings.Join(all, ", ")
	}
	want := func(what, want string) {
		t.Helper()
		if got := texts(); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	r.step(&SetStanding{All: []Standing{tea}})
	want("who is here", "10.0.0.1 3 tea")
	r.step(&SetStanding{All: []Standing{tea}})
	want("once more", "")
	r.step(&Packet{Peer: peerAt(1), Data: helloPacket(first, 9)})
	r.settle()
	want("who comes back", "10.0.0.1 3 tea")
	r.step(&SetStanding{All: nil})
	want("withdrawn", "10.0.0.1 4 withdrawn: tea")
	r.step(&SetStanding{All: []Standing{tea}, Quiet: true})
	want("who knows it", "")
	r.now = r.now.Add(time.Hour)
	r.step(&Packet{Peer: peerAt(1), Data: helloPacket(first, 10)})
	r.settle()
	want("after its end", "")
	r.step(&SetStanding{})
	want("withdrawn after its end", "")
}

// identified gives a session an identity, as a login does.
func (r *rig) identified(token wamble.Token, key wamble.PublicKey) {
	r.t.Helper()
	s := r.p.sessions.Find(token)
	r.p.frame.frames = &r.out.Frames
	if err := r.p.sessions.Link(r.now, s, key, nil, &r.p.frame); err != nil {
		r.t.Fatal(err)
	}
	r.step()
	r.settle()
}

func TestKick(t *testing.T) {
	key := wamble.PublicKey{5}
	for _, tc := range []struct {
		name string
		whom func(tokens []wamble.Token) Target
		want []int // of the players 1 to 3; 1 and 2 have the identity
	}{
		{"a session", func(tokens []wamble.Token) Target { return Target{Token: hashOf(tokens[1])} }, []int{2}},
		{"an identity", func([]wamble.Token) Target { return Target{Key: key} }, []int{1, 2}},
		{"an address", func([]wamble.Token) Target { return Target{Net: host(3)} }, []int{3}},
		{"a network", func([]wamble.Token) Target { return Target{Net: netip.MustParsePrefix("10.0.0.2/31")} }, []int{2, 3}},
		{"nobody", func([]wamble.Token) Target { return Target{Token: hashOf(wamble.Token{77})} }, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, "(def min-boards 3)")
			r.p.leases.Add(wamble.PlayerIDs, []wamble.Block{{First: 1, Count: 9}})
			var tokens []wamble.Token
			for n := 1; n <= 3; n++ {
				token, _ := r.join(n)
				tokens = append(tokens, token)
			}
			r.identified(tokens[0], key)
			r.identified(tokens[1], key)
			r.sent = nil
			r.step(&Kick{Whom: tc.whom(tokens), Text: "be kind"})
			r.settle()
			got, want := r.notices(), map[wamble.Peer]string{}
			for _, n := range tc.want {
				want[peerAt(n)] = "6 the host has ended your session: be kind"
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("got %v, want %v", got, want)
			}
			if free := r.p.boards.Free(); free != len(tc.want) || r.p.Stats().Host.Kicked != uint64(free) {
				t.Errorf("got %d free boards, %d kicked, want %d", free, r.p.Stats().Host.Kicked, len(tc.want))
			}
			for _, n := range tc.want {
				// The kicked player is a new one when they come back.
				h, _ := wire.Peek(r.reply(peerAt(n), helloPacket(tokens[n-1], 9)))
				if h.Ctrl != wire.CtrlServerHello || h.Token == tokens[n-1] {
					t.Errorf("got %+v, want a new player", h)
				}
			}
		})
	}
}

func TestBan(t *testing.T) {
	r := newRig(t, "(def min-boards 3)")
	token, id := r.join(1)
	r.step(&Ban{Whom: Target{Token: hashOf(token)}, Text: "spam", Until: r.now.Add(time.Hour)})
	r.settle()
	if got, want := r.notices()[peerAt(1)], "6 the host has ended your session: spam"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	// Wherever the token comes from.
	expect(t, r.send(peerAt(1), movePacket(token, id, 2, "e2e4")), "ACK 2", `ERROR 1001 "banned: spam" error.blocking`)
	expect(t, r.send(peerAt(7), helloPacket(token, 1)), "ACK 1", `ERROR 1001 "banned: spam" error.blocking`)
	// A network: whatever the token.
	r.join(2)
	r.step(&Ban{Whom: Target{Net: netip.MustParsePrefix("::ffff:10.0.0.2/127")}})
	r.settle()
	if got := r.notices()[peerAt(2)]; got != "6 the host has ended your session" {
		t.Errorf("got %q", got)
	}
	for _, n := range []int{2, 3} {
		expect(t, r.send(peerAt(n), helloPacket(wamble.Token{}, 8)), "ACK 8",
			`ERROR 1001 "you are banned from this server" error.blocking`)
	}
	if got := r.send(peerAt(4), helloPacket(wamble.Token{}, 1)); !strings.Contains(got, "SERVER_HELLO") {
		t.Errorf("a neighbour got %s", got)
	}
	if n := r.p.Stats().Host.Banned; n != 4 {
		t.Errorf("got %d refused, want 4", n)
	}
	// The host lifts bans; and bans expire.
	r.step(&Unban{Whom: Target{Net: netip.MustParsePrefix("10.0.0.3/31")}})
	if got := r.send(peerAt(3), helloPacket(wamble.Token{}, 9)); !strings.Contains(got, "SERVER_HELLO") {
		t.Errorf("after the ban got %s", got)
	}
	r.now = r.now.Add(time.Hour)
	if got := r.send(peerAt(7), helloPacket(token, 3)); !strings.Contains(got, "SERVER_HELLO") {
		t.Errorf("after its end got %s", got)
	}
}

func TestBrownout(t *testing.T) {
	r := newRig(t, "(def min-boards 3)")
	token, id := r.join(1)
	set := func(b Brownout) { r.step(&SetBrownout{Brownout: b}) }

	set(Brownout{ReadOnly: true})
	expect(t, r.send(peerAt(1), movePacket(token, id, 2, "e2e4")),
		`ERROR 1006 "the server is read-only at present" unreliable`)
	expect(t, r.send(peerAt(1), legalPacket(token, id, 3, 12)), "ACK 3",
		"LEGAL_MOVES 12 [{12 20 0} {12 28 0}] board "+itoa(uint32(id)))
	set(Brownout{NoNewSessions: true})
	expect(t, r.send(peerAt(2), helloPacket(wamble.Token{}, 1)), "ACK 1",
		`ERROR 1006 "the server takes no new players at present"`)
	if got := r.send(peerAt(1), helloPacket(token, 4)); !strings.Contains(got, "SERVER_HELLO") {
		t.Errorf("a known player got %s", got)
	}
	set(Brownout{NoPredictions: true})
	uci, _ := wire.MakeUCI("e2e4")
	submit := encode(wire.Header{Token: token, Board: id, Seq: 5}, wire.SubmitPrediction{UCI: uci})
	expect(t, r.send(peerAt(1), submit), "ACK 5", `ERROR 1006 "no predictions are taken at present"`)
	set(Brownout{})
	if got := r.send(peerAt(2), helloPacket(wamble.Token{}, 2)); !strings.Contains(got, "SERVER_HELLO") {
		t.Errorf("after it a new player got %s", got)
	}
}

// intents returns those of the frames that the store does not have yet.
func (r *rig) intents() []intent.Intent {
	var all []intent.Intent
	for _, f := range r.frames {
		intents, err := journal.Decode(f.frame)
		if err != nil {
			r.t.Fatal(err)
		}
		all = append(all, intents...)
	}
	return all
}

// TestEraseSparesWhoIsNew: an erasure applies to the player it was ordered for. One who logs
// in with the key afterwards is a new player, and stays when the erasure arrives again, or
// only then: from another shard, from another machine, or from the journal.
func TestEraseSparesWhoIsNew(t *testing.T) {
	r := newRig(t, resumeConf)
	by := standardSigner(2)
	key := by.key
	token, _ := r.join(1)
	r.login(peerAt(1), token, 5, by)
	old := r.p.sessions.Identity(key).ID()
	order := &Erase{Key: key, Player: old, Sessions: []wamble.SessionID{r.p.sessions.Find(token).ID()}}
	r.step(order)
	if got := r.out.StoreEvents; len(got) != 1 || got[0].Key != key || !got[0].Urgent {
		t.Errorf("the others are told %+v, want player %d", got, old)
	}
	r.settle()
	if r.p.sessions.Find(token) != nil || !r.p.sessions.Erasing(key) {
		t.Fatal("the player was not erased")
	}
	token, _ = r.join(2)
	r.login(peerAt(2), token, 5, by)
	id := r.p.sessions.Identity(key).ID()
	if id == old {
		t.Fatal("the player is not new")
	}
	stays := func(when string, p *Profile) {
		t.Helper()
		if i := p.sessions.Identity(key); i == nil || i.ID() != id || p.sessions.Find(token) == nil {
			t.Errorf("%s: who is new is gone", when)
		}
	}
	r.sync()
	r.step(&Applied{Seq: r.seq})
	state := walked(r)
	r.apply()
	r.step(&StoreEvents{Changes: []StoreEvent{{What: Stale, Key: key}}})
	r.answerLoads()
	stays("news of another machine", r.p)
	r.step(order)
	r.settle()
	stays("the order again", r.p)
	r.sync()
	stays("the journal", resumeTo(t, r, state, resumeConf, &ResumeEnd{Last: r.seq, Told: true}).p)
	got := r.intents()
	if in, ok := got[len(got)-1].(*intent.ErasePlayer); !ok || in.Player != old {
		t.Errorf("got %+v, want player %d erased in the store", got[len(got)-1], old)
	}

	r.apply()
	if err := r.store.apply(&intent.ErasePlayer{Key: key, Player: id}); err != nil {
		t.Fatal(err)
	}
	r.step(&StoreEvents{Changes: []StoreEvent{{What: Stale, Key: key}}})
	r.answerLoads()
	if r.p.sessions.Find(token) != nil {
		t.Error("the player is not erased when it is ordered")
	}
}

// TestErase: an erased player is told and disconnected, their board is free, and their token
// is invalid, whatever the store still has.
func TestErase(t *testing.T) {
	r := newRig(t, "(def min-boards 3)")
	r.p.leases.Add(wamble.PlayerIDs, []wamble.Block{{First: 1, Count: 9}})
	token, id := r.join(1)
	key := wamble.PublicKey{5}
	r.identified(token, key)
	r.frames, r.sent = nil, nil
	r.step(&Erase{Key: key})
	r.settle()
	got := r.intents()
	if in, ok := got[len(got)-1].(*intent.ErasePlayer); !ok || in.Key != key || !in.At.Equal(r.now) {
		t.Errorf("got %+v", got[len(got)-1])
	}
	if r.p.sessions.Find(token) != nil || !r.p.sessions.Refused(token) || r.p.boards.Board(id).Holder() != 0 {
		t.Error("the session goes on")
	}
	if got, want := r.notices()[peerAt(1)], "6 your data was deleted"; got != want {
		t.Errorf("the player was told %q, want %q", got, want)
	}
	if !r.p.sessions.Erasing(key) {
		t.Error("what the store says of the key would be believed")
	}
	r.step(&Applied{Seq: r.seq})
	if r.p.sessions.Erasing(key) {
		t.Error("the store has done it, and is still not believed")
	}
}

func TestPurge(t *testing.T) {
	for _, tc := range []struct {
		days int
		want int
	}{{30, 1}, {0, 0}} {
		r := newRig(t, fmt.Sprintf("(def retention-days %d)", tc.days))
		r.frames = nil
		r.step(&Purge{})
		r.settle()
		got := r.intents()
		if len(got) != tc.want {
			t.Fatalf("%d days: got %d intents, want %d", tc.days, len(got), tc.want)
		}
		if tc.want == 0 {
			continue
		}
		in, ok := got[0].(*intent.PurgeSessions)
		if !ok || !in.Before.Equal(r.now.AddDate(0, 0, -30)) || !in.At.Equal(r.now) {
			t.Errorf("got %+v", got[0])
		}
	}
}

// TestReplayCommands: the commands of a host are recorded as they were given.
func TestReplayCommands(t *testing.T) {
	r := &rig{t: t, now: epoch, store: newMemory()}
	r.options = Options{Config: configOf(t, "(def min-boards 4)"), Seed: [32]byte{4}, Now: epoch, LeaseSize: 100}
	r.p = New(r.options)
	var tape bytes.Buffer
	recorder, err := Tape.NewRecorder(&tape, r.options)
	if err != nil {
		t.Fatal(err)
	}
	r.trace = func(now time.Time, inputs []Input, out *Output) {
		if err := recorder.Step(now, inputs, out); err != nil {
			t.Fatal(err)
		}
	}
	r.boot()
	token, _ := r.join(1)
	r.join(2)
	r.join(3)
	r.step(&Announce{Notice: wire.NoticeAnnouncement, Text: "soon"})
	r.step(&Ban{Whom: Target{Net: host(2)}, Until: r.now.Add(time.Hour)})
	r.settle()
	r.send(peerAt(2), helloPacket(wamble.Token{}, 2))
	r.step(&Kick{Whom: Target{Token: hashOf(token)}}, &Unban{Whom: Target{Net: host(2)}})
	r.step(&SetBrownout{Brownout: Brownout{NoNewSessions: true}})
	r.send(peerAt(2), helloPacket(wamble.Token{}, 3))
	r.step(&Erase{Key: wamble.PublicKey{1}}, &Purge{})
	r.settle()
	if n, first, err := Tape.Replay(&tape); n == 0 || first != "" || err != nil {
		t.Errorf("got %d steps, %v, %v", n, first, err)
	}
}
