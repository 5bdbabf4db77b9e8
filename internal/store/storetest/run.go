package storetest

import (
	"testing"

	"wamble/internal/intent"
	"wamble/internal/store"
)

// Open returns an empty store with the newest schema, which ends with the test.
type Open func(t *testing.T) store.Store

// Run runs the whole suite, each case on a store of its own, in parallel.
func Run(t *testing.T, open Open) {
	for _, kind := range intent.Kinds() {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			c, ok := intentCases[kind]
			if !ok {
				t.Fatalf("%v has no case in intentCases", kind)
			}
			playIntent(t, open, c)
		})
	}
	for _, g := range []struct {
		name  string
		cases []testCase
	}{
		{"rule", intentRules},
		{"read", readCases},
		{"batch", batchCases},
		{"limits", limitCases},
	} {
		for _, c := range g.cases {
			t.Run(g.name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				c.play(newWorld(t, open(t)))
			})
		}
	}
	t.Run("read/all", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open(t))
		Populate(t, w.Store)
		Reads(t, w.Store)
	})
}

// testCase is one named case.
type testCase struct {
	name string
	play func(*world)
}

// intentCase is the case of one kind of intent.
type intentCase struct {
	before []intent.Intent // intents that it depends on
	intent intent.Intent
	check  func(*world) // checks what must be stored afterwards
}

func playIntent(t *testing.T, open Open, c intentCase) {
	w := newWorld(t, open(t))
	w.apply(c.before...)
	w.apply(c.intent)
	c.check(w)
	w.apply(c.intent)
	c.check(w)
	w.apply(c.intent, c.intent)
	c.check(w)

	together := newWorld(t, open(t))
	together.together = true
	together.apply(append(append([]intent.Intent{}, c.before...), c.intent)...)
	c.check(together)
}
