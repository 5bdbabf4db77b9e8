package board

import (
	"testing"
	"time"

	"wamble"
)

// Every transition of the table of states, with its intents, in order.
func TestTransitions(t *testing.T) {
	const fortnight = "336h0m0s"
	for _, tc := range []struct {
		name   string
		change func(*Options)
		before func(*rig)
		do     func(*rig)
		status wamble.BoardStatus // of board 1
		want   []string
	}{
		{
			name: "pool fill", do: (*rig).fill, status: wamble.Dormant,
			want: []string{"create 1 DORMANT"},
		},
		{
			name: "on demand", do: func(r *rig) { r.assign(7) }, status: wamble.Reserved,
			want: []string{"create 1 DORMANT", "update 1 RESERVED v1", "assigned 1",
				"reserve 1 for 7 white " + fortnight},
		},
		{
			name: "dormant to reserved", before: (*rig).fill, do: func(r *rig) { r.assign(7) }, status: wamble.Reserved,
			want: []string{"update 1 RESERVED v1", "assigned 1", "reserve 1 for 7 white " + fortnight},
		},
		{
			name:   "active to reserved",
			before: func(r *rig) { r.assign(7); r.play(1, 7, "e2e4") },
			do:     func(r *rig) { r.assign(8) }, status: wamble.Reserved,
			want: []string{"update 1 RESERVED v3", "assigned 1", "reserve 1 for 8 black " + fortnight},
		},
		{
			name:   "reserved again",
			before: func(r *rig) { r.assign(7) },
			do:     func(r *rig) { r.after(time.Minute); r.assign(7) }, status: wamble.Reserved,
		},
		{
			name:   "reserved to active",
			before: func(r *rig) { r.assign(7) },
			do:     func(r *rig) { r.play(1, 7, "e2e4") }, status: wamble.Active,
			want: []string{"move 1 by 7 e2e4 ply 1 first", "update 1 ACTIVE v2", "unreserve 1"},
		},
		{
			name:   "second move of a session",
			before: func(r *rig) { r.assign(7); r.play(1, 7, "e2e4"); r.assign(7) },
			do:     func(r *rig) { r.play(1, 7, "e7e5") }, status: wamble.Active,
			want: []string{"move 1 by 7 e7e5 ply 2", "update 1 ACTIVE v4", "unreserve 1"},
		},
		{
			name:   "reservation timeout",
			before: func(r *rig) { r.assign(7) },
			do:     func(r *rig) { r.after(14 * 24 * time.Hour); r.Due(r.now, nil, &r.said) }, status: wamble.Dormant,
			want: []string{"update 1 DORMANT v2", "unreserve 1"},
		},
		{
			name:   "reservation timeout of an identity",
			before: func(r *rig) { r.assign(7); r.Identify(7, true) },
			do:     func(r *rig) { r.after(14 * 24 * time.Hour); r.Due(r.now, nil, &r.said) }, status: wamble.Dormant,
			want: []string{"update 1 DORMANT v2", "unreserve 1"},
		},
		{
			name:   "just before the reservation timeout",
			before: func(r *rig) { r.assign(7) },
			do: func(r *rig) {
				r.after(14*24*time.Hour - time.Microsecond)
				r.NoteActivity(r.now, 7, Datagram)
				r.Due(r.now, nil, &r.said)
			}, status: wamble.Reserved,
		},
		{
			name:   "release",
			before: func(r *rig) { r.assign(7); r.Identify(7, true) },
			do:     func(r *rig) { r.Release(r.now, 7, &r.said) }, status: wamble.Dormant,
			want: []string{"update 1 DORMANT v2", "unreserve 1"},
		},
		{
			name:   "an anonymous player leaves",
			before: func(r *rig) { r.assign(7) },
			do:     func(r *rig) { r.Leave(r.now, 7, &r.said) }, status: wamble.Dormant,
			want: []string{"update 1 DORMANT v2", "unreserve 1"},
		},
		{
			name:   "a player with an identity leaves",
			before: func(r *rig) { r.assign(7); r.Identify(7, true) },
			do:     func(r *rig) { r.Leave(r.now, 7, &r.said) }, status: wamble.Dormant,
			want: []string{"update 1 DORMANT v2", "unreserve 1"},
		},
		{
			name:   "the host keeps boards for identities",
			change: func(o *Options) { o.IdentityAway = time.Hour },
			before: func(r *rig) { r.assign(7); r.Identify(7, true); r.Leave(r.now, 7, &r.said) },
			do:     func(r *rig) { r.after(time.Hour - time.Microsecond); r.Due(r.now, nil, &r.said) },
			status: wamble.Reserved,
		},
		{
			name:   "and not for ever",
			change: func(o *Options) { o.IdentityAway = time.Hour },
			before: func(r *rig) { r.assign(7); r.Identify(7, true) },
			do:     func(r *rig) { r.after(time.Hour); r.Due(r.now, nil, &r.said) }, status: wamble.Dormant,
			want: []string{"update 1 DORMANT v2", "unreserve 1"},
		},
		{
			name:   "inactivity",
			before: func(r *rig) { r.assign(7); r.play(1, 7, "e2e4") },
			do:     func(r *rig) { r.after(5 * time.Minute); r.Due(r.now, nil, &r.said) }, status: wamble.Dormant,
			want: []string{"update 1 DORMANT v3"},
		},
		{
			name:   "just before inactivity",
			before: func(r *rig) { r.assign(7); r.play(1, 7, "e2e4") },
			do:     func(r *rig) { r.after(5*time.Minute - time.Microsecond); r.Due(r.now, nil, &r.said) },
			status: wamble.Active,
		},
		{
			name:   "silent for inactivity-timeout",
			before: func(r *rig) { r.assign(7) },
			do:     func(r *rig) { r.after(5 * time.Minute); r.Due(r.now, nil, &r.said) }, status: wamble.Dormant,
			want: []string{"update 1 DORMANT v2", "unreserve 1"},
		},
		{
			name:   "just before inactivity-timeout",
			before: func(r *rig) { r.assign(7) },
			do:     func(r *rig) { r.after(5*time.Minute - time.Microsecond); r.Due(r.now, nil, &r.said) },
			status: wamble.Reserved,
		},
		{
			name:   "silent on a connection",
			before: func(r *rig) { r.assign(7); r.NoteActivity(r.now, 7, Stream) },
			do:     func(r *rig) { r.after(2 * time.Minute); r.Due(r.now, nil, &r.said) }, status: wamble.Dormant,
			want: []string{"update 1 DORMANT v2", "unreserve 1"},
		},
		{
			name: "heard on a connection",
			before: func(r *rig) {
				r.assign(7)
				r.NoteActivity(r.now, 7, Stream)
				r.after(time.Minute)
				r.NoteActivity(r.now, 7, Stream)
			},
			do: func(r *rig) { r.after(119 * time.Second); r.Due(r.now, nil, &r.said) }, status: wamble.Reserved,
		},
		{
			name: "the connection was closed",
			before: func(r *rig) {
				r.assign(7)
				r.NoteActivity(r.now, 7, Stream)
				r.after(time.Minute)
				r.Closed(r.now, 7)
			},
			do: func(r *rig) { r.after(15 * time.Second); r.Due(r.now, nil, &r.said) }, status: wamble.Dormant,
			want: []string{"update 1 DORMANT v2", "unreserve 1"},
		},
		{
			name: "the connection was closed a moment ago",
			before: func(r *rig) {
				r.assign(7)
				r.NoteActivity(r.now, 7, Stream)
				r.after(time.Minute)
				r.Closed(r.now, 7)
			},
			do:     func(r *rig) { r.after(15*time.Second - time.Microsecond); r.Due(r.now, nil, &r.said) },
			status: wamble.Reserved,
		},
		{
			name: "connected again",
			before: func(r *rig) {
				r.assign(7)
				r.NoteActivity(r.now, 7, Stream)
				r.Closed(r.now, 7)
				r.after(14 * time.Second)
				r.NoteActivity(r.now, 7, Stream)
			},
			do: func(r *rig) { r.after(time.Minute); r.Due(r.now, nil, &r.said) }, status: wamble.Reserved,
		},
		{
			name: "given back",
			before: func(r *rig) {
				r.assign(7)
				r.after(5 * time.Minute)
				r.Due(r.now, nil, &r.said)
				r.after(time.Hour)
			},
			do: func(r *rig) { r.assign(7) }, status: wamble.Reserved,
			want: []string{"update 1 RESERVED v3", "assigned 1", "reserve 1 for 7 white " + fortnight},
		},
		{
			name: "the game ends",
			before: func(r *rig) {
				for i, uci := range []string{"f2f3", "e7e5", "g2g4"} {
					s := wamble.SessionID(7 + i)
					r.assign(s)
					r.play(1, s, uci)
				}
				r.after(90 * time.Second)
				r.assign(7)
			},
			do: func(r *rig) { r.play(1, 7, "d8h4") }, status: wamble.Archived,
			want: []string{
				"move 1 by 7 d8h4 ply 4", "update 1 ARCHIVED v8", "unreserve 1",
				"result 1 b checkmate plies 4 after 1m30s",
			},
		},
		{
			name:   "archived by hand, held",
			before: func(r *rig) { r.assign(7) },
			do:     func(r *rig) { r.Archive(r.now, 1, &r.said) }, status: wamble.Archived,
			want: []string{"update 1 ARCHIVED v2", "unreserve 1", "result 1 d archived by the host plies 0 after 0s"},
		},
		{
			name: "archived by hand, free", before: (*rig).fill,
			do: func(r *rig) { r.Archive(r.now, 1, &r.said) }, status: wamble.Archived,
			want: []string{"update 1 ARCHIVED v1", "unreserve 1", "result 1 d archived by the host plies 0 after 0s"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, tc.change)
			if tc.before != nil {
				tc.before(r)
			}
			r.said.take()
			tc.do(r)
			r.expect(tc.want...)
			got := wamble.Archived
			if b := r.Board(1); b != nil {
				got = b.Status()
			}
			if got != tc.status {
				t.Errorf("status %s, want %s", got, tc.status)
			}
		})
	}
}

