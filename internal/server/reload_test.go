package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/internal/config"
	"wamble/internal/profile"
	"wamble/internal/store/postgres/pgtest"
)

// file is a configuration that a test changes while a server runs.
type file struct{ text string }

func (f *file) load() (*config.Config, error) {
	return config.Load("test.conf", f.text, config.Params{})
}

// profilesOn is a configuration with profiles on ports: "red", 8001, "blue", 8002.
func profilesOn(pairs ...any) string {
	text := conf("(def advertise 1)\n")
	for i := 0; i < len(pairs); i += 2 {
		text += fmt.Sprintf("(defprofile %v ((def port %v)))\n", pairs[i], pairs[i+1])
	}
	return text
}

// TestNoUDP: a reload turns UDP off, so that the port is free for others and players come
// over WebSocket alone, and on again.
func TestNoUDP(t *testing.T) {
	t.Parallel()
	with := staying(t, conf(""))
	text := with
	load := func() (*config.Config, error) { return config.Load("test.conf", text, config.Params{}) }
	s := serve(t, Options{Load: load}, text).ready()
	address, at := s.address(), s.Addresses()
	join(t, address, wamble.Token{}).move(t.Context())
	text = with + "(def udp-enabled 0)"
	if _, err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.Profiles()[0]; got.UDP.IsValid() || got.HTTP != at.HTTP {
		t.Errorf("without UDP: %+v", got)
	}
	if got := s.Status(t.Context()).Profiles[0].UDP; got != "off" {
		t.Errorf("the status says %q", got)
	}
	other, err := net.ListenPacket("udp4", at.UDP.String())
	if err != nil {
		t.Fatalf("the port is not free: %v", err)
	}
	other.Close()
	join(t, "ws://"+at.HTTP.String()+"/ws", wamble.Token{}).move(t.Context())
	text = with
	if _, err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	join(t, address, wamble.Token{}).move(t.Context())
}

// TestReloadBad: a configuration that cannot be applied changes nothing, and the server
// reports why.
func TestReloadBad(t *testing.T) {
	t.Parallel()
	ports := freePorts(t, 2)
	taken := serve(t, Options{}, conf("")).ready()
	f := &file{profilesOn("red", ports[0], "blue", ports[1])}
	s := serve(t, Options{Load: f.load}, f.text).ready()
	c := gather(t, s.address(), 2)
	c.play()
	before := fmt.Sprint(s.Profiles())
	for _, tc := range []struct{ name, text, want string }{
		{"not a program", "(def port", "test.conf:1"},
		{"a wrong value", profilesOn("red", 99999), "99999"},
		{"a misspelt option", `(def policy-defalt "deny")` + f.text, "did you mean `policy-default`?"},
		{"two profiles on one port", profilesOn("red", ports[0], "blue", ports[0]), "same UDP port"},
		{"a port that is taken", profilesOn("red", ports[0], "blue", ports[1], "new", taken.Addresses().UDP.Port()), "profile new: cannot bind"},
		{"a new port, and one that is taken", profilesOn("red", 0, "blue", taken.Addresses().UDP.Port()), "profile blue: cannot bind"},
		{"what needs a handoff", `(def durability "write")` + f.text, "durability from \"fsync\" to \"write\": 'wamble handoff' applies it"},
		{"what needs a restart", `(def data-dir "/nowhere")` + f.text, "it needs a restart"},
		{"another number of shards",
			strings.Replace(f.text, "(defprofile blue (", "(defprofile blue ((def shards 4)", 1),
			"shards from 1 loops to 4 loops: stop the server, on all machines if there are several, then run 'wamble shards 4 --profile blue'"},
		{"an admin listener that is taken", strings.Replace(f.text, `"127.0.0.1:0"`, fmt.Sprintf("%q", taken.Admin()), 1), "the admin listener"},
		{"no admin token", `(def admin-token-file "/nonexistent")` + f.text, "the admin token"},
		{"a store without its password", strings.Replace(f.text, "(defprofile blue (", `(defprofile blue ((def db-pass-file "/nonexistent")`, 1), "/nonexistent"},
		{"a new store that is away", strings.Replace(f.text, "(defprofile blue (", `(defprofile blue ((def db-host "127.0.0.1") (def db-port 1)`, 1), "the database that it is to use"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			good := f.text
			f.text = tc.text
			defer func() { f.text = good }()
			r, err := s.Reload(t.Context())
			if err == nil || !strings.Contains(err.Error(), tc.want) || r.Error != err.Error() {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if got := fmt.Sprint(s.Profiles()); got != before {
				t.Errorf("something has changed: %s, before %s", got, before)
			}
			if last := s.Status(t.Context()).Reload; last == nil || !strings.Contains(last.Error, tc.want) ||
				!strings.Contains(s.log.String(), "the reload was refused") {
				t.Error("neither status nor log say why")
			}
			c.more(t, 10)
		})
	}
	if r, err := s.Reload(t.Context()); err != nil || len(r.Changes) != 0 {
		t.Errorf("the same configuration: got %+v, %v", r, err)
	}
	c.finish()
	s.end()
	if _, err := s.Reload(t.Context()); err == nil {
		t.Error("a server that has ended was reloaded")
	}
	verifySQLite(t, s.dir, c)
}

