package predict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/internal/intent"
	"wamble/internal/pack"
)

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// usual are the defaults of the configuration, with predictions on.
var usual = Options{Mode: Streak, Base: 1, Multiplier: 2, Cap: 10, Percent: 10, Depth: 2, MaxPending: 64,
	MaxPerParent: 1, OnePerMove: true}

// kept records what a table wants to be stored, as text.
type kept struct{ lines []string }

func (k *kept) Add(in intent.Intent) {
	switch in := in.(type) {
	case *intent.RecordPrediction:
		k.lines = append(k.lines, fmt.Sprintf("+%d by %d on %d under %d: %s at %d after %d", in.ID, in.Session,
			in.Board, in.Parent, in.UCI, in.Ply, in.Streak))
	case *intent.ResolvePrediction:
		k.lines = append(k.lines, fmt.Sprintf("%d of %d is %v: %g", in.ID, in.Session, in.Status, in.Points))
	}
}

func (k *kept) took() string {
	text := strings.Join(k.lines, "; ")
	k.lines = nil
	return text
}

// rig is a table beside one board.
type rig struct {
	t     *testing.T
	table *Table
	on    chess.Position
	kept  kept
}

func newRig(t *testing.T, opts Options) *rig {
	next := wamble.PredictionID(0)
	r := &rig{t: t, on: chess.Start()}
	r.table = New(opts, func() (wamble.PredictionID, bool) { next++; return next, true }, [32]byte{7})
	return r
}

const board = 5

func (r *rig) submission(by wamble.SessionID, uci string, parent wamble.PredictionID) Submission {
	return Submission{Session: by, Token: wamble.Token{byte(by)}, Board: board, On: r.on, UCI: uci, Parent: parent,
		Level: 2, Reads: true}
}

func (r *rig) submit(by wamble.SessionID, uci string, parent wamble.PredictionID) (Row, SubmitStatus) {
	return r.table.Submit(epoch, r.submission(by, uci, parent), &r.kept)
}

// must submits a prediction that has to be created, and returns its number.
func (r *rig) must(by wamble.SessionID, uci string, parent wamble.PredictionID) wamble.PredictionID {
	r.t.Helper()
	row, v := r.submit(by, uci, parent)
	if v != Created {
		r.t.Fatalf("%s by %d under %d: got status %d, want created", uci, by, parent, v)
	}
	return row.ID
}

// play makes a move on the board, and resolves.
func (r *rig) play(uci string) string {
	r.t.Helper()
	m, err := r.on.ParseUCI(uci)
	if err != nil {
		r.t.Fatal(err)
	}
	r.on = r.on.Play(m)
	r.kept.took()
	r.table.Resolve(epoch, board, r.on.Ply(), m, &r.kept)
	return r.kept.took()
}