func TestReleasedSaysWhoAndWhy(t *testing.T) {
	r := newRig(t, func(o *Options) { o.MaxBoards = 3 })
	r.assign(7)
	r.after(time.Second)
	r.assign(8)
	if got, ok := r.Leave(r.now, 7, &r.said); !ok || got != (Released{1, 7, HolderLeft}) {
		t.Errorf("leave: %+v, %v", got, ok)
	}
	if _, ok := r.Leave(r.now, 7, &r.said); ok {
		t.Error("left twice")
	}
	if _, ok := r.Release(r.now, 99, &r.said); ok {
		t.Error("released who holds nothing")
	}
	r.after(time.Second)
	r.assign(9)
	r.after(14*24*time.Hour - time.Second)
	r.NoteActivity(r.now, 9, Datagram)
	got := r.Due(r.now, nil, &r.said)
	if len(got) != 1 || got[0] != (Released{2, 8, TimedOut}) {
		t.Errorf("due: %+v", got)
	}
	if b := r.Held(8); b != nil {
		t.Errorf("8 still holds %d", b.ID())
	}
	check(t, r.Pool)
}

// TestGoneAndBack: an absent player gets their board back if nobody took it; a player who
// took it keeps it, and the first is told so.
func TestGoneAndBack(t *testing.T) {
	r := newRig(t, func(o *Options) { o.MaxBoards = 3 })
	r.assign(7)
	r.after(5 * time.Minute)
	if got := r.Due(r.now, nil, &r.said); len(got) != 1 || got[0] != (Released{1, 7, HolderGone}) || r.Former(7) != 1 ||
		r.Here() != 0 {
		t.Fatalf("due: %+v, kept for the player: %d, here: %d", got, r.Former(7), r.Here())
	}
	check(t, r.Pool)
	if got := handOver(t, r.Pool).Former(7); got != 1 {
		t.Fatalf("after a handoff: %d", got)
	}
	if b := r.assign(7); b.ID() != 1 || r.Former(7) != 0 {
		t.Fatalf("the player got board %d", b.ID())
	}
	r.after(5 * time.Minute)
	r.Due(r.now, nil, &r.said)
	a, err := r.Assign(r.now, Player{Session: 8}, &r.said)
	if err != nil || a.Taken != (Released{1, 7, HolderReplaced}) || r.Former(7) != 0 {
		t.Fatalf("%+v, %v", a, err)
	}
	if b := r.assign(7); b.ID() == 1 {
		t.Error("the player has the board that another got")
	}
	check(t, r.Pool)
}

