//go:build proof && linux

package server

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"wamble/internal/admin"
	"wamble/internal/handoff"
	"wamble/internal/prooftest"
	"wamble/internal/store/postgres/pglog"
	"wamble/internal/store/postgres/pgtest"
)

// stage has the machines on which a scenario is played.
type stage struct {
	*fleet
	parts *continent // nil if one machine serves and the others wait for its place
	it    *machine   // the machine that was chosen
	began time.Time  // when it was chosen
	sent  int64      // how many packets it had sent to players before it came back
	mend  func()     // undoes the last cut
}

// scenarioSteps are the steps of scenarios.
var scenarioSteps = map[string]func(*stage){
	"choose the owner":             func(s *stage) { s.choose(s.owner()) },
	"choose a machine with parts":  func(s *stage) { s.choose(s.parts.victim()) },
	"choose the first machine":     func(s *stage) { s.choose(s.machines[0]) },
	"choose the second machine":    func(s *stage) { s.choose(s.machines[1]) },
	"choose the third machine":     func(s *stage) { s.choose(s.machines[2]) },
	"nothing more":                 func(*stage) {},
	"kill it":                      func(s *stage) { s.it.child.kill() },
	"stop it in order":             func(s *stage) { s.it.child.end() },
	"start it again":               (*stage).startAgain,
	"suspend its process":          (*stage).suspend,
	"resume its process":           (*stage).resume,
	"hand it over":                 (*stage).handOver,
	"wait for longer than a lease": func(*stage) { time.Sleep(pglog.DefaultLease + 200*time.Millisecond) },
	"wait until 10 s have passed since it was chosen": func(s *stage) { time.Sleep(time.Until(s.began.Add(10 * time.Second))) },

	"cut it from PostgreSQL":         func(s *stage) { s.mend = s.net.cut(s.siteOf(s.it), s.dbs...) },
	"cut it from everybody":          func(s *stage) { s.mend = s.net.cut(s.siteOf(s.it), s.everybody(s.it)...) },
	"cut it from the other machines": func(s *stage) { s.mend = s.net.cut(s.siteOf(s.it), s.others(s.it)...) },
	"connect it again":               func(s *stage) { s.noteSent(); s.mend() },

	"another machine serves":                        func(s *stage) { s.owner() },
	"it still serves":                               (*stage).stillServes,
	"it becomes a standby, and sent nothing before": (*stage).silentStandby,
	"each part has its machine":                     func(s *stage) { s.parts.whole() },

	"set all clocks 5 s ahead, for a second":    func(s *stage) { s.clocks(func() int { return 5 }) },
	"set all clocks 5 s back, for a second":     func(s *stage) { s.clocks(func() int { return -5 }) },
	"set each clock to and fro, for a second":   func(s *stage) { s.clocks(func() int { return s.rng.IntN(11) - 5 }) },
	"moves and heartbeats go by the new clock":  (*stage).newClock,
	"kill PostgreSQL's standby":                 func(s *stage) { s.standby.Down(s.t) },
	"start PostgreSQL's standby":                func(s *stage) { s.standby.Up(s.t) },
	"kill PostgreSQL's primary":                 func(s *stage) { s.primary.Down(s.t) },
	"restart PostgreSQL's primary":              func(s *stage) { s.primary.Restart(s.t) },
	"cut PostgreSQL's primary from its standby": func(s *stage) { s.mend = s.net.cut(s.dbs[0], s.dbs[1]) },
	"connect PostgreSQL's primary again":        func(s *stage) { s.mend() },
	"promote PostgreSQL's standby": func(s *stage) {
		s.standby.Promote(s.t)
		s.fleet.lost, s.primary, s.standby = s.primary, s.standby, nil
	},
	"make PostgreSQL's standby wait for one of its own": func(s *stage) {
		for _, line := range []string{`ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 (standby)'`,
			`SELECT pg_reload_conf()`} {
			pgtest.Execute(s.t, s.standby.Server(), line)
		}
	},
	"let PostgreSQL's primary wait for no standby":  func(s *stage) { s.primary.AwaitNobody(s.t) },
	"let PostgreSQL's primary wait for its standby": func(s *stage) { s.primary.Await(s.t, s.standby) },
	"give PostgreSQL's primary the line of the manual": func(s *stage) {
		for _, found := range regexp.MustCompile(`-c "(.*?)"`).FindAllStringSubmatch(letOff, -1) {
			pgtest.Execute(s.t, s.primary.Server(), found[1])
		}
	},
	"nothing is accepted for a while": func(s *stage) {
		s.alone(func() {},
			prooftest.Sized(time.Second, time.Second, 7*time.Second))
	},
	"nothing is accepted while the waits for the standby are cancelled": (*stage).cancelWaits,
}

// play plays a scenario.
func (s scenario) play(f *fleet, parts *continent, all map[string]scenario) {
	f.t.Helper()
	on := &stage{fleet: f, parts: parts}
	for i := 0; i < len(s.lines); i++ {
		line := s.lines[i]
		if fault, ok := strings.CutPrefix(line, "fault "); ok {
			var steps []string
			for i+1 < len(s.lines) && strings.HasPrefix(s.lines[i+1], "\t") {
				i++
				steps = append(steps, strings.TrimPrefix(s.lines[i], "\t"))
			}
			f.suffer(fault, func() {
				for _, step := range steps {
					on.step(s.file, step)
				}
			})
		} else if other, ok := strings.CutPrefix(line, "run "); ok {
			all[other].play(f, parts, all)
		} else {
			on.step(s.file, line)
		}
	}
}

