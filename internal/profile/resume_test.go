package profile

import (
	"errors"
	"iter"
	"maps"
	"testing"
	"time"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/journal"
)

// resume restores another profile, with a configuration of its own, from a walk of r's and
// the messages since, while the store has nothing of them.
func resume(t testing.TB, r *rig, walked []walkSlice, conf string) *rig {
	t.Helper()
	return resumeTo(t, r, walked, conf, &ResumeEnd{Last: r.seq, Alone: true})
}

// resumeTo is resume with an end of its own, and with messages of another profile.
func resumeTo(t testing.TB, r *rig, walked []walkSlice, conf string, end *ResumeEnd, elsewhere ...intent.Intent) *rig {
	t.Helper()
	next := &rig{t: t, now: r.now, store: r.store, options: r.options, seq: r.seq, frames: r.frames, away: true}
	next.options.Now, next.options.Config = r.now, configOf(t, conf)
	next.p = New(next.options)
	for _, s := range walked {
		next.step(&ResumeSlice{Mark: s.mark, Data: s.data})
	}
	tail := &ResumeTail{}
	for _, m := range r.frames {
		if m.seq > walked[0].mark {
			tail.Messages = append(tail.Messages, TailMessage{m.seq, m.frame})
		}
	}
	next.step(tail)
	for _, in := range elsewhere {
		next.step(&ResumeOtherProfile{Frames: [][]byte{journal.Append(journal.Begin(nil), in)}})
	}
	next.step(end, &Ready{})
	if len(next.out.Troubles) > 0 {
		t.Fatal(next.out.Troubles)
	}
	return next
}

// walked is all slices of a profile that has nothing undurable.
func walked(r *rig) (all []walkSlice) {
	for data := range r.p.Walk(200, func() []byte { return nil }) {
		all = append(all, walkSlice{r.seq, data})
	}
	return all
}

const resumeConf = "(def min-boards 6) (def max-moves-per-board 40) "

// TestResumeIntoOther: the configuration may be another one. A game that is over by a
// lower limit is ended, boards beyond a lower bound stay, and a player goes on.
func TestResumeIntoOther(t *testing.T) {
	r := newRig(t, resumeConf)
	one, held := r.join(1)
	r.send(peerAt(1), movePacket(one, held, 2, "e2e4"))
	state := walked(r)
	two, other := r.join(2)
	r.send(peerAt(2), movePacket(two, other, 2, "d2d4"))
	r.wait(time.Second)
	played := 0
	for b := range r.p.boards.All() {
		if b.Plies() > 0 {
			played++
		}
	}
	next := resume(t, r, state, "(def min-boards 1) (def max-boards 2) (def max-players 1) (def max-moves-per-board 1)")
	next.step(&Tick{})
	next.settle()
	if got := next.p.Stats().Finished; got != uint64(played) {
		t.Errorf("%d games were ended, want %d", got, played)
	}
	for _, token := range []wamble.Token{one, two} {
		if next.p.sessions.Find(token) == nil {
			t.Error("a player did not come back")
		}
	}
	if got, want := next.p.Gauges().Boards, r.p.Gauges().Boards-played; got != want {
		t.Errorf("%d boards came back, want %d", got, want)
	}
}

// TestResumeNumbers: no number is given out twice, and the remaining ones are used while the
// store is away.
func TestResumeNumbers(t *testing.T) {
	r := newRig(t, resumeConf)
	r.join(1)
	state := walked(r)
	for n := range 5 {
		r.join(2 + n)
	}
	used := map[wamble.SessionID]bool{}
	for s := range r.p.sessions.All() {
		used[s.ID()] = true
	}
	next := resume(t, r, state, resumeConf)
	for n := range 5 {
		token, _ := next.join(20 + n)
		id := next.p.sessions.Find(token).ID()
		if used[id] {
			t.Errorf("session %d was given out twice", id)
		}
		used[id] = true
	}
}

// TestResumeUnstored: a session that is not in memory, and not all in the store, is not
// loaded before the store has everything.
func TestResumeUnstored(t *testing.T) {
	r := newRig(t, resumeConf)
	token, _ := r.join(1)
	id := r.p.sessions.Find(token).ID()
	r.apply()
	state := walked(newRig(t, resumeConf)) // of a player without a stored session
	r.frames = nil
	r.step(&Trust{Session: id, Level: 3})
	r.sync()
	for i := range state {
		state[i].mark = r.seq - uint64(len(r.frames))
	}
	next := resume(t, r, state, resumeConf)
	seq := uint32(9)
	ask := func() bool {
		seq++
		next.step(&Packet{Peer: peerAt(1), Data: helloPacket(token, seq)})
		next.settle()
		next.answerLoads()
		return next.p.sessions.Find(token) != nil
	}
	if ask() {
		t.Fatal("the store was believed before it had everything")
	}
	next.settle()
	if adopted := handOver(t, next); !adopted.p.unstored.any() ||
		!maps.Equal(adopted.p.unstored.sessions, next.p.unstored.sessions) {
		t.Error("the next image would believe the store")
	}
	if got := next.p.Pending(wamble.Token{9}, wamble.PublicKey{}); got != resumeIndex {
		t.Errorf("another profile may ask after index %d, want %d", got, resumeIndex)
	}
	next.apply()
	next.now = next.now.Add(time.Second)
	next.step(&Applied{Seq: next.seq})
	if got := next.p.Pending(wamble.Token{9}, wamble.PublicKey{}); got != 0 {
		t.Errorf("now another profile may ask after index %d, want 0", got)
	}
	if !ask() {
		t.Error("the session is not found when the store has it")
	}
}