// TestNobodyIsHereAfterARestart: boards are not woken for holders who may never come back.
func TestNobodyIsHereAfterARestart(t *testing.T) {
	r := newRig(t, func(o *Options) { o.MaxBoards, o.PerPlayer = 100, 2 })
	for i := range 20 {
		stored := storedGame(t, wamble.BoardID(100+i), -1, wamble.Reserved, "e2e4")
		stored.Holder = reservation(wamble.SessionID(1+i), 0, time.Hour)
		if err := r.Restore(r.now, stored, &r.said); err != nil {
			t.Fatal(err)
		}
	}
	check(t, r.Pool)
	r.said.take()
	if err := r.Balance(r.now, 100, &r.said); err != nil || r.Here() != 0 || r.Len() != 21 {
		t.Errorf("%d are here, %d boards, %v", r.Here(), r.Len(), err)
	}
	r.NoteActivity(r.now, 3, Stream)
	if r.Here() != 1 || r.Held(3).ID() != 102 {
		t.Errorf("%d are here", r.Here())
	}
	r.after(5 * time.Minute)
	r.NoteActivity(r.now, 3, Stream)
	if got := r.Due(r.now, nil, &r.said); len(got) != 19 {
		t.Errorf("%d boards were released, want 19", len(got))
	}
	check(t, r.Pool)
}