// TestReloadHangs: a reload that hangs does not satisfy the watchdog: neither when a loop
// does not answer it, nor when the configuration is not read.
func TestReloadHangs(t *testing.T) {
	t.Parallel()
	const within = 10 * time.Millisecond
	f := &file{conf("")}
	asked, answer := make(chan struct{}, 1), make(chan struct{})
	load := func() (*config.Config, error) {
		asked <- struct{}{}
		<-answer
		return f.load()
	}
	s := serve(t, Options{Load: load}, f.text).ready()
	done := make(chan error, 1)
	reload := func() { _, err := s.Reload(context.WithoutCancel(t.Context())); done <- err }
	go reload()
	<-asked
	if !s.Alive(t.Context(), patience) {
		t.Error("a reload that has just begun does not live")
	}
	s.extendChange(0)
	until(t, "a reload that hangs is noticed", func() bool { return !s.Alive(t.Context(), patience) })
	answer <- struct{}{}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if !s.Alive(t.Context(), patience) {
		t.Error("the server does not live after a reload that was late")
	}

	held, release := make(chan struct{}), make(chan struct{})
	go s.first().shards[0].runtime.Do(context.WithoutCancel(t.Context()),
		func(*profile.Profile) { close(held); <-release })
	<-held
	f.text = conf("(def buffer-size 65536)")
	go reload()
	<-asked
	answer <- struct{}{}
	if s.Alive(t.Context(), within) {
		t.Error("a loop that hangs lives, during a reload")
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestReloadLive: the running profile takes these options from a reload.
func TestReloadLive(t *testing.T) {
	t.Parallel()
	f := &file{conf("")}
	s := serve(t, Options{Load: f.load}, f.text).ready()
	p := gather(t, s.address(), 1).players[0]
	life, port := s.life(), s.first().Port()
	f.text = conf("(def min-boards 24)")
	r, err := s.Reload(t.Context())
	if err != nil || len(r.Changes) != 1 || !strings.Contains(r.Changes[0], "min-boards 8 boards → 24 boards (live)") {
		t.Fatalf("got %+v, %v", r, err)
	}
	until(t, "there are more boards", func() bool { return s.first().Figures(t.Context()).Gauges.Boards >= 24 })
	if s.life() != life || s.first().Port() != port {
		t.Error("the profile was made anew")
	}
	if !p.move(t.Context()) {
		t.Error("no move after the reload")
	}
	// The admin listener moves, and the token is another one.
	token := t.TempDir() + "/token"
	if err := os.WriteFile(token, []byte("a token of sixteen"), 0o600); err != nil {
		t.Fatal(err)
	}
	old := s.Admin()
	f.text = strings.Replace(f.text, `"127.0.0.1:0"`, `"127.0.0.1:00"`, 1) +
		fmt.Sprintf("(def admin-token-file %q)", token)
	if _, err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.Admin() == old {
		t.Error("the admin listener has not moved")
	}
	if got := fetchWith(t, "http://"+s.Admin()+"/metrics", "a token of sixteen"); !strings.HasPrefix(got, "200 ") {
		t.Errorf("with the new token: %.40s", got)
	}
	f.text = strings.Replace(f.text, `"127.0.0.1:00"`, `""`, 1)
	if _, err := s.Reload(t.Context()); err != nil || s.Admin() != "" {
		t.Errorf("the admin listener is on %q: %v", s.Admin(), err)
	}
}

// TestReloadAddress: a profile moves from one address to all of them and back, on
// the same port number, and its players find their boards there.
func TestReloadAddress(t *testing.T) {
	t.Parallel()
	port := freePorts(t, 1)[0]
	on := func(address string) string {
		return strings.Replace(conf(fmt.Sprintf("(def port %d)", port)), `(def listen-address "127.0.0.1")`,
			fmt.Sprintf("(def listen-address %q)", address), 1)
	}
	f := &file{on("127.0.0.1")}
	s := serve(t, Options{Load: f.load}, f.text).ready()
	p := join(t, s.address(), wamble.Token{})
	life := s.life()
	for _, tc := range []struct{ address, reach string }{
		{"0.0.0.0", "127.0.0.2"}, {"127.0.0.1", "127.0.0.1"}, {"", "127.0.0.3"}, {"127.0.0.1", "127.0.0.1"},
	} {
		f.text = on(tc.address)
		if r, err := s.Reload(t.Context()); err != nil || len(r.Changes) != 1 {
			t.Fatalf("%q: got %+v, %v", tc.address, r, err)
		}
		if s.ready(); s.life() != life {
			t.Errorf("%q: the profile was made anew, and its players waited", tc.address)
		}
		again := join(t, fmt.Sprintf("udp://127.0.0.1:%d", port), p.c.Token())
		if again.c.Token() != p.c.Token() || again.c.Board().ID != p.c.Board().ID {
			t.Errorf("%q: a player lost token or board", tc.address)
		}
		until(t, "HTTP answers", func() bool {
			return fetch(t,
				fmt.Sprintf("http://%s:%d/readyz", tc.reach, port)) == "200 ready"
		})
	}
}

// TestReloadAgain: removed profiles can return at once, on the same ports, though connections
// to the old ones are still open.
func TestReloadAgain(t *testing.T) {
	t.Parallel()
	ports := freePorts(t, 3)
	with := profilesOn("red", ports[0], "blue", ports[1], "green", ports[2])
	f := &file{with}
	s := serve(t, Options{Load: f.load}, f.text).ready()
	for range 3 {
		for _, port := range ports[1:] { // half a request is waited for
			c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := io.WriteString(c, "GET / HTTP/1.1\r\n"); err != nil {
				t.Fatal(err)
			}
			until(t, "HTTP answers", func() bool {
				return fetch(t,
					fmt.Sprintf("http://127.0.0.1:%d/readyz", port)) == "200 ready"
			})
		}
		for _, text := range []string{profilesOn("red", ports[0]), with} {
			f.text = text
			if _, err := s.Reload(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		s.ready()
	}
}

// TestReloadZero: without profiles a default runtime serves, on the same socket
// if the port stays, and the other way round.
func TestReloadZero(t *testing.T) {
	t.Parallel()
	port := freePorts(t, 1)[0]
	f := &file{profilesOn("red", port)}
	s := serve(t, Options{Load: f.load}, f.text).ready()
	c := gather(t, s.address(), 1)
	token := c.players[0].c.Token()
	f.text = conf(fmt.Sprintf("(def port %d)", port))
	for _, want := range []string{"default", "red"} {
		if _, err := s.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.ready()
		if got := s.Profiles(); len(got) != 1 || got[0].Profile != want || got[0].UDP.Port() != port {
			t.Fatalf("got %+v, want %s on %d", got, want, port)
		}
		// The store is shared, so the player is known to the other profile.
		if p := join(t, s.address(), token); p.c.Token() != token || !p.move(t.Context()) {
			t.Error("a known player is not known any more")
		}
		f.text = profilesOn("red", port)
	}
	until(t, "the removed profile has left", func() bool { return len(s.removedProfiles()) == 0 })
}

// TestReloadStore: a profile changes its database. Its former data is in the old one; if that
// is away, nothing changes.
func TestReloadStore(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t, false)
	db := cluster.Migrated(t)
	f := &file{conf(postgresConf(db))}
	s := serve(t, Options{Load: f.load}, f.text).ready()
	address := s.address()
	c := gather(t, address, 3)
	c.play()
	c.more(t, 50)
	cluster.Down(t)
	f.text = conf("")
	if _, err := s.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), "must be there") {
		t.Fatalf("the old database is away: got %v", err)
	}
	c.more(t, 50)
	cluster.Up(t)
	c.finish()
	until(t, "the database takes moves again", func() bool { return s.Status(t.Context()).Profiles[0].Depth == 0 })
	if _, err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.ready()
	if s.address() != address {
		t.Errorf("the address is %s, was %s", s.address(), address)
	}
	c.verify(t, openPostgres(t, db))
	// The new database does not have a token of the old one: its player begins anew.
	n := gather(t, s.address(), 2)
	n.play()
	n.more(t, 20)
	n.finish()
	s.end()
	verifySQLite(t, s.dir, n)
}

// TestRemovedProfile: what a removed profile left for a database that is away is brought
// there when it is back, without a listener; and if the profile is added again meanwhile, it
// has everything.
func TestRemovedProfile(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t, false)
	db := cluster.Migrated(t)
	with := conf("(def shutdown-timeout 1)(def advertise 1)(defprofile lite ())(defprofile post (" + postgresConf(db) +
		"))")
	without := conf("(def shutdown-timeout 1)(def advertise 1)(defprofile lite ())(defprofile post (" +
		postgresConf(db) + "(def advertise 0)))")
	f := &file{with}
	dir := t.TempDir()
	s := serve(t, Options{Dir: dir, Load: f.load}, f.text).ready()
	c := gather(t, "udp://"+s.Profiles()[1].UDP.String(), 3)
	leave := func() {
		cluster.Down(t)
		c.more(t, 40)
		c.finish()
		f.text = without
		if _, err := s.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := s.Status(t.Context()).Departing; len(d) != 1 || d[0].Name != "post" || d[0].Depth == 0 {
			t.Errorf("the status says %+v", d)
		}
	}
	c.play()
	leave()
	f.text = with
	if _, err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	cluster.Up(t)
	s.ready()
	// It listens at another port now: port 0 is another one each time.
	for i, p := range c.players {
		again := join(t, "udp://"+s.Profiles()[1].UDP.String(), p.c.Token())
		if again.c.Token() != p.c.Token() || again.c.Board().ID != p.c.Board().ID {
			t.Error("a player has lost their place")
		}
		again.played, again.history, again.doubtful, again.refused, again.crowd = p.played, p.history, p.doubtful,
			p.refused, c
		c.players[i] = again
	}
	c.play()
	leave()
	s.end() // with the database away: the next start brings it there
	cluster.Up(t)
	s = serve(t, Options{Dir: dir, Load: f.load}, without).ready()
	until(t, "the removed profile has left", func() bool { return len(s.removedProfiles()) == 0 })
	c.verifyProfile(t, openPostgres(t, db), "post")
}

