package config

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"wamble/internal/lisp"
	"wamble/internal/lisp/lisptest"
)

func mustLoad(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Load("t", text, testParams)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestDefaults pins the defaults that other packages and the documents of the original rely
// on.
func TestDefaults(t *testing.T) {
	p := Defaults().Default
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"port", p.Network.Port, 8888},
		{"buffer-size unset", p.Network.BufferSize, 0},
		{"websocket-enabled", p.Network.WebSocketEnabled, true},
		{"timeout-ms", p.Link.Timeout, 100 * time.Millisecond},
		{"select-timeout-usec", p.Network.SelectTimeout, 100 * time.Millisecond},
		{"session-timeout", p.Link.SessionTimeout, 5 * time.Minute},
		{"reservation-timeout", p.Boards.ReservationTimeout, 14 * 24 * time.Hour},
		{"persistence-max-intents", p.Store.MaxIntents, 512},
		{"policy-default", p.Standing.PolicyDefault, "allow"},
		{"durability", Defaults().Server.Durability, "fsync"},
		{"new-player-early-phase-mult", p.Assignment.NewEarly, 2.0},
		{"store", p.Storage(), "SQLite"},
		{"name", p.Name, "default"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, c.got, c.want)
		}
	}
}

// TestPorts: the ports of a profile.
func TestPorts(t *testing.T) {
	for _, c := range []struct {
		text      string
		http, ws  int
		httpOn    bool
		wsEnabled bool
	}{
		{"", 8888, 8888, true, true},
		{"(def port 7000)", 7000, 7000, true, true},
		{"(def http-port 80)", 80, 80, true, true},
		{"(def http-port -1)", 0, 8888, false, true},
		{"(def websocket-port 81)", 81, 81, true, true}, // the original's way: HTTP follows
		{"(def websocket-port 81) (def http-port 81)", 81, 81, true, true},
		{"(def websocket-port 81) (def http-port -1)", 0, 81, false, true},
		{"(def websocket-port 81) (def websocket-enabled 0)", 8888, 0, true, false},
		{"(def websocket-enabled 0)", 8888, 0, true, false},
		{"(def port 0)", 0, 0, true, true},
	} {
		n := mustLoad(t, c.text).Default.Network
		http, httpOn := n.HTTP()
		ws, wsOn := n.WebSocket()
		if http != c.http || httpOn != c.httpOn || ws != c.ws || wsOn != c.wsEnabled {
			t.Errorf("%s: got HTTP %d %t, WebSocket %d %t", c.text, http, httpOn, ws, wsOn)
		}
	}
}

// TestStoreChoice: any db-… option, at any level, chooses PostgreSQL.
func TestStoreChoice(t *testing.T) {
	for _, o := range Of("Database") {
		definition := "(def " + o.Name + " " + o.Source(o.Default) + ")"
		for _, text := range []string{
			definition + "(defprofile p ())",
			"(defprofile b (" + definition + ")) (defprofile p :inherits b ())",
			"(defprofile p (" + definition + "))",
		} {
			if !mustLoad(t, text).Profile("p").Postgres() {
				t.Errorf("%s: want PostgreSQL", text)
			}
		}
	}
	if mustLoad(t, "(def db-isolated 1) (def persistence-max-intents 5)").Default.Postgres() {
		t.Error("db-isolated and persistence-… alone do not choose PostgreSQL")
	}
}

