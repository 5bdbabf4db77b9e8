package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"wamble"
	"wamble/client"
	"wamble/client/clienttest"
	"wamble/wire"
)

func start(t *testing.T, script ...*clienttest.Step) (*clienttest.Server, *client.Client, context.Context) {
	t.Helper()
	s, err := clienttest.Start(script...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	ctx := testContext(t)
	return s, dial(t, ctx, quick(), s.UDP()), ctx
}

// A request that does not follow the script is reported by Close, and refused at once.
func TestScriptIsChecked(t *testing.T) {
	list := func() *clienttest.Step {
		return clienttest.Expect(wire.CtrlListProfiles).Answer(0, wire.ProfilesList{})
	}
	cases := []struct {
		name   string
		script []*clienttest.Step
		calls  int // of Profiles
		want   string
	}{
		{"as expected", []*clienttest.Step{list(), list()}, 2, ""},
		{"never came", []*clienttest.Step{list(), list()}, 1, "LIST_PROFILES never came"},
		{"at its end", []*clienttest.Step{list()}, 2, "the script is at its end"},
		{"another", []*clienttest.Step{clienttest.Expect(wire.CtrlLogout)}, 1, "LIST_PROFILES came, the script expects LOGOUT"},
		{"condition", []*clienttest.Step{list().Where(func(*wire.Packet) error { return errors.New("too early") })}, 1, "LIST_PROFILES: too early"},
		{"bad answer", []*clienttest.Step{clienttest.Expect(wire.CtrlListProfiles).
			Answer(0, wire.Error{Reason: wire.Text(strings.Repeat("x", 300))}).Answer(0, wire.ProfilesList{})}, 1,
			"answer LIST_PROFILES"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, cl, ctx := start(t, c.script...)
			for range c.calls {
				_, err := cl.Profiles(ctx)
				if denied := client.DeniedCode(err) == wamble.Internal; denied && c.want == "" || err != nil &&
					!denied {
					t.Error(err)
				}
			}
			err := s.Close()
			if (err == nil) != (c.want == "") || (err != nil && !strings.Contains(err.Error(), c.want)) {
				t.Errorf("Close: %v, want %q", err, c.want)
			}
		})
	}
}

func TestIgnore(t *testing.T) {
	s, c, ctx := start(t,
		clienttest.Expect(wire.CtrlListProfiles).Ignore(),
		clienttest.Expect(wire.CtrlListProfiles).Answer(0, wire.ProfilesList{Names: wire.Text("a")}))
	if got, err := c.Profiles(ctx); err != nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestThenRunsAfterTheAnswer(t *testing.T) {
	ran := make(chan bool, 1)
	_, c, ctx := start(t, clienttest.Expect(wire.CtrlListProfiles).
		Answer(0, wire.ProfilesList{}).Then(func() { ran <- true }))
	if _, err := c.Profiles(ctx); err != nil {
		t.Error(err)
	}
	<-ran
}

func TestPushToNobody(t *testing.T) {
	s, c, ctx := start(t, clienttest.Expect(wire.CtrlListProfiles).Answer(0, wire.ProfilesList{}))
	s.Push(wamble.Token{1}, wire.Header{}, wire.BoardUpdate{})
	s.Push(c.Token(), wire.Header{}, wire.Error{Reason: wire.Text(strings.Repeat("x", 300))})
	if _, err := c.Profiles(ctx); err != nil { // the pushes are done by now
		t.Error(err)
	}
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "no address") ||
		!strings.Contains(err.Error(), "too long") {
		t.Errorf("Close: %v", err)
	}
}