// TestSwap: two profiles exchange their ports; sockets stay bound, and requests to a port are
// answered by the profile that has it now.
func TestSwap(t *testing.T) {
	t.Parallel()
	ports := freePorts(t, 2)
	f := &file{profilesOn("red", ports[0], "blue", ports[1])}
	s := serve(t, Options{Load: f.load}, f.text).ready()
	f.text = profilesOn("red", ports[1], "blue", ports[0])
	if _, err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, "both serve again", func() bool { up, _ := s.readiness(); return up })
	for i, sup := range s.profiles() {
		if got := sup.Port().Addr().Port(); got != ports[1-i] {
			t.Errorf("profile %s is on port %d, want %d", sup.name, got, ports[1-i])
		}
		before := sup.Figures(t.Context()).Stats.Hellos
		join(t, "udp://"+netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), ports[1-i]).String(),
			wamble.Token{}).move(t.Context())
		if got := sup.Figures(t.Context()).Stats.Hellos; got != before+1 {
			t.Errorf("profile %s has greeted %d, want %d", sup.name, got, before+1)
		}
		if got := fetch(t, fmt.Sprintf("http://127.0.0.1:%d/readyz", ports[1-i])); got != "200 ready" {
			t.Errorf("/readyz says %s", got)
		}
	}
}
