package profile

import (
	"bytes"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/internal/pack"
	"wamble/internal/session"
	"wamble/internal/spectate"
	"wamble/wire"
)

// samples has one input of each type, with every field set.
func samples(tb testing.TB) []Input {
	whom := Target{Token: hashOf(wamble.Token{1}), Key: wamble.PublicKey{2}, Net: netip.MustParsePrefix("192.0.2.0/24")}
	stored := &wamble.Session{ID: 3, Token: hashOf(wamble.Token{4}), LastSeen: epoch}
	return []Input{
		&Packet{Peer: peerAt(1), Data: []byte{1, 2}}, &PeerClosed{Peer: wamble.Peer{Addr: peerAt(1).Addr, Route: 7}},
		&Loaded{Load: 1, Outcome: Away, Session: stored, Board: &wamble.Board{ID: 5, Created: epoch},
			Answer: &Answer{Accepted: true}},
		&Durable{Index: 1, Seq: 2}, &Applied{Seq: 3},
		&Leased{Sequence: wamble.SessionIDs, Blocks: []wamble.Block{{First: 1, Count: 2}}},
		&Tick{}, &Configure{Config: configOf(tb, "(def min-boards 7)")}, &StoreAway{}, &StoreBack{}, &JournalFailed{},
		&RestoreBoard{Board: wamble.Board{ID: 6, FEN: "8", Created: epoch}, Predictions: []wamble.Prediction{{ID: 8}}},
		&RestoreSession{Session: *stored, Answer: &Answer{Player: &wamble.Player{Handle: "anna"}}}, &Ready{},
		&Announce{Notice: wire.NoticeMaintenance, Text: "soon"}, &Kick{Whom: whom, Text: "out"},
		&Ban{Whom: whom, Text: "out", Until: epoch.Add(time.Hour)},
		&Unban{Whom: whom}, &SetBrownout{Brownout: Brownout{NoPredictions: true, ReadOnly: true}},
		&Erase{Key: whom.Key, Sessions: []wamble.SessionID{7}, Player: 8}, &Archive{Board: 9},
		&Purge{}, &WallClock{Ahead: -time.Hour},
		&StoreEvents{Changes: []StoreEvent{{What: Won, Session: 3, Key: whom.Key, Points: 1, Rating: -2,
			Stamp: Stamp{Journal: 1<<64 - 1, Message: 8}}, {What: Stale, Key: whom.Key, Merged: wamble.PublicKey{3}}}},
		&Trust{Session: 3, Key: whom.Key, Level: 10},
		&Revoke{Key: whom.Key, Session: 7, Stored: []wamble.Session{*stored}},
		&ResumeSlice{Mark: 5, Ahead: time.Second, Data: []byte("slice")},
		&ResumeTail{Messages: []TailMessage{{Seq: 6, Frame: []byte("frame")}}},
		&ResumeEnd{Last: 7, Alone: true, Told: true},
		&Rename{Key: whom.Key, Name: "Ann"},
		&SetStanding{All: []Standing{{ID: 7, Notice: wire.NoticeAnnouncement, Text: "tea", Until: epoch.Add(time.Hour),
			Countdown: true}}, Quiet: true},
		&Merge{From: wamble.Player{ID: 5, Key: whom.Key, Created: epoch}, Into: wamble.Player{ID: 6, Handle: "anna"}},
		&ShardCounts{Node: 6, Open: 2, Opened: 5,
			Shards: []ShardCount{{Players: 1, Idle: 1, Bots: 2, Boards: 3, Free: 4, Watched: true}, {}}},
		&Arrive{Round: 3, Boards: []wamble.Board{{ID: 6, FEN: "8", Created: epoch}}},
		&BoardViews{Boards: []BoardView{{Board: spectate.Board{ID: 7, Version: 8, Position: chess.Start(), Moved: 9,
			Attraction: 0.5, Bot: true, From: 1, To: 2}, Gone: true}}},
		&BoardRequest{Board: 7, Depth: 1, Limit: 2, Session: 3, Token: wamble.Token{4}, UCI: "e2e4", Parent: 5,
			Level: 6, Reads: true},
		&Others{1, 2, 3, 4}, &RemoteNewcomers{Newcomers: []session.Newcomer{{Host: netip.MustParsePrefix("192.0.2.1/32"), Stream: true}}},
		&FreezeBoards{On: true},
		&ResumeOtherProfile{Frames: [][]byte{[]byte("frame")}},
		&ResendViews{},
	}
}

// TestInputs: every row of the table has a unique number and name, and a type whose values
// are read from a recording as they were written.
func TestInputs(t *testing.T) {
	all := samples(t)
	if len(all) != len(inputs) {
		t.Fatalf("%d samples of %d types", len(all), len(inputs))
	}
	numbers, names := map[byte]bool{0: true}, map[string]bool{"": true}
	for i, row := range inputs {
		if numbers[row.number] || names[row.name] {
			t.Errorf("row %d: the number %d or the name %q is missing, or not its own", i, row.number, row.name)
		}
		numbers[row.number], names[row.name] = true, true
		in := all[i]
		if got, want := reflect.TypeOf(row.make()), reflect.TypeOf(in); got != want || InputName(in) != row.name {
			t.Fatalf("row %d makes a %v, named %q; the sample is a %v, named %q", i, got, row.name, want, InputName(in))
		}
		for f := range reflect.TypeOf(in).Elem().NumField() {
			if reflect.ValueOf(in).Elem().Field(f).IsZero() {
				t.Errorf("%s: the sample lacks %s", row.name, reflect.TypeOf(in).Elem().Field(f).Name)
			}
		}
		b, err := AppendInput(nil, in)
		if err != nil {
			t.Fatal(err)
		}
		r := pack.NewReader(b)
		got := ReadInput(&r)
		if again, _ := AppendInput(nil, got); !r.Ended() || !bytes.Equal(again, b) {
			t.Errorf("%s: got %+v, want %+v", row.name, got, in)
		}
		if _, is := in.(*Configure); !is && !reflect.DeepEqual(got, in) { // a configuration has its file, too
			t.Errorf("%s: got %+v, want %+v", row.name, got, in)
		}
	}
}

// FuzzReadInput: no bytes make it panic, and what is read is written again.
func FuzzReadInput(f *testing.F) {
	for _, in := range samples(f) {
		b, _ := AppendInput(nil, in)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := pack.NewReader(b)
		in := ReadInput(&r)
		if r.Bad() {
			return
		}
		if _, err := AppendInput(nil, in); err != nil {
			t.Errorf("%s was read, but cannot be written: %v", InputName(in), err)
		}
	})
}

// TestScopes: every command of a host says which shards carry it out.
func TestScopes(t *testing.T) {
	want := map[Scope][]string{
		EveryShard:  {"announce", "kick", "erase", "archive", "revoke"},
		Sanction:    {"ban", "unban"},
		Restriction: {"brownout", "stand"},
		StoreChange: {"trust", "rename", "merge"},
		StoreOnly:   {"purge"},
	}
	got := map[Scope][]string{}
	for _, row := range inputs {
		if row.scope != NoCommand {
			got[row.scope] = append(got[row.scope], row.name)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := ScopeOf(&Rename{}); got != StoreChange {
		t.Errorf("the scope of a rename: got %v", got)
	}
}
