package config

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"wamble/internal/lisp"
)

// rooms are the packages that may read an option.
var rooms = []string{
	"transport", "link", "session", "board", "predict", "spectate", "reward", "access",
	"journal", "postgres", "sqlite", "profile", "handoff", "server",
}

// TestOptions: a field of options.go is all that an option needs: every field describes
// itself completely, and is in all documents.
func TestOptions(t *testing.T) {
	text, shown := manual(), map[string]bool{}
	for _, s := range slices.Concat(Defaults().Settings(), Defaults().Default.Settings()) {
		shown[s.Option.Name] = true
	}
	seen := map[string]bool{}
	tags := []string{"option", "default", "range", "set", "unit", "room", "reload", "check", "inherit"}
	for _, o := range []any{Server{}, Options{}} {
		eachTag(reflect.TypeOf(o), func(tag reflect.StructTag) {
			for _, tag := range regexp.MustCompile(`(\w+):"[^"]*"`).FindAllStringSubmatch(string(tag), -1) {
				if !slices.Contains(tags, tag[1]) {
					t.Errorf("there is no tag %s", tag[0])
				}
			}
		})
	}
	word := regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	for _, o := range All() {
		field := strings.TrimPrefix(o.Field, o.Family+".")
		doc := docs()[o.Field]
		for _, c := range []struct {
			ok    bool
			fault string
		}{
			{word.MatchString(o.Name), "its name is not made of lower-case words with hyphens"},
			{!seen[o.Name], "there are two of this name"},
			{retired[o.Name] == "", "it is also in the table of names without a role"},
			{slices.Contains(rooms, o.Room), "no room reads it: " + o.Room},
			{o.Reload >= Live && o.Reload <= NeedsRestart, "its reload effect is unknown"},
			{strings.HasPrefix(doc, field+" ") && strings.HasSuffix(doc, "."), "its doc comment does not begin with the field's name and end with a full stop"},
			{o.bounded || len(o.choices) > 0 || o.kind.Kind() == reflect.Bool, "it has neither range nor set"},
			{o.kind != durationType || units[o.Unit] != 0, "its unit is not a time"},
			{o.check == "" || checks[o.check].ok != nil, "its check does not exist"},
			{o.holds(o.Default) || o.unset(o.Default), "its default is outside its own range"},
			{strings.Contains(text, "\n- `"+o.Name+"` ("), "the manual does not have it"},
			{shown[o.Name], "config show does not have it"},
			{Find(o.Name) == o, "it cannot be found"},
			{o.Brief() != "" && o.Expects() != "", "it cannot be explained"},
		} {
			if !c.ok {
				t.Errorf("%s (%s): %s", o.Name, o.Field, c.fault)
			}
		}
		seen[o.Name] = true
	}
	if len(seen) < 90 {
		t.Errorf("only %d options were found", len(seen))
	}
}

// TestOptionRoundTrip sets every option to a legal value that is not its
// default, by its own description, and finds it in the field.
func TestOptionRoundTrip(t *testing.T) {
	for _, o := range All() {
		v := another(o)
		definition := "(def " + o.Name + " " + o.Source(v) + ")"
		text := definition
		switch {
		case o.OwnOnly:
			text = "(defprofile p (" + definition + "))"
		case o.Name == "tls-cert":
			text += "(def tls-key \"k\")"
		case o.Name == "tls-key":
			text += "(def tls-cert \"c\")"
		case o.Name == "journal":
			text += "(def db-name \"n\")"
		case o.Name == "cluster-address":
			text += "(def journal \"postgres\") (def db-name \"n\")"
		}
		c, err := Load("t", text, testParams)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		p := c.Default
		if o.OwnOnly {
			p = c.Profiles[0]
		}
		if got := o.in(&c.Server, &p.Options).Interface(); got != v {
			t.Errorf("%s: got %v, want %v", text, got, v)
		}
		changes := Diff(Defaults(), c)
		i := slices.IndexFunc(changes, func(ch Change) bool { return ch.What == o.Name })
		if !o.OwnOnly && (i < 0 || changes[i].Effect != o.Reload) {
			t.Errorf("%s: the difference %v lacks it", text, changes)
		}
	}
}

// another is a legal value of o that is not its default.
func another(o *Option) any {
	if len(o.choices) > 0 {
		return o.choices[(slices.IndexFunc(o.choices, func(c choice) bool { return c.word == o.Default })+1)%len(o.choices)].word
	}
	if text, ok := map[string]string{"address": "127.0.0.1", "hostport": "[::1]:99", "endpoint": "a.org:99", "path": "/x", "name": "n", "networks": "::1 10.0.0.0/8", "domains": "a.org b.org", "https": "https://a.org/dir", "http": "http://a.org/v1/traces", "origins": "https://x.org *"}[o.check]; ok {
		return text
	}
	switch v := o.Default.(type) {
	case string:
		return v + "x"
	case Secret:
		return v + "x"
	case bool:
		return !v
	}
	n, _ := o.datum(o.Default).Number()
	if n++; n < o.low || n > o.high {
		n = o.low
	}
	return o.plain(n)
}

// TestRangeEdges: just outside its range an option is refused, at its edges it
// is not.
func TestRangeEdges(t *testing.T) {
	for _, o := range All() {
		if k := o.kind.Kind(); !o.bounded || k == reflect.String {
			continue
		}
		for _, edge := range []struct {
			n    float64
			want bool
		}{{o.low, true}, {o.high, true}, {o.low - 1, false}, {o.high + 1, false}} {
			_, err := o.parse(lisp.Value{Kind: lisp.Float, Float: edge.n}, lisp.Pos{})
			if got := err == nil; got != edge.want {
				t.Errorf("%s %v: accepted is %v, want %v", o.Name, edge.n, got, edge.want)
			}
		}
	}
}

