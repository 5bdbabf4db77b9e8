package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/journal"
	"wamble/runner"
	"wamble/runner/pebblestore"
)

// TestJournalScripts is TestScripts for commands that need the journal of a server:
// "make-journal DIR" makes one with a refused move in the dead letters and a waiting request.
func TestJournalScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script/journal",
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"make-journal": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(makeJournal(t, ts.MkAbs(args[0])))
			},
		},
	})
}

func makeJournal(t *testing.T, dir string) error {
	r, err := runner.Open(pebblestore.At(dir, pebblestore.Options{Durability: pebblestore.Write}), runner.Options{
		Create: true, Schema: journal.Schema,
		Now: func() time.Time { return madeAt },
	})
	if err != nil {
		return err
	}
	ctx := t.Context()
	worker, err := journal.WorkerOf(ctx, r, "club")
	if err != nil {
		return err
	}
	move := &intent.RecordMove{Board: 300, Session: 7, UCI: "e2e4", Ply: 1, First: true, At: madeAt}
	if _, err := journal.Post(ctx, r, worker, move); err != nil {
		return err
	}
	w, err := r.NewWorker(uint64(worker),
		runner.WorkerOptions{Handler: func(context.Context, *runner.Tx, *runner.Delivery) error {
			return runner.Discard(errors.New("RECORD_MOVE: there is no board 300"))
		}})
	if err != nil {
		return err
	}
	if _, err := w.Tick(ctx); err != nil {
		return err
	}
	if err := w.Remove(); err != nil {
		return err
	}
	if _, err := journal.Post(ctx, r, worker,
		&intent.CreateSession{Session: 8, Token: wamble.Token{1, 2, 3}.Hash(), At: madeAt},
		&intent.UpdateBoard{Board: 301, FEN: "start", Status: wamble.Dormant, Version: 2, At: madeAt}); err != nil {
		return err
	}
	return r.Close()
}

// TestDecodeIntents decodes every kind of intent: none may be unreadable, and no token may
// appear.
func TestDecodeIntents(t *testing.T) {
	token := wamble.Token{0xde, 0xad, 0xbe, 0xef}
	for _, kind := range intent.Kinds() {
		in := kind.New()
		if s, ok := in.(*intent.CreateSession); ok {
			s.Token = token.Hash()
		}
		m := runner.Message{ID: []byte("i"), Payload: journal.Append(journal.Begin(nil), in)}
		v, ok := decodeIntents(&m)
		if !ok {
			t.Errorf("%v is not recognised", kind)
			continue
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var back []map[string]any
		if err := json.Unmarshal(text, &back); err != nil || len(back) != 1 || back[0]["kind"] != kind.String() ||
			len(back[0]) < 2 {
			t.Errorf("%v: got %s, %v", kind, text, err)
		}
		line := v.(journal.Views).String()
		if !strings.HasPrefix(line, kind.String()+" ") {
			t.Errorf("%v: got %q", kind, line)
		}
		for _, form := range []string{"222 173 190", "deadbeef", token.String()} {
			if strings.Contains(line, form) || strings.Contains(string(text), form) {
				t.Errorf("%v shows a token: %s", kind, text)
			}
		}
	}
	for _, other := range []runner.Message{
		{ID: []byte("order"), Payload: journal.Begin(nil)},
		{ID: []byte("i"), Payload: []byte("junk")},
	} {
		if v, ok := decodeIntents(&other); ok {
			t.Errorf("%q: got %v, want it left alone", other.ID, v)
		}
	}
}
