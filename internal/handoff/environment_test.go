package handoff

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func sample() *Inheritance {
	return &Inheritance{
		Sockets:   map[string]int{"default": 7, "club": 8},
		Listeners: map[string]int{HTTP("default"): 9, Admin: 10, Control: 11},
		States:    map[string]string{"default": "/var/lib/a,b/100%.state", "club": "/x=y"},
		Note:      Note{Began: 5, Frozen: 6, Old: 12, Report: 13, From: "v1", Phases: []Phase{{"check", 7}}},
	}
}

func TestEnviron(t *testing.T) {
	h := sample()
	env, err := h.Environ([]string{"PATH=/bin", "WAMBLE_STATE_FILES=old=/old", "WAMBLE_SEED=1"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"PATH=/bin", "WAMBLE_SEED=1", "WAMBLE_HOT_RELOAD=1", "WAMBLE_PROFILES_INHERITED=club=8,default=7",
		"WAMBLE_LISTENERS_INHERITED=/admin=10,/control=11,http/default=9",
		"WAMBLE_STATE_FILES=club=/x=y,default=/var/lib/a%2Cb/100%25.state",
		`WAMBLE_HANDOFF={"began":5,"frozen":6,"old":12,"report":13,"from":"v1","phases":[{"name":"check","took":7}]}`,
	}
	if !reflect.DeepEqual(env, want) {
		t.Errorf("got %q, want %q", env, want)
	}
	got, err := Decode(lookUp(env))
	if err != nil || !reflect.DeepEqual(got, h) {
		t.Errorf("got %+v %v, want %+v", got, err, h)
	}
}

// TestEnvironTooSmall: the buffer of the original is the environment here.
func TestEnvironTooSmall(t *testing.T) {
	status := func(h *Inheritance, base []string) ExportStatus {
		_, err := h.Environ(base)
		var e *ExportError
		if !errors.As(err, &e) {
			return ExportOK
		}
		return e.Status
	}
	if got := status(&Inheritance{}, nil); got != ExportEmpty {
		t.Errorf("nothing: got %v, want %v", got, ExportEmpty)
	}
	h := sample()
	if got := status(h, nil); got != ExportOK {
		t.Errorf("got %v, want %v", got, ExportOK)
	}
	h.States["default"] = "relative"
	if got := status(h, nil); got != ExportNotReady {
		t.Errorf("a path that the next image refuses: got %v, want %v", got, ExportNotReady)
	}
	h = sample()
	long := strings.Repeat("x", maxEnvironment)
	if got := status(h, []string{"LONG=" + long}); got != ExportBufferTooSmall {
		t.Errorf("a long environment: got %v, want %v", got, ExportBufferTooSmall)
	}
	for i := range 1000 {
		h.States[fmt.Sprint("p", i)] = "/" + long[:200]
	}
	if got := status(h, nil); got != ExportBufferTooSmall {
		t.Errorf("a long list: got %v, want %v", got, ExportBufferTooSmall)
	}
}

func TestDecodeRefuses(t *testing.T) {
	if h, err := Decode(lookUp([]string{"WAMBLE_HOT_RELOAD=0", "WAMBLE_PROFILES_INHERITED=x"})); h != nil ||
		err != nil {
		t.Errorf("without a handoff: got %v %v", h, err)
	}
	good, err := sample().Environ(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []string{
		"WAMBLE_PROFILES_INHERITED=a", "WAMBLE_PROFILES_INHERITED=a=", "WAMBLE_PROFILES_INHERITED==5",
		"WAMBLE_PROFILES_INHERITED=a=x",
		"WAMBLE_PROFILES_INHERITED=a=2", "WAMBLE_PROFILES_INHERITED=a=-5", "WAMBLE_PROFILES_INHERITED=a=05",
		"WAMBLE_PROFILES_INHERITED=a=5,",
		"WAMBLE_PROFILES_INHERITED=a=5,a=6", "WAMBLE_PROFILES_INHERITED=a=5,b=5",
		"WAMBLE_PROFILES_INHERITED=a=99999999999999999999",
		"WAMBLE_LISTENERS_INHERITED=http/a=7", "WAMBLE_LISTENERS_INHERITED=" + strings.Repeat("a", 300) + "=20",
		"WAMBLE_STATE_FILES=a=relative", "WAMBLE_STATE_FILES=a=/x,a=/y",
		"WAMBLE_STATE_FILES=a=/" + strings.Repeat("x", 5000),
		"WAMBLE_HANDOFF=", "WAMBLE_HANDOFF=null x", `WAMBLE_HANDOFF={"old":1}`, `WAMBLE_HANDOFF={"report":-1}`,
		`WAMBLE_HANDOFF={"old":7}`,
		"WAMBLE_HANDOFF=" + strings.Repeat(" ", maxNote) + "{}",
	} {
		env := append([]string{v}, good...)
		if h, err := Decode(lookUp(env)); !errors.Is(err, ErrVariables) {
			t.Errorf("%.60s: got %+v %v", v, h, err)
		}
	}
}

// FuzzDecode: an accepted environment is written again, and read the same.
func FuzzDecode(f *testing.F) {
	f.Add("a=5,b=6", "http/a=7,/admin=8", "a=/x%2Cy", `{"began":1,"old":9}`)
	f.Add("", "", "", "")
	f.Fuzz(func(t *testing.T, sockets, listeners, states, note string) {
		h, err := Decode(lookUp([]string{
			HotReload + "=1", profilesVar + "=" + sockets, listenersVar + "=" + listeners, stateFilesVar + "=" + states,
			noteVar + "=" + note,
		}))
		if err != nil || len(h.Sockets) == 0 {
			return
		}
		env, err := h.Environ(nil)
		if err != nil {
			return // too long when it is escaped
		}
		again, err := Decode(lookUp(env))
		if err != nil || !reflect.DeepEqual(again.Sockets, h.Sockets) || !reflect.DeepEqual(again.States, h.States) {
			t.Errorf("got %+v %v, want %+v", again, err, h)
		}
	})
}