func expect(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func with(change func(*Options)) Options {
	o := usual
	change(&o)
	return o
}

// TestSubmitStatus: each status, and which comes first.
func TestSubmitStatus(t *testing.T) {
	full := func(r *rig) { r.must(1, "e2e4", 0); r.must(2, "d2d4", 0) }
	for _, tc := range []struct {
		name    string
		opts    Options
		prepare func(r *rig)
		change  func(w *Submission)
		want    SubmitStatus
		row     wamble.PredictionID
	}{
		{"created", usual, nil, nil, Created, 1},
		{"off", with(func(o *Options) { o.Mode = Off }), nil, nil, Disabled, 0},
		{"off, before anything else", with(func(o *Options) { o.Mode = Off }), nil, func(w *Submission) { w.Level, w.UCI = -1, "" }, Disabled, 0},
		{"not the holder", with(func(o *Options) { o.Mode = Holder }), nil, nil, NotAllowed, 0},
		{"the holder", with(func(o *Options) { o.Mode = Holder }), nil, func(w *Submission) { w.Holds = true }, Created, 1},
		{"gated, nobody", with(func(o *Options) { o.Mode, o.Percent = Gated, 0 }), nil, nil, NotAllowed, 0},
		{"gated, everybody", with(func(o *Options) { o.Mode, o.Percent = Gated, 100 }), nil, nil, Created, 1},
		{"denied by the policy", usual, nil, func(w *Submission) { w.Level = -1 }, NotAllowed, 0},
		{"denied before the move is read", usual, nil, func(w *Submission) { w.Level, w.UCI = -1, "!" }, NotAllowed, 0},
		{"no move", usual, nil, func(w *Submission) { w.UCI = "" }, Invalid, 0},
		{"too long", usual, nil, func(w *Submission) { w.UCI = "e2e4qq" }, Invalid, 0},
		{"odd letters", usual, nil, func(w *Submission) { w.UCI = "e2-4" }, Invalid, 0},
		{"illegal", usual, nil, func(w *Submission) { w.UCI = "e2e5" }, Invalid, 0},
		{"a promotion of a piece", usual, nil, func(w *Submission) { w.UCI = "e2e4q" }, Invalid, 0},
		{"of the other side", usual, nil, func(w *Submission) { w.UCI = "e7e5" }, Invalid, 0},
		{"unknown parent", usual, nil, func(w *Submission) { w.Parent = 77 }, NotFound, 0},
		{"unknown parent beside others", usual, full, func(w *Submission) { w.Parent = 77 }, NotFound, 0},
		{"parent of another board", usual, full, func(w *Submission) { w.Board, w.Parent = 6, 1 }, NotFound, 0},
		{"a child", usual, full, func(w *Submission) { w.Parent, w.UCI = 1, "e7e5" }, Created, 3},
		{"a child that does not fit its parent", usual, full, func(w *Submission) { w.Parent, w.UCI = 1, "e2e4" }, Invalid, 0},
		{"too deep", usual, full, func(w *Submission) { w.Parent, w.Level = 1, 0 }, NotAllowed, 0},
		{"limit", with(func(o *Options) { o.MaxPending = 2 }), full, nil, Limit, 0},
		{"limit, though it is a duplicate", with(func(o *Options) { o.MaxPending = 2 }), full, func(w *Submission) { w.Session = 1 }, Limit, 0},
		{"the limit counts one parent", with(func(o *Options) { o.MaxPending = 2 }), full, func(w *Submission) { w.Parent, w.UCI = 1, "e7e5" }, Created, 3},
		{"duplicate", usual, full, func(w *Submission) { w.Session, w.UCI = 2, "a2a3" }, Duplicate, 2},
		{"duplicate, though it is illegal", usual, full, func(w *Submission) { w.Session, w.UCI = 2, "a2a6" }, Duplicate, 2},
		{"two for each", with(func(o *Options) { o.MaxPerParent = 2 }), full, func(w *Submission) { w.Session, w.UCI = 2, "a2a3" }, Created, 3},
		{"any number for each", with(func(o *Options) { o.MaxPerParent = 0 }), full, func(w *Submission) { w.Session, w.UCI = 2, "a2a3" }, Created, 3},
		{"same move", usual, full, func(w *Submission) { w.UCI = "d2d4" }, DuplicateMove, 2},
		{"same move, which the author cannot know", usual, full, func(w *Submission) { w.UCI, w.Reads = "d2d4", false }, Created, 3},
		{"same move, and who cares", with(func(o *Options) { o.OnePerMove = false }), full, func(w *Submission) { w.UCI = "d2d4" }, Created, 3},
		{"under a wrong one", usual, func(r *rig) { full(r); r.play("d2d4") }, func(w *Submission) { w.Parent, w.UCI = 1, "e7e5" }, Invalid, 0},
		{"under a right one", usual, func(r *rig) { full(r); r.play("d2d4") }, func(w *Submission) { w.Parent, w.UCI = 2, "e7e5" }, Created, 3},
		{"under a right one, too late", usual, func(r *rig) {
			full(r)
			r.play("d2d4")
			r.must(8, "e7e5", 2) // it keeps its parent
			r.play("e7e5")
		}, func(w *Submission) { w.Parent, w.UCI = 2, "d7d5" }, Invalid, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, tc.opts)
			if tc.prepare != nil {
				tc.prepare(r)
			}
			w := r.submission(9, "g1f3", 0)
			if tc.change != nil {
				tc.change(&w)
			}
			r.kept.took()
			before := r.table.Len()
			row, v := r.table.Submit(epoch, w, &r.kept)
			if v != tc.want || row.ID != tc.row {
				t.Errorf("got status %d with row %d, want %d with %d", v, row.ID, tc.want, tc.row)
			}
			created := len(r.kept.lines) == 1 && r.table.Len() == before+1
			refused := len(r.kept.lines) == 0 && r.table.Len() == before
			if v == Created && !created || v != Created && !refused {
				t.Errorf("status %d: kept %q, the table has %d after %d", v, r.kept.took(), r.table.Len(), before)
			}
		})
	}
}