// step carries out a step of a scenario.
func (s *stage) step(file, step string) {
	s.t.Helper()
	do := scenarioSteps[step]
	if do == nil {
		s.t.Fatalf("%s: there is no step %q", file, step)
	}
	s.t.Logf("%s: %s", file, step)
	do(s)
}

// playAll plays every scenario of a folder once, or with WAMBLE_SOAK 200 in random order,
// and returns the names of the faults by which a machine is lost.
func playAll(t *testing.T, folder string, f *fleet, parts *continent) (lost []string) {
	t.Helper()
	all := readScenarios(t, folder)
	names := slices.Sorted(maps.Keys(all))
	end, bounded := t.Deadline()
	for i := range prooftest.Sized(len(names), len(names), 200) {
		if bounded && time.Until(end) < time.Minute {
			t.Errorf("the time ends after %d scenarios", i)
			break
		}
		if prooftest.Soaking() {
			i = f.rng.IntN(len(names))
		}
		f.whole()
		all[names[i]].play(f, parts, all)
	}
	for _, s := range all {
		for _, line := range s.lines {
			if fault, ok := strings.CutPrefix(line, "fault "); ok && s.lost {
				lost = append(lost, fault)
				break // what comes after it brings the machine back
			}
		}
	}
	return lost
}

// choose makes a machine the subject of the next steps.
func (s *stage) choose(m *machine) { s.it, s.began = m, time.Now() }

// noteSent records how many packets the machine has sent to players so far.
func (s *stage) noteSent() {
	if s.board != nil {
		s.sent = s.board.said[slices.Index(s.machines, s.it)].Load()
	}
}

func (s *stage) startAgain() {
	s.noteSent()
	if s.parts != nil {
		s.parts.begin(s.it)
		return
	}
	s.it.begin(s.t)
}

func (s *stage) suspend() {
	s.signal(s.it, syscall.SIGSTOP)
	until(s.t, "it sleeps", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.it.cmd.Process.Pid))
		return err == nil && strings.Contains(string(stat), ") T ")
	})
	s.it.asleep = true
}

func (s *stage) resume() {
	s.noteSent()
	s.signal(s.it, syscall.SIGCONT)
	s.it.asleep = false
}

func (s *stage) handOver() {
	var done handoff.Result
	if err := admin.Ask(s.t.Context(), s.it.dir, "handoff", admin.Arguments{}, &done); err != nil {
		s.t.Errorf("the handoff of %s: %v", s.it.name, err)
	}
}

// silentStandby waits until the machine is a standby. It must have sent nothing since it
// came back, because another machine has its place.
func (s *stage) silentStandby() {
	s.t.Helper()
	until(s.t, "it becomes a standby", func() bool { return strings.HasPrefix(s.it.state(s.t), "standby of ") })
	if n := s.board.said[slices.Index(s.machines, s.it)].Load() - s.sent; n > 0 {
		s.t.Errorf("%s sent %d packets though another has its place", s.it.name, n)
	}
}

// stillServes fails the test if another machine serves, unless this one was so busy that
// it was silent for a lease.
func (s *stage) stillServes() {
	s.t.Helper()
	now := s.owner()
	if now == s.it {
		return
	}
	s.t.Logf("%s serves instead of %s", now.name, s.it.name)
	if prooftest.Soaking() || s.silence() < pglog.DefaultLease {
		s.t.Errorf("%s has lost its place", s.it.name)
	}
}

// clocks sets the clocks of all machines, that of the database too, repeatedly for two
// heartbeats: a machine that trusted them would claim another's place in that time.
func (s *stage) clocks(seconds func() int) {
	s.t.Helper()
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		for _, m := range s.machines {
			next, file := filepath.Join(m.dir, "clock.next"), filepath.Join(m.dir, "clock")
			by := time.Duration(seconds()) * time.Second
			if err := errors.Join(os.WriteFile(next, []byte(by.String()), 0o600), os.Rename(next, file)); err != nil {
				s.t.Fatal(err)
			}
			s.signal(m, syscall.SIGUSR1)
		}
		pgtest.Execute(s.t, s.database(), fmt.Sprintf(`UPDATE clock SET shift = '%d s'`, seconds()))
	}
}

// newClock waits until moves and heartbeats go by a clock that was set ahead.
func (s *stage) newClock() {
	until(s.t, "clocks are ahead", func() bool {
		return pgtest.Query[bool](s.t, s.database(), `SELECT least((SELECT max(ended_at) FROM move_runs), (SELECT max(seen_at) FROM nodes))
			> pg_catalog.clock_timestamp() + interval '4 s'`)
	})
}

// alone repeats meanwhile for a time in which the database has no standby: nothing may be
// accepted but what was on its way.
func (s *stage) alone(meanwhile func(), d time.Duration) {
	s.t.Helper()
	before := s.crowd.moves.Load() + int64(len(s.crowd.players))
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		meanwhile()
	}
	if n := s.crowd.moves.Load(); n > before {
		s.t.Errorf("%d moves were accepted without a standby", n-before)
	}
}

// cancelWaits cancels every wait for the standby of the database.
func (s *stage) cancelWaits() {
	cancelled := 0
	s.alone(func() {
		cancelled += pgtest.Query[int](s.t, s.database(),
			`SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)
	}, prooftest.Sized(time.Second, time.Second, 3*time.Second))
	if cancelled == 0 {
		s.t.Error("nobody waited for the standby")
	}
}

// whole gives the database its standby back.
func (f *fleet) whole() {
	if f.standby == nil {
		f.lost.Rejoin(f.t, f.primary)
		f.standby, f.lost = f.lost, nil
	}
}