func TestTimeNeverGoesBack(t *testing.T) {
	r := newRig(t, nil)
	r.assign(7)
	r.after(-time.Hour)
	r.play(1, 7, "e2e4")
	if got, want := r.Board(1).LastMoved(), epoch; !got.Equal(want) {
		t.Errorf("moved at %s, want %s", got, want)
	}
}

func TestNext(t *testing.T) {
	r := newRig(t, nil)
	if _, ok := r.Next(); ok {
		t.Error("an empty pool waits for something")
	}
	r.fill()
	if _, ok := r.Next(); ok {
		t.Error("a dormant board waits for something")
	}
	r.assign(7)
	r.after(time.Minute)
	r.play(1, 7, "e2e4")
	at, ok := r.Next()
	if want := r.now.Add(4 * time.Minute); !ok || !at.Equal(want) { // the alarm of the holder
		t.Errorf("next at %s, %v; want %s", at, ok, want)
	}
	// A second move on the board delays it, which Next need not take into account before.
	r.assign(8)
	r.after(time.Minute)
	r.play(1, 8, "e7e5")
	r.said.take()
	r.Due(at, nil, &r.said)
	r.expect()
	at, ok = r.Next()
	if want := r.now.Add(5 * time.Minute); !ok || !at.Equal(want) {
		t.Errorf("next at %s, %v; want %s", at, ok, want)
	}
	r.Due(at, nil, &r.said)
	r.expect("update 1 DORMANT v5")
	if _, ok := r.Next(); ok {
		t.Error("a dormant board waits for something")
	}
}

func TestReconfigure(t *testing.T) {
	r := newRig(t, nil)
	r.assign(7)
	o := *r.Options()
	o.Reservation = time.Minute
	r.Reconfigure(o)
	if at, ok := r.Next(); !ok || !at.Equal(epoch.Add(time.Minute)) {
		t.Errorf("next at %s, %v", at, ok)
	}
	r.after(time.Minute)
	if got := r.Due(r.now, nil, &r.said); len(got) != 1 {
		t.Errorf("due: %+v", got)
	}
	check(t, r.Pool)
}