func TestNoNumberIsLimit(t *testing.T) {
	b := New(usual, func() (wamble.PredictionID, bool) { return 0, false }, [32]byte{})
	_, v := b.Submit(epoch, Submission{Session: 1, Board: 1, On: chess.Start(), UCI: "e2e4"}, &kept{})
	expect(t, "status", v, Limit)
	expect(t, "predictions", b.Len(), 0)
}

// TestStreak is the example of the spec: base 1, multiplier 2, cap 10.
func TestStreak(t *testing.T) {
	r := newRig(t, with(func(o *Options) { o.Penalty = -0.5 }))
	line := strings.Fields("g1f3 g8f6 f3g1 f6g8")
	for i := range 13 {
		uci := line[i%4]
		id := r.must(1, uci, 0)
		want := fmt.Sprintf("%d of 1 is CORRECT: %d", id, 1<<min(i, 9))
		if got := r.play(uci); got != want {
			t.Fatalf("move %d: got %q, want %q", i+1, got, want)
		}
	}
	id := r.must(1, "g8h6", 0)
	expect(t, "a wrong one", r.play("g8f6"), fmt.Sprintf("%d of 1 is INCORRECT: -0.5", id))
	id = r.must(1, "f3g1", 0)
	expect(t, "after it", r.play("f3g1"), fmt.Sprintf("%d of 1 is CORRECT: 1", id))
	// A predictor who lets a move pass begins a new streak.
	r.play("f6g8")
	id = r.must(1, "g1f3", 0)
	expect(t, "after a pause", r.play("g1f3"), fmt.Sprintf("%d of 1 is CORRECT: 1", id))
}

// TestPoints: the effect of each option of the points.
func TestPoints(t *testing.T) {
	for _, tc := range []struct {
		name   string
		opts   Options
		streak int
		want   float64
	}{
		{"base", with(func(o *Options) { o.Base = 2.5 }), 0, 2.5},
		{"multiplier", with(func(o *Options) { o.Multiplier = 3 }), 2, 9},
		{"cap", with(func(o *Options) { o.Cap = 2 }), 5, 2},
		{"a cap of 1", with(func(o *Options) { o.Cap = 1 }), 5, 1},
		{"the holder has no streak", with(func(o *Options) { o.Mode = Holder }), 5, 1},
		{"four decimals", with(func(o *Options) { o.Base = 1.0 / 3 }), 0, 0.3333},
		{"no more than the store takes", with(func(o *Options) { o.Multiplier, o.Cap = 1000, 64 }), 63, mostPoints},
	} {
		b := New(tc.opts, nil, [32]byte{})
		if got := b.reward(tc.streak); got != tc.want {
			t.Errorf("%s: got %g, want %g", tc.name, got, tc.want)
		}
	}
}

func TestMatch(t *testing.T) {
	for _, tc := range []struct {
		any  bool
		uci  string
		want string
	}{{false, "a7a8q", "CORRECT"}, {false, "a7a8n", "INCORRECT"}, {true, "a7a8n", "CORRECT"},
		{true, "a7b8q", "INCORRECT"}} {
		r := newRig(t, with(func(o *Options) { o.AnyPromotion = tc.any }))
		r.on, _ = chess.ParseFEN("1r6/P7/8/8/8/8/k7/7K w - - 0 1")
		r.must(1, tc.uci, 0)
		if got := r.play("a7a8q"); !strings.Contains(got, "is "+tc.want) {
			t.Errorf("%s, any promotion %v: got %q, want %s", tc.uci, tc.any, got, tc.want)
		}
	}
}

