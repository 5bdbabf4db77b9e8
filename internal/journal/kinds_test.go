package journal

import (
	"cmp"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"wamble/internal/intent"
)

// randomIntent returns an intent of any kind about one of a few boards, sessions
// and players, so that many of them meet. Deletions are rare.
func randomIntent(t *testing.T, rng *rand.Rand) intent.Intent {
	kinds := intent.Kinds()
	k := kinds[rng.IntN(len(kinds))]
	if k.Row().Barrier == intent.Alone && rng.IntN(8) > 0 {
		k = intent.KindRecordMove
	}
	in := filled(t, k)
	v := reflect.ValueOf(in).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		switch f.Kind() {
		case reflect.Int, reflect.Int64, reflect.Int16:
			f.SetInt(rng.Int64N(8))
		case reflect.Uint64:
			f.SetUint(rng.Uint64N(8))
		case reflect.Array:
			f.Index(0).SetUint(rng.Uint64N(8))
		case reflect.Struct:
			f.Set(reflect.ValueOf(noon.Add(time.Duration(rng.IntN(100)) * time.Second)))
		}
	}
	return in
}

// firstField returns the number of the board or session that an intent begins
// with.
func firstField(in intent.Intent) any { return reflect.ValueOf(in).Elem().Field(0).Interface() }

// TestPlanOfEveryKind plans intents of all kinds from frames, and compares the plans with the
// table, applied the slow way.
func TestPlanOfEveryKind(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 7))
	planned, coalesced := map[intent.Kind]int{}, map[intent.Kind]int{}
	for round := range 150 {
		var queue []Message
		var sent [][]intent.Intent // by message
		for seq := range 40 {
			var intents []intent.Intent
			for range 1 + rng.IntN(6) {
				intents = append(intents, randomIntent(t, rng))
			}
			sent = append(sent, intents)
			queue = append(queue, message(t, seq+1, intents...))
		}
		var p Planner
		for len(queue) > 0 {
			from := queue[0].Seq
			plan, taken, err := p.Make(queue, Limits{20 + round, 1000 + 40*round})
			if err != nil {
				t.Fatal(err)
			}
			want := slowPlan(sent[from-1:from-1+uint64(taken)], from)
			if !reflect.DeepEqual(plan.Intents, want.Intents) || !slices.Equal(plan.Origins, want.Origins) {
				t.Fatalf("round %d, %d messages from %d:\ngot  %q %v\nwant %q %v", round, taken, from, names(plan),
					plan.Origins, names(want), want.Origins)
			}
			apart(t, sent[from-1:from-1+uint64(taken)])
			for _, in := range slices.Concat(sent[from-1 : from-1+uint64(taken)]...) {
				coalesced[in.Kind()]++
			}
			for _, in := range plan.Intents {
				planned[in.Kind()]++
				coalesced[in.Kind()]--
			}
			queue = queue[taken:]
		}
	}
	for _, k := range intent.Kinds() {
		if planned[k] == 0 || (coalesced[k] > 0) != (k.Row().Overwrites != intent.KeepsAll) {
			t.Errorf("%v: %d planned, %d coalesced", k, planned[k], coalesced[k])
		}
	}
}

// slowPlan is a plan of messages, from the fields of their intents.
func slowPlan(messages [][]intent.Intent, from uint64) Plan {
	type target struct {
		column intent.Column
		id     any
	}
	newest := map[target]Origin{}
	keep := false
	for i, intents := range messages {
		changed := map[any]bool{}
		for j, in := range intents {
			row := in.Kind().Row()
			newest[target{row.Overwrites, firstField(in)}] = Origin{from + uint64(i), j}
			keep = keep || row.Barrier == intent.Alone
			if row.Barrier == intent.ChangesIdentity {
				keep = keep || changed[firstField(in)]
				changed[firstField(in)] = true
			}
		}
	}
	var items []item
	for i, intents := range messages {
		for j, in := range intents {
			row, o := in.Kind().Row(), Origin{from + uint64(i), j}
			if row.Overwrites == intent.KeepsAll || newest[target{row.Overwrites, firstField(in)}] == o {
				major, minor := row.Locality(in)
				items = append(items, item{in, row.Kind.Place(), major, minor, o})
			}
		}
	}
	if !keep {
		slices.SortStableFunc(items, func(a, b item) int {
			return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.major, b.major), cmp.Compare(a.minor, b.minor))
		})
	}
	var plan Plan
	for _, it := range items {
		plan.Intents, plan.Origins = append(plan.Intents, it.in), append(plan.Origins, it.origin)
	}
	return plan
}

// apart fails if messages of one plan should have been in several.
func apart(t *testing.T, messages [][]intent.Intent) {
	t.Helper()
	if len(messages) == 1 {
		return
	}
	changed := map[any]bool{}
	for _, in := range slices.Concat(messages...) {
		switch in.Kind().Row().Barrier {
		case intent.Alone:
			t.Fatalf("%v shares a plan", in.Kind())
		case intent.ChangesIdentity:
			if changed[firstField(in)] {
				t.Fatalf("%v: a plan changes the identity of session %v twice", in.Kind(), firstField(in))
			}
			changed[firstField(in)] = true
		}
	}
}