// TestManual keeps docs/configuration.md equal to the table of options.
func TestManual(t *testing.T) {
	const file = "../../docs/configuration.md"
	if *update {
		if err := os.WriteFile(file, []byte(manual()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != manual() {
		t.Errorf("%s is stale; go test ./internal/config -run TestManual -update writes it", file)
	}
	for _, form := range lisp.Names() {
		if !strings.Contains(manual(), "`("+form+" ") {
			t.Errorf("the manual does not explain the form %s", form)
		}
	}
	examples := regexp.MustCompile("(?s)```lisp\n(.*?)```").FindAllStringSubmatch(manual(), -1)
	if len(examples) < 6 {
		t.Fatalf("the manual has %d examples", len(examples))
	}
	for _, e := range examples {
		c, err := Load("manual", e[1], testParams)
		if err != nil {
			t.Errorf("an example of the manual fails: %v\n%s", err, e[1])
		} else if len(c.Warnings) > 0 {
			t.Errorf("an example of the manual is warned about: %v\n%s", c.Warnings[0], e[1])
		}
	}
}

// TestStarter: the starter file is short and sets nothing but login-legacy, and what it comments out can be
// taken up as it stands.
func TestStarter(t *testing.T) {
	c, err := Load("starter", Starter(), testParams)
	if err != nil {
		t.Fatal(err)
	}
	if changed := Changed(c.Default.Settings()); len(changed) != 1 || changed[0].Option.Name != "login-legacy" || c.Default.Sessions.LoginLegacy {
		t.Errorf("the starter file changes %v", changed)
	}
	if n := strings.Count(Starter(), "\n"); n > 20 {
		t.Errorf("it has %d lines", n)
	}
	taken := regexp.MustCompile(`(?m)^; \(`).ReplaceAllString(Starter(), "(")
	if c, err = Load("starter", taken, testParams); err != nil || len(c.Warnings) > 0 {
		t.Fatalf("taken up: %v, %v", err, c.Warnings)
	}
	if n := len(Changed(c.Default.Settings())); n < 4 {
		t.Errorf("only %d options were taken up", n)
	}
}

// TestSample: the sample in examples shows what it promises, without a warning,
// with the database of its club and without.
func TestSample(t *testing.T) {
	raw, err := os.ReadFile("../../examples/server.conf")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"(defprofile ", ":inherits ", "(defmacro ", "(policy-allow ", "(policy-deny ", "(def db-host "} {
		if !strings.Contains(string(raw), word) {
			t.Errorf("the sample does not show %s", word)
		}
	}
	without := []string{"standard SQLite", "blitz SQLite", "fischer SQLite"}
	for _, c := range []struct {
		host  string
		want  []string
		rules int
	}{
		{"", without, 2},
		{"db", append(without, "club PostgreSQL wamble@db:5432/wamble_club"), 5},
		{"db1:5433, db2", append(without, "club PostgreSQL wamble@db1:5433,db2:5432/wamble_club"), 5},
	} {
		getenv := func(name string) string { return map[string]string{"CLUB_DB_HOST": c.host}[name] }
		config, err := Load("wamble.conf", string(raw), Params{Getenv: getenv})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range config.Warnings {
			t.Error(w.Render())
		}
		var got []string
		for _, p := range config.Running() {
			got = append(got, p.Name+" "+p.Storage())
		}
		if !slices.Equal(got, c.want) || len(config.Rules) != c.rules {
			t.Errorf("got %q and %d rules, want %q and %d", got, len(config.Rules), c.want, c.rules)
		}
	}
}

// TestOriginalNames: every option that the original ever had is an option here
// or in the table of those without a role.
func TestOriginalNames(t *testing.T) {
	const original = `port timeout-ms max-retries max-message-size buffer-size max-client-sessions session-timeout
		max-boards min-boards inactivity-timeout reservation-timeout default-rating max-players token-expiration max-pot
		max-moves-per-board max-contributors admin-trust-level db-host db-user db-pass db-name db-port global-db-host
		global-db-user global-db-pass global-db-name global-db-port select-timeout-usec cleanup-interval-sec
		max-token-attempts max-token-local-attempts persistence-max-intents persistence-max-payload-bytes
		new-player-early-phase-mult new-player-mid-phase-mult new-player-end-phase-mult
		experienced-player-early-phase-mult experienced-player-mid-phase-mult experienced-player-end-phase-mult
		log-level max-spectators spectator-visibility spectator-summary-hz spectator-focus-hz
		spectator-max-focus-per-session spectator-summary-mode state-dir websocket-enabled websocket-port websocket-path
		experiment-enabled experiment-seed rto-cap-ms terminal-cache-ttl-ms rate-limit-requests-per-sec prediction-mode
		prediction-base-points prediction-streak-multiplier prediction-streak-cap prediction-gated-percent
		prediction-view-depth-limit prediction-penalty-incorrect prediction-match-policy prediction-max-pending
		prediction-max-per-parent prediction-enforce-move-duplicate chess960-interval
		advertise visibility db-isolated abstract profile-group tos-text`
	for _, name := range strings.Fields(original) {
		if (Find(name) == nil) == (retired[name] == "") {
			t.Errorf("%s: want it among the options or among those without a role", name)
		}
	}
}

func eachTag(t reflect.Type, visit func(reflect.StructTag)) {
	for i := range t.NumField() {
		visit(t.Field(i).Tag)
		if f := t.Field(i).Type; f.Kind() == reflect.Struct {
			eachTag(f, visit)
		}
	}
}