// TestTree: a wrong parent takes all that follow from it along.
func TestTree(t *testing.T) {
	r := newRig(t, with(func(o *Options) { o.MaxPerParent = 0 }))
	e4 := r.must(1, "e2e4", 0)
	d4 := r.must(2, "d2d4", 0)
	e5 := r.must(1, "e7e5", e4)
	d5 := r.must(2, "d7d5", d4)
	nf3 := r.must(1, "g1f3", e5)
	r.must(1, "c2c4", d5)
	if row, v := r.submit(1, "b8c6", nf3); v != NotAllowed {
		t.Errorf("depth 3: got %d %+v, want not allowed", v, row)
	}
	read := func(depth, limit int) string {
		var text []string
		for _, row := range r.table.Read(nil, board, depth, limit) {
			text = append(text, fmt.Sprintf("%d<%d %s@%d/%d %v", row.ID, row.Parent, row.UCI, row.Ply, row.Depth,
				row.Status))
		}
		return strings.Join(text, ", ")
	}
	expect(t, "roots", read(0, 16), "1<0 e2e4@1/0 PENDING, 2<0 d2d4@1/0 PENDING")
	expect(t, "limited", read(2, 3), "1<0 e2e4@1/0 PENDING, 2<0 d2d4@1/0 PENDING, 3<1 e7e5@2/1 PENDING")
	expect(t, "resolved", r.play("e2e4"),
		"1 of 1 is CORRECT: 1; 2 of 2 is INCORRECT: 0; 4 of 2 is EXPIRED: 0; 6 of 1 is EXPIRED: 0")
	expect(t, "tree", read(2, 16),
		"1<0 e2e4@1/0 CORRECT, 2<0 d2d4@1/0 INCORRECT, 3<1 e7e5@2/1 PENDING, 4<2 d7d5@2/1 EXPIRED, 5<3 g1f3@3/2 PENDING, 6<4 c2c4@3/2 EXPIRED")
	expect(t, "resolved", r.play("e7e5"), "3 of 1 is CORRECT: 1")
	expect(t, "what is over is gone", read(2, 16), "1<0 e2e4@1/0 CORRECT, 3<1 e7e5@2/1 CORRECT, 5<3 g1f3@3/2 PENDING")
	r.kept.took()
	r.table.Expire(epoch, board, &r.kept)
	expect(t, "expired", r.kept.took(), "5 of 1 is EXPIRED: 0")
	expect(t, "left", fmt.Sprint(r.table.Len(), len(r.table.trees)), "0 0")
}

// TestWrongEndsStreak: of several predictions of one player a single wrong one ends their
// streak, so that predicting everything does not pay.
func TestWrongEndsStreak(t *testing.T) {
	r := newRig(t, with(func(o *Options) { o.MaxPerParent = 0 }))
	r.must(1, "e2e4", 0)
	r.play("e2e4")
	for _, uci := range []string{"e7e5", "d7d5", "c7c5"} {
		r.must(1, uci, 0)
	}
	expect(t, "three", r.play("d7d5"), "2 of 1 is INCORRECT: 0; 3 of 1 is CORRECT: 2; 4 of 1 is INCORRECT: 0")
	r.must(1, "e4d5", 0)
	expect(t, "next", r.play("e4d5"), "5 of 1 is CORRECT: 1")
}

func TestGate(t *testing.T) {
	b := New(with(func(o *Options) { o.Mode, o.Percent = Gated, 30 }), nil, [32]byte{})
	rng, in := rand.New(rand.NewPCG(1, 2)), 0
	for range 10000 {
		var token wamble.Token
		for i := range token {
			token[i] = byte(rng.Uint32())
		}
		if b.MayPredict(token, false) {
			in++
		}
	}
	if in < 2800 || in > 3200 {
		t.Errorf("%d of 10000 players are let in, want 30 %%", in)
	}
	// FNV-1a of 16 zero bytes, by an independent implementation.
	expect(t, "hash", hash(wamble.Token{}), uint64(0x88201fb960ff6465))
}

func TestPseudonyms(t *testing.T) {
	a, b := New(usual, nil, [32]byte{1}), New(usual, nil, [32]byte{2})
	name := a.Pseudonym(1, 2)
	for what, other := range map[string][16]byte{
		"another reader": a.Pseudonym(3, 2), "another author": a.Pseudonym(1, 3), "another server": b.Pseudonym(1, 2),
		"the other way round": a.Pseudonym(2, 1),
	} {
		if other == name {
			t.Errorf("%s has the same pseudonym", what)
		}
	}
	if a.Pseudonym(1, 2) != name {
		t.Error("a pseudonym has changed")
	}
}

func TestRestore(t *testing.T) {
	r := newRig(t, usual)
	stored := []wamble.Prediction{
		{ID: 1, Board: board, Session: 1, UCI: "e2e4", Ply: 1, Streak: 3, Status: wamble.Correct, Points: 8},
		{ID: 2, Board: board, Session: 1, Parent: 1, UCI: "e7e5", Ply: 2, Depth: 1, Streak: 3},
		{ID: 3, Board: board, Session: 2, UCI: "d7d5", Ply: 2, Streak: 5},
		{ID: 4, Board: board, Session: 3, UCI: "d2d4", Ply: 1},             // its move was played
		{ID: 5, Board: board, Session: 3, Parent: 99, UCI: "g1f3", Ply: 3}, // its parent is not there
		{ID: 3, Board: board, Session: 3, UCI: "a7a6", Ply: 2},             // its number is taken
	}
	r.on = r.on.Play(must(r.on.ParseUCI("e2e4")))
	for i := range stored {
		r.table.Restore(epoch, &stored[i], 1, &r.kept)
	}
	expect(t, "ended", r.kept.took(), "4 of 3 is EXPIRED: 0; 5 of 3 is EXPIRED: 0; 3 of 3 is EXPIRED: 0")
	expect(t, "predictions", r.table.Len(), 3)
	expect(t, "resolved", r.play("e7e5"), "2 of 1 is CORRECT: 8; 3 of 2 is INCORRECT: 0")
}