// TestChosenProfile: --profile makes a profile's options those of the default
// runtime.
func TestChosenProfile(t *testing.T) {
	const text = "(def port 1) (defprofile a ((def port 2)))"
	for _, c := range []struct {
		profile string
		port    int
	}{{"", 1}, {"default", 1}, {"a", 2}} {
		got, err := Load("t", text, Params{Getenv: testParams.Getenv, Profile: c.profile})
		if err != nil {
			t.Fatal(err)
		}
		if got.Default.Network.Port != c.port || got.Default.Name != DefaultName {
			t.Errorf("%q: got port %d of %s, want %d", c.profile, got.Default.Network.Port, got.Default.Name, c.port)
		}
	}
	_, err := Load("t", "(defprofile blitz ())", Params{Getenv: testParams.Getenv, Profile: "blits"})
	if want := "t: there is no profile `blits` (did you mean `blitz`?)"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestUnknownOption: a name that is neither an option nor a variable is an
// error, however many warnings there are before it.
func TestUnknownOption(t *testing.T) {
	var many strings.Builder
	for i := range 100 {
		fmt.Fprintf(&many, "(frobnicate%d 1)\n(when 0 later%d)", i, i)
	}
	for _, c := range []struct{ text, want string }{
		{`(def policy-defalt "deny")`, "did you mean `policy-default`?"},
		{`(defprofile a ((def advertise 1) (def tls-crt "c")))`, "did you mean `tls-cert`?"},
		{many.String() + `(def policy-defalt "deny")`, "did you mean `policy-default`?"},
		{`(def zzz 1)`, "`zzz` is not an option"},
		{`(def max-message-size 126) (def db-name "new")`, ""}, // a name of the original
		{`(def max-message-size 126) (def db-name "new") (def zzz 1)`, ""},
		{`(def max-message-size 126) (def db-name "new") (def policy-defalt "deny")`, "did you mean `policy-default`?"},
		{`(def base 1) (def port (+ base 8000))`, ""},         // a variable
		{`(def base 1) (if (= 1 2) (def port base))`, ""},     // a variable of what is not evaluated
		{`(def base 1) (defprofile a ((def port base)))`, ""}, // a variable of a profile
	} {
		_, err := Load("t", c.text, testParams)
		if got := fmt.Sprint(err); (err != nil) != (c.want != "") || !strings.Contains(got, c.want) && c.want != "" {
			t.Errorf("%.80s: got %s, want %q", c.text, got, c.want)
		}
	}
}

// TestSecrets: a password appears nowhere but in the field that holds it.
func TestSecrets(t *testing.T) {
	const secret = "hunter2"
	for _, text := range []string{
		`(def db-pass "hunter2")`,
		`(def db-pass "hunter2") (def db-pass "hunter2")`,
		`(def db-pas "hunter2")`,
		`(def DB-PASSWORD "hunter2")`,
		`(def my-secret "hunter2")`,
		`(def db-pass "hunter2" 5)`,
		"(def db-pass\n\n  \"hunter2\" 5)",
		`(def db-pass hunter2)`,
		`(def db-pass (+ 1 (getenv "DB_PASS")))`,
		`(def db-pass (getenv "DB_PASS")) (def port "x")`,
		`(defprofile a ((def db-pass "hunter2") (def db-pass-file "/x")))`,
		`(def db-pass "hunter2`,
		`(def db-pass (str "x" (getenv "DB_PASS"))) (def db-host "h")`,
		`(def db-pass (str "hunter2" 5 (quote (a))))(def port "x")`,
		`(def db-pass (if (= 1 1) "hunter2")) (def db-pass-file "x")`,
		`(def db-pass (int "hunter2"))`,
		`(def db-pass (getenv "DB_PASS")) (def port (int db-pass))`,
		`(def db-pass ("hunter2"))`,
	} {
		var shown strings.Builder
		c, err := Load("t", text, testParams)
		if err != nil {
			shown.WriteString(err.Error())
			faults := err.(*LoadError)
			for _, e := range append(faults.Errors, faults.Warnings...) {
				shown.WriteString(e.Render())
			}
		} else {
			for _, s := range c.Default.Settings() {
				shown.WriteString(s.Text())
			}
			out, err := json.Marshal(c.Default.Settings())
			if err != nil {
				t.Fatal(err)
			}
			shown.Write(out)
			for _, e := range c.Warnings {
				shown.WriteString(e.Render())
			}
			fmt.Fprint(&shown, Diff(Defaults(), c))
		}
		if shown.Len() == 0 || strings.Contains(shown.String(), secret) {
			t.Errorf("%s: the secret is shown:\n%s", text, shown.String())
		}
	}
	if got := mask(`(def db-pass (or (getenv "PW") "abc")) (def db-pass-file "/f") (def port 1)`); got != `(def db-pass (or (getenv "PW") "***")) (def db-pass-file "/f") (def port 1)` {
		t.Errorf("got %s", got)
	}
	d := mustLoad(t, `(def db-pass "hunter2")`).Default.Database
	out, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("connect", "password", d.Pass, "database", d)
	if all := fmt.Sprintf("%v %+v %#v %s %s", d, d, d, out, log.String()); strings.Contains(all, secret) {
		t.Errorf("the secret is shown: %s", all)
	}
	if got := mustLoad(t, `(def db-pass (getenv "DB_PASS"))`).Default.Database.Pass; string(got) != secret {
		t.Errorf("got password %q, want %q", string(got), secret)
	}
}

// TestDiff: the steps that a reload would need.
func TestDiff(t *testing.T) {
	const two = "(defprofile a ((def port 1) (def advertise 1))) (defprofile b ((def port 2) (def advertise 1)))"
	for _, c := range []struct {
		name, old, new string
		want           []string
		strongest      Effect
	}{
		{"nothing", two, ";; a comment\n" + two, nil, Live},
		{"order does not matter", two, "(defprofile b ((def port 2) (def advertise 1))) (defprofile a ((def port 1) (def advertise 1)))", nil, Live},
		{"live", two, "(def max-boards 7)" + two, []string{"a: max-boards 1024 boards → 7 boards (live)", "b: max-boards 1024 boards → 7 boards (live)"}, Live},
		{"listener", "(def port 1)", "(def port 2)", []string{"default: port 1 → 2 (listener)"}, NewListener},
		{"store", "(def db-name \"x\")", "(def db-name \"y\")", []string{`default: db-name "x" → "y" (store)`}, NewStore},
		{"password", "(def db-pass \"x\")", "(def db-pass \"y\")", []string{"default: db-pass (hidden) → (hidden) (store)"}, NewStore},
		{"SQLite to PostgreSQL with the same values", "", "(def db-host \"localhost\")", []string{"default: store SQLite → PostgreSQL wamble@localhost:5432/wamble (store)"}, NewStore},
		{"handoff", "", "(def durability \"write\")", []string{`server: durability "fsync" → "write" (handoff)`}, NeedsHandoff},
		{"restart", "", "(def data-dir \"/x\")", []string{`server: data-dir unset → "/x" (restart)`}, NeedsRestart},
		{"profiles come and go", two,
			"(defprofile b ((def port 2) (def advertise 1))) (defprofile c ((def port 3) (def advertise 1)))",
			[]string{"a: profile running → absent (listener)", "c: profile absent → running (listener)"}, NewListener},
		{"down to the default", two, "", []string{"a: profile running → absent (listener)", "b: profile running → absent (listener)", "default: profile absent → running (listener)"}, NewListener},
		{"policy", "", `(policy-deny "*" "game.move" "play")`, []string{"server: policy 0 rules → 1 rule (live)"}, Live},
	} {
		changes := Diff(mustLoad(t, c.old), mustLoad(t, c.new))
		var got []string
		for _, change := range changes {
			got = append(got, change.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		if got := Strongest(changes, "*"); got != c.strongest {
			t.Errorf("%s: strongest effect is %v, want %v", c.name, got, c.strongest)
		}
	}
}

// TestHostile: no file makes loading allocate without bound.
func TestHostile(t *testing.T) {
	repeat := func(form func(i int) string) string {
		var b strings.Builder
		for i := 0; b.Len() < lisp.MaxSource-128; i++ {
			b.WriteString(form(i))
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"profiles": repeat(func(i int) string {
			return fmt.Sprintf("(defprofile p%d ((def port %d)(def advertise 1)))", i, i%65000+1)
		}),
		"equal ports": repeat(func(i int) string { return fmt.Sprintf("(defprofile p%d ((def advertise 1)))", i) }),
		"chain": repeat(func(i int) string {
			return fmt.Sprintf("(defprofile p%d :inherits p%d)", i, i+1)
		})[:30_000],
		"unknown bases": repeat(func(i int) string { return fmt.Sprintf("(defprofile p%d :inherits q%d)", i, i) }),
		"rules":         repeat(func(int) string { return `(policy-deny "*" "game.move" "profile:nobody::play")` }),
		"tags by loop":  `(defn f (n) (when n (policy-tag "id:1" "a") (f (- n 1)))) (defn g (n) (when n (f 900) (g (- n 1)))) (g 900)`,
		"rules by loop": `(defn f (n) (when n (policy-deny "*" "game.move" "play") (f (- n 1)))) (defn g (n) (when n (f 900) (g (- n 1)))) (g 900)`,
		"variables":     repeat(func(i int) string { return fmt.Sprintf("(def max-board%d 1)", i) }),
		"nested bodies": "(defmacro m (x) (m (x x x x))) (m ((def port 1)))",
		"wide body": "(defmacro w (n x) (defprofile n (x x x x x x x x))) (w p (" +
			strings.Repeat("((def port 1))", 5000) + "))",
		"secrets":        strings.Repeat("pass ", 50_000),
		"nested secrets": strings.Repeat("(pass ", 40_000),
		"bad everything": repeat(func(i int) string { return fmt.Sprintf("(defprofile p%d ((def port \"x\") (def prt 1) (zork)))", i) }),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Load("t", text, testParams)
		runtime.ReadMemStats(&after)
		const limit = 320 << 20
		if used := after.TotalAlloc - before.TotalAlloc; used > limit {
			t.Errorf("%s: %d MB allocated, want at most %d", name, used>>20, limit>>20)
		}
		if faults, ok := err.(*LoadError); ok && len(faults.Errors)+len(faults.Warnings) > 100 {
			t.Errorf("%s: %d findings", name, len(faults.Errors)+len(faults.Warnings))
		}
		if want := said[name]; want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
}

// said has the errors of some hostile files.
var said = map[string]string{
	"profiles":      "there are more than 1000 profiles",
	"chain":         "more than 32 profiles inherit from each other in a row",
	"tags by loop":  "there are more than 10000 tags",
	"rules by loop": "there are more than 10000 policy rules",
}

// TestDatabase: the sources of the password and the port.
func TestDatabase(t *testing.T) {
	read := func(name string) ([]byte, error) {
		if name == "/run/pw" {
			return []byte("from file\r\nsecond line\n"), nil
		}
		return nil, fs.ErrNotExist
	}
	for _, c := range []struct {
		text, want string
		port       int
		fails      bool
	}{
		{"", "wamble", 5432, false},
		{`(def db-pass "x") (def db-port 6000)`, "x", 6000, false},
		{`(def db-pass-file "/run/pw") (def db-port 0)`, "from file", 5432, false},
		{`(def db-pass-file "/run/none")`, "", 5432, true},
		{`(def db-pass "") (def db-pass-file "/run/pw")`, "from file", 5432, false},
	} {
		d := mustLoad(t, c.text).Default.Database
		got, err := d.Password(read)
		if got != c.want || (err != nil) != c.fails || d.TCPPort() != c.port {
			t.Errorf("%s: got %q, %v, port %d", c.text, got, err, d.TCPPort())
		}
	}
}

// TestAddress: an unset listen-address is every address.
func TestAddress(t *testing.T) {
	if got := mustLoad(t, "").Default.Network.Address(8888); got.Addr().IsValid() || got.Port() != 8888 {
		t.Errorf("got %v, want every address", got)
	}
	if got := mustLoad(t, `(def listen-address "::1")`).Default.Network.Address(7); got.String() != "[::1]:7" {
		t.Errorf("got %v, want [::1]:7", got)
	}
}

// TestOrigins: pages of the machines of a cluster may open a WebSocket, as browsers
// write their origin.
func TestOrigins(t *testing.T) {
	n := mustLoad(t, `(def websocket-origins "https://a.example") (def cluster-endpoints "b.example ::1") (def http-port 443)`).Default.Network
	want := []string{"https://a.example", "http://b.example:443", "https://b.example", "http://[::1]:443",
		"https://[::1]"}
	if got := n.Origins(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestHome: this machine is the one that the option names, or that has the address it listens
// on, and never a host that is not announced to clients.
func TestHome(t *testing.T) {
	for text, want := range map[string]string{
		`(def cluster-endpoints "192.0.2.1 b.example") (def listen-address "192.0.2.1")`:                                "192.0.2.1",
		`(def cluster-endpoints "192.0.2.1 b.example") (def listen-address "192.0.2.1") (def cluster-host "b.example")`: "b.example",
		`(def cluster-endpoints "192.0.2.1 b.example") (def listen-address "192.0.2.2")`:                                "",
		`(def cluster-endpoints "192.0.2.1 b.example")`:                                                                 "",
		`(def cluster-endpoints "192.0.2.1 b.example") (def cluster-host "c.example")`:                                  "",
		`(def cluster-host "c.example")`:                                                                                "",
	} {
		if got := mustLoad(t, text).Default.Network.Home(); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	raw, err := os.ReadFile("../../examples/server.conf")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Load("wamble.conf", string(raw), testParams); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzLoad: no file panics or hangs, and one that loads keeps every promise of
// the table of options.
func FuzzLoad(f *testing.F) {
	for _, input := range lisptest.Programs(f) {
		if len(input) < 300 { // a longer one takes the fuzzer minutes to shorten
			f.Add(input)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Load("t", text, testParams)
		if err != nil {
			if len(err.(*LoadError).Errors) == 0 {
				t.Error("an error without a finding")
			}
			return
		}
		if len(c.Running()) == 0 {
			t.Error("nothing runs")
		}
		for _, p := range append(c.Profiles, c.Default) {
			for _, s := range p.Settings() {
				empty := s.Value == "" || s.Value == Secret("") // a string of no bytes is one
				if !s.Option.holds(s.Value) && !s.Option.unset(s.Value) && !empty {
					t.Errorf("%s is %v, outside its range", s.Option.Name, s.Value)
				}
			}
			if fault := nameFault(p.Name); fault != "" {
				t.Errorf("the name %q %s", p.Name, fault)
			}
		}
		if changes := Diff(c, c); len(changes) > 0 {
			t.Errorf("a configuration differs from itself: %v", changes)
		}
	})
}

// TestFromOriginal: a file of the original becomes one of ours, which loads and means the same.
func TestFromOriginal(t *testing.T) {
	const text = `; the original's
(def max-message-size 126) ; no role
(treatment-group
  "a" 1)
(policy-allow "*" "game.move" "play")
(defprofile blue ((def advertise 1)))`
	got := FromOriginal("t", text)
	for _, want := range []string{"; no effect here: (def max-message-size 126) ; no role\n", ";   \"a\" 1)\n(policy-allow", `(def policy-default "deny")`,
		"'wamble import"} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %q:\n%s", want, got)
		}
	}
	c, err := Load("t", got, testParams)
	if err != nil || len(c.Warnings) > 0 || c.Profile("blue").Standing.PolicyDefault != "deny" {
		t.Errorf("it loads with %v, %v", err, c)
	}
	if again := FromOriginal("t", "(def port 1)"); strings.Contains(again, "policy-default") {
		t.Errorf("a file without rules gets %s", again)
	}
}