// TestResumeDamaged: no slice that is cut off or changed makes a profile panic.
func TestResumeDamaged(t *testing.T) {
	r := newRig(t, resumeConf)
	for n := range 3 {
		token, board := r.join(1 + n)
		r.send(peerAt(1+n), movePacket(token, board, 2, "e2e4"))
	}
	for _, s := range walked(r) {
		for at := range s.data {
			for _, data := range [][]byte{s.data[:at],
				append(append([]byte(nil), s.data[:at]...), append([]byte{s.data[at] ^ 0xff}, s.data[at+1:]...)...)} {
				p := New(r.options)
				var out Output
				p.Step(r.now, []Input{&ResumeSlice{Mark: s.mark, Data: data}}, &out)
				for _, err := range out.Troubles {
					if !errors.Is(err, ErrState) {
						t.Fatal(err)
					}
				}
				p.Step(r.now, []Input{&ResumeEnd{Last: r.seq, Alone: true}, &Ready{}}, &out)
			}
		}
	}
}

// TestWalkWhilePlaying: a walk that is abandoned in the middle blocks nothing.
func TestWalkWhilePlaying(t *testing.T) {
	r := newRig(t, resumeConf)
	next, stop := iter.Pull(r.p.Walk(1, func() []byte { return nil }))
	next()
	r.join(1)
	next()
	stop()
	r.join(2)
}

// TestResumeOtherProfile: beside another profile of the same store, players whom its journal
// does not name come back at once; the others wait for the store, and all of them do if that
// journal cannot be read.
func TestResumeOtherProfile(t *testing.T) {
	r := newRig(t, resumeConf)
	guest, _ := r.join(1)
	known, _ := r.join(2)
	by := standardSigner(2)
	r.login(peerAt(2), known, 5, by)
	state := walked(r)
	ids := map[wamble.Token]wamble.SessionID{}
	for _, token := range []wamble.Token{guest, known} {
		ids[token] = r.p.sessions.Find(token).ID()
	}
	told := &ResumeEnd{Last: r.seq, Told: true}
	for _, tc := range []struct {
		name           string
		end            *ResumeEnd
		in             []intent.Intent
		guestIn, known bool
	}{
		{"nothing", told, nil, true, true},
		{"games of others", told, []intent.Intent{&intent.RecordPayout{Session: 77, Board: 1, Points: 1, At: r.now}}, true, true},
		{"nobody knows", &ResumeEnd{Last: r.seq}, nil, false, false},
		{"a game of theirs", told, []intent.Intent{&intent.RecordPayout{Session: ids[guest], Board: 1, Points: 1, At: r.now}}, true, true},
		{"a logout", told, []intent.Intent{&intent.UnlinkSession{Session: ids[known], At: r.now}}, true, false},
		{"a login", told, []intent.Intent{&intent.LinkSession{Session: ids[guest], Key: by.key, Player: 1, Handle: "h_a", At: r.now}}, false, true},
		{"a new token", told, []intent.Intent{&intent.RenewToken{Session: ids[guest], Token: wamble.TokenHash{9}, At: r.now}}, false, true},
		{"trust", told, []intent.Intent{&intent.SetTrust{Key: by.key, Level: 1, At: r.now}}, true, false},
		{"a rating", told, []intent.Intent{&intent.RecordRating{Session: 78, Key: by.key, Board: 1, Delta: 1, At: r.now}}, true, true},
		{"a name", told, []intent.Intent{&intent.SetName{Key: by.key, Name: "Ann", At: r.now}}, true, false},
		{"an erased player", told, []intent.Intent{&intent.ErasePlayer{Key: by.key, At: r.now}}, true, false},
		{"merged players", told, []intent.Intent{&intent.MergePlayers{From: wamble.PublicKey{7}, Into: by.key, At: r.now}}, true, false},
		{"a revoked token", told, []intent.Intent{&intent.RevokeSessions{Session: ids[guest], At: r.now}}, false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			next := resumeTo(t, r, state, resumeConf, tc.end, tc.in...)
			for who, want := range map[wamble.Token]bool{guest: tc.guestIn, known: tc.known} {
				if got := next.p.sessions.Find(who) != nil; got != want {
					t.Errorf("session %d: in memory %v, want %v", ids[who], got, want)
				}
				if behind := next.p.unstored.tokens[who.Hash()]; behind == want {
					t.Errorf("session %d: waits for the store %v, want %v", ids[who], behind, !want)
				}
			}
			if got := next.p.Pending(wamble.Token{9}, wamble.PublicKey{}); got != resumeIndex {
				t.Errorf("another profile may ask after index %d, want %d", got, resumeIndex)
			}
			next.settle()
			if adopted := handOver(t, next); !adopted.p.unstored.shared {
				t.Error("the next image would let other profiles ask")
			}
		})
	}
}