// TestRestoreStreaks: a wrong prediction of the last move ends a streak beside a correct one, in any order.
func TestRestoreStreaks(t *testing.T) {
	right := wamble.Prediction{ID: 1, Board: board, Session: 1, UCI: "e2e4", Ply: 1, Streak: 3}
	right.Status = wamble.Correct
	wrong := right
	wrong.ID, wrong.UCI, wrong.Status = 2, "d2d4", wamble.Incorrect
	for _, tc := range []struct {
		name   string
		stored []wamble.Prediction
		plies  int
		want   int32
	}{
		{"a correct one", []wamble.Prediction{right}, 1, 4},
		{"a wrong one", []wamble.Prediction{wrong}, 1, 0},
		{"the wrong one last", []wamble.Prediction{right, wrong}, 1, 0},
		{"the wrong one first", []wamble.Prediction{wrong, right}, 1, 0},
		{"of an earlier move", []wamble.Prediction{right, wrong}, 2, 0},
	} {
		r := newRig(t, usual)
		for i := range tc.stored {
			r.table.Restore(epoch, &tc.stored[i], tc.plies, &r.kept)
		}
		expect(t, tc.name, r.table.trees[board].streak(1), tc.want)
	}
}

func must(m chess.Move, err error) chess.Move {
	if err != nil {
		panic(err)
	}
	return m
}

// crowd is a table after some play on many boards.
func crowd(t testing.TB, seed uint64, steps int) (*Table, *kept) {
	next, rng, k := wamble.PredictionID(0), rand.New(rand.NewPCG(seed, 3)), &kept{}
	b := New(with(func(o *Options) { o.MaxPerParent, o.Penalty = 2, 1 }),
		func() (wamble.PredictionID, bool) { next++; return next, true }, [32]byte{5})
	var on [8]chess.Position
	for i := range on {
		on[i] = chess.Start()
	}
	for range steps {
		i := rng.IntN(len(on))
		id := wamble.BoardID(i + 1)
		legal := on[i].LegalMoves(nil)
		if len(legal) == 0 || on[i].Ply() > 60 {
			b.Expire(epoch, id, k)
			on[i] = chess.Start()
			continue
		}
		m := legal[rng.IntN(min(len(legal), 3))]
		if rng.IntN(4) == 0 {
			on[i] = on[i].Play(m)
			b.Resolve(epoch, id, on[i].Ply(), m, k)
			continue
		}
		w := Submission{Session: wamble.SessionID(1 + rng.IntN(6)), Board: id, On: on[i], UCI: m.String(), Level: 4,
			Reads: true}
		if rows := b.Read(nil, id, 9, 100); len(rows) > 0 && rng.IntN(2) == 0 {
			w.Parent = rows[rng.IntN(len(rows))].ID
			w.UCI = string([]byte{'a' + byte(rng.IntN(8)), '5' + byte(rng.IntN(4)), 'a' + byte(rng.IntN(8)),
				'4' + byte(rng.IntN(4))})
		}
		b.Submit(epoch, w, k)
	}
	return b, k
}

// TestOnce: over much play every prediction is resolved at most once, and the
// table holds exactly those that are not, with their ancestors.
func TestOnce(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	b, k := crowd(t, seed, 20000)
	open := map[string]bool{}
	for _, line := range k.lines {
		id, _, _ := strings.Cut(strings.TrimPrefix(line, "+"), " ")
		if strings.HasPrefix(line, "+") {
			open[id] = true
			continue
		}
		if !open[id] {
			t.Fatalf("prediction %s is resolved twice, or was never made: %s", id, line)
		}
		delete(open, id)
	}
	pending, size := 0, 0
	for _, tree := range b.trees {
		size += len(tree.nodes)
		for i := range tree.nodes {
			n := &tree.nodes[i]
			if n.up >= int32(i) {
				t.Fatalf("a parent stands behind its child")
			}
			if n.status == wamble.Pending {
				pending++
				if !open[fmt.Sprint(n.id)] {
					t.Errorf("prediction %d is pending, but was resolved", n.id)
				}
			}
		}
	}
	if pending != len(open) || size != b.Len() {
		t.Errorf("%d pending in memory, %d by the intents; size %d, counted %d", pending, len(open), b.Len(), size)
	}
}

