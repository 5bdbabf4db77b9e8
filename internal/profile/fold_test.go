package profile

import (
	"reflect"
	"testing"
	"time"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/journal"
)

// TestApplyIncluded: a message that the slices include changes nothing in them, whatever its
// kind, and one about boards and players that are unknown does no harm.
func TestApplyIncluded(t *testing.T) {
	r := newRig(t, resumeConf)
	token, board := r.join(1)
	session := r.p.sessions.Find(token).ID()
	for _, k := range intent.Kinds() {
		next := *r
		next.p = New(r.options)
		for _, s := range walked(r) {
			next.step(&ResumeSlice{Mark: s.mark, Data: s.data})
		}
		memory := func() (wamble.Session, string) {
			s := next.p.resuming.sessions[session].Session
			s.LastSeen = time.Time{} // the later one counts, whatever includes it
			return s, boardText(next.p.boards.Board(board))
		}
		player, text := memory()
		known, unknown := about(t, k, board, session), about(t, k, board+1000, session+1000)
		next.step(&ResumeTail{Messages: []TailMessage{
			{r.seq, journal.Append(journal.Begin(nil), known)}, {r.seq + 1, journal.Append(journal.Begin(nil), unknown)},
		}})
		if now, is := memory(); now != player || is != text {
			t.Errorf("%v: %s and %+v became %s and %+v", k, text, player, is, now)
		}
		next.step(&ResumeEnd{Last: r.seq + 1, Alone: true}, &Ready{})
		if len(next.out.Troubles) > 0 {
			t.Errorf("%v: %v", k, next.out.Troubles)
		}
	}
}

// about returns an intent of a kind with every field set.
func about(t *testing.T, k intent.Kind, board wamble.BoardID, session wamble.SessionID) intent.Intent {
	in := k.New()
	v := reflect.ValueOf(in).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		switch value := f.Addr().Interface().(type) {
		case *wamble.BoardID:
			*value = board
		case *wamble.SessionID:
			*value = session
		case *time.Time:
			*value = epoch.Add(time.Hour)
		case *string:
			*value = "e2e4"
		case *bool:
			*value = true
		case *uint64:
			*value = 1 << 40
		case *float64:
			*value = 7
		default:
			switch f.Kind() {
			case reflect.Int, reflect.Int16, reflect.Int64:
				f.SetInt(1)
			case reflect.Uint8, reflect.Uint64:
				f.SetUint(2)
			case reflect.Array:
				f.Index(0).SetUint(9)
			default:
				t.Fatalf("%v: a field of kind %v", k, f.Kind())
			}
		}
	}
	return in
}