// TestErase: a session's predictions are deleted; those of others under a pending one of them
// expire, and under one that came true they go on.
func TestErase(t *testing.T) {
	r := newRig(t, with(func(o *Options) { o.OnePerMove, o.MaxPerParent = false, 0 }))
	one := r.must(1, "e2e4", 0)
	two := r.must(2, "e2e4", 0)
	r.must(3, "e7e5", one)
	four := r.must(2, "e7e5", two)
	five := r.must(1, "g1f3", four)
	w := r.submission(3, "b8c6", five)
	w.Level = 3
	if _, v := r.table.Submit(epoch, w, &r.kept); v != Created {
		t.Fatalf("got status %d", v)
	}
	r.play("e2e4")
	r.must(1, "d7d5", 0)
	r.kept.took()
	r.table.Erase(epoch, map[wamble.SessionID]bool{1: true, 9: true}, &r.kept)
	expect(t, "ended", r.kept.took(), "6 of 3 is EXPIRED: 0")
	left := ""
	for _, row := range r.table.Read(nil, board, 9, 99) {
		left += fmt.Sprintf("%d<%d by %d %v; ", row.ID, row.Parent, row.Session, row.Status)
	}
	expect(t, "left", left, "2<0 by 2 CORRECT; 3<0 by 3 PENDING; 4<2 by 2 PENDING; ")
	expect(t, "size", r.table.Len(), 3)
	again := again(r.table, func(wamble.BoardID) int { return r.on.Ply() })
	expect(t, "left after a restart", again.Len(), 3)
	expect(t, "resolved", r.play("e7e5"), "3 of 3 is CORRECT: 1; 4 of 2 is CORRECT: 1")
	r.table.Erase(epoch, map[wamble.SessionID]bool{2: true, 3: true}, &r.kept)
	expect(t, "nothing is left", fmt.Sprint(r.table.Len(), len(r.table.trees)), "0 0")
}

// again returns a table with the trees of another one.
func again(b *Table, plies func(wamble.BoardID) int) *Table {
	n := New(b.opts, b.newID, b.Key())
	for t := range b.Walk() {
		from := pack.NewReader(t.AppendState(nil))
		_, rows := ReadTree(&from)
		for i := range rows {
			n.Restore(epoch, &rows[i], plies(rows[i].Board), &kept{})
		}
	}
	return n
}

// TestWalk: a table with the trees of another one resolves the predictions like it.
func TestWalk(t *testing.T) {
	b, _ := crowd(t, 1, 3000)
	plies := func(id wamble.BoardID) int { // the next ply that is predicted on the board
		next := math.MaxInt
		for i := range b.trees[id].nodes {
			if n := &b.trees[id].nodes[i]; n.status == wamble.Pending {
				next = min(next, int(n.ply)-1)
			}
		}
		return next
	}
	loaded := again(b, plies)
	expect(t, "pseudonyms", loaded.Key(), b.Key())
	for id := wamble.BoardID(1); id <= 8; id++ {
		if !b.Has(id) {
			continue
		}
		one, two := &kept{}, &kept{}
		m, ply := must(chess.Start().ParseUCI("a2a3")), plies(id)+1
		b.Resolve(epoch, id, ply, m, one)
		loaded.Resolve(epoch, id, ply, m, two)
		expect(t, "resolved", two.took(), one.took())
	}
}

// The hot path of a move: without predictions, and with some.
func BenchmarkResolve(b *testing.B) {
	for _, n := range []int{0, 1, 16} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			next := wamble.PredictionID(0)
			table := New(with(func(o *Options) { o.OnePerMove = false }),
				func() (wamble.PredictionID, bool) { next++; return next, true }, [32]byte{})
			m := must(chess.Start().ParseUCI("e2e4"))
			var sink nothing
			b.ReportAllocs()
			for b.Loop() {
				for i := range n {
					table.Submit(epoch, Submission{Session: wamble.SessionID(i + 1), Board: 1, On: chess.Start(),
						UCI: "e2e4"}, sink)
				}
				table.Resolve(epoch, 1, 1, m, sink)
			}
		})
	}
}

type nothing struct{}

func (nothing) Add(intent.Intent) {}
