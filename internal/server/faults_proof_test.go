//go:build proof && linux

package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"wamble/internal/prooftest"
	"wamble/internal/store/postgres/pglog"
	"wamble/internal/store/postgres/pgtest"
)

// fault is a kind of fault that a fleet suffers.
type fault struct {
	name string
	row  string // what the table of the manual calls it
	lost bool   // a machine is lost by it
	make func(*fleet)
}

// faults are all kinds. The last two leave the database without a standby.
var faults = []fault{
	{"kill", "the server is killed, or its machine dies", true, (*fleet).kill},
	{"pause", "the machine sleeps for longer than 2 s, or the process is stopped", true, (*fleet).pause},
	{"cut from PostgreSQL", "the machine is cut from PostgreSQL, or from everybody", true, (*fleet).cut},
	{"unplugged", "the machine is cut from PostgreSQL, or from everybody", true, (*fleet).unplug},
	{"stop", "the server is stopped in order", true, (*fleet).stop},
	{"cut from the other machines", "the machine is cut from the other machines, but not from PostgreSQL and the players", false, (*fleet).isolate},
	{"clocks 5 s ahead", clocksAreSet, false, (*fleet).ahead},
	{"clocks 5 s behind", clocksAreSet, false, (*fleet).behind},
	{"clocks stepping", clocksAreSet, false, (*fleet).step},
	{"waits for the standby cancelled", "PostgreSQL's standby is cut off for 3 s, and somebody cancels the waits for it", false, (*fleet).cancel},
	{"PostgreSQL's standby back", "PostgreSQL's standby dies", false, (*fleet).lone},
	{"PostgreSQL's standby taken out", "PostgreSQL's standby dies", false, (*fleet).dismiss},
	{"restart of PostgreSQL", "PostgreSQL is restarted", false, (*fleet).restart},
	{"PostgreSQL's promoted standby let off", "PostgreSQL's primary dies, and its promoted standby waits for one of its own (step 1)", false, (*fleet).inherit},
	{"PostgreSQL's primary killed", "PostgreSQL's primary dies, its standby is promoted", false, (*fleet).promote},
}

const clocksAreSet = "clocks are set by up to 5 s, that of the database too"

// TestFailureTable: the rows of the manual's table are the faults that TestFleet makes, and
// the loss of both databases, after which TestSharedDump goes on from a backup.
func TestFailureTable(t *testing.T) {
	prooftest.Needs(t, "the faults of TestFleet")
	want := []string{"both machines of PostgreSQL are lost"}
	for _, k := range faults {
		want = append(want, k.row)
	}
	slices.Sort(want)
	want = slices.Compact(want)
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n| fault | what a player sees |")
	table, _, _ = strings.Cut(table, "\n\n")
	var got []string
	for _, line := range strings.Split(table, "\n")[2:] {
		got = append(got, strings.Trim(strings.Split(line, "|")[1], " "))
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the manual has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// silent lets a machine come back whose place another has: it becomes a standby, and
// says nothing before.
func (f *fleet) silent(m *machine, comeBack func()) {
	f.t.Helper()
	said := &f.board.said[slices.Index(f.machines, m)]
	before := said.Load()
	comeBack()
	until(f.t, "it becomes a standby", func() bool { return strings.HasPrefix(m.state(f.t), "standby of ") })
	if n := said.Load() - before; n > 0 {
		f.t.Errorf("%s sent %d packets though another has its place", m.name, n)
	}
}

// back starts a machine again, and waits until it is a standby.
func (f *fleet) back(m *machine) {
	f.t.Helper()
	f.silent(m, func() { m.begin(f.t) })
}

// kill kills the owner; it comes back as a standby.
func (f *fleet) kill() {
	m := f.owner()
	f.suffer("kill", m.kill)
	f.back(m)
}

// sleep stops the process of a machine, and returns what wakes it up.
func (f *fleet) sleep(m *machine) (wake func()) {
	f.t.Helper()
	f.suffer("pause", func() {
		f.signal(m, syscall.SIGSTOP)
		until(f.t, "it sleeps", func() bool {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", m.cmd.Process.Pid))
			return err == nil && strings.Contains(string(stat), ") T ")
		})
		m.asleep = true
	})
	return func() {
		f.signal(m, syscall.SIGCONT)
		m.asleep = false
	}
}

// pause stops the owner's process for 10 s: it misses that its lease ends, that clocks
// are set, and that its successor stops.
func (f *fleet) pause() {
	m, began := f.owner(), time.Now()
	wake := f.sleep(m)
	f.isolate()
	f.ahead()
	f.behind()
	f.step()
	f.stop()
	time.Sleep(time.Until(began.Add(10 * time.Second)))
	f.owner() // else it may be the one that has the right to speak
	f.silent(m, wake)
}

// sever cuts a machine from sites, and returns what connects it again.
func (f *fleet) sever(fault string, m *machine, from ...*site) (mend func()) {
	f.t.Helper()
	f.suffer(fault, func() { mend = f.net.cut(f.siteOf(m), from...) })
	return mend
}

// cut cuts the owner from its database.
func (f *fleet) cut() {
	m := f.owner()
	f.silent(m, f.sever("cut from PostgreSQL", m, f.dbs...))
}

// unplug cuts the owner from everybody.
func (f *fleet) unplug() {
	m := f.owner()
	f.silent(m, f.sever("unplugged", m, f.everybody(m)...))
}

// harmless is suffer for a fault by which nobody loses his place, unless the machine is so
// busy that the owner says nothing for a lease.
func (f *fleet) harmless(fault string, do func()) {
	f.t.Helper()
	m := f.owner()
	f.suffer(fault, do)
	now := f.owner()
	if now == m {
		return
	}
	f.t.Logf("%s: %s serves instead of %s", fault, now.name, m.name)
	if prooftest.Soaking() || f.silence() < pglog.DefaultLease {
		f.t.Errorf("%s: %s has lost its place", fault, m.name)
	}
}

// isolate cuts the owner from the other machines, for longer than a lease.
func (f *fleet) isolate() {
	m := f.owner()
	var mend func()
	f.harmless("cut from the other machines", func() {
		mend = f.net.cut(f.siteOf(m), f.others(m)...)
		time.Sleep(pglog.DefaultLease + 200*time.Millisecond)
	})
	mend()
}

// stop stops the owner in order; it comes back as a standby.
func (f *fleet) stop() {
	m := f.owner()
	f.suffer("stop", m.child.end)
	f.back(m)
}

// ahead sets all clocks ahead, and waits until moves and signs of life go by them.
func (f *fleet) ahead() {
	f.clocks("clocks 5 s ahead", func() time.Duration { return 5 * time.Second })
	until(f.t, "clocks are ahead", func() bool {
		return pgtest.Query[bool](f.t, f.database(), `SELECT least((SELECT max(ended_at) FROM move_runs), (SELECT max(seen_at) FROM nodes))
			> pg_catalog.clock_timestamp() + interval '4 s'`)
	})
}

// behind sets all clocks back.
func (f *fleet) behind() {
	f.clocks("clocks 5 s behind", func() time.Duration { return -5 * time.Second })
}

// step sets each clock to and fro.
func (f *fleet) step() {
	f.clocks("clocks stepping", func() time.Duration { return time.Duration(f.rng.IntN(11)-5) * time.Second })
}

// clocks sets the clocks of all machines, that of the database too, again and again for
// two beats: whoever believes them claims in that time.
func (f *fleet) clocks(fault string, by func() time.Duration) {
	f.t.Helper()
	f.harmless(fault, func() {
		for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			for _, m := range f.machines {
				next, file := filepath.Join(m.dir, "clock.next"), filepath.Join(m.dir, "clock")
				if err := errors.Join(os.WriteFile(next, []byte(by().String()), 0o600), os.Rename(next, file)); err != nil {
					f.t.Fatal(err)
				}
				f.signal(m, syscall.SIGUSR1)
			}
			pgtest.Execute(f.t, f.database(), fmt.Sprintf(`UPDATE clock SET shift = '%d s'`, int(by().Seconds())))
		}
	})
}

// restart restarts the database.
func (f *fleet) restart() {
	f.suffer("restart of PostgreSQL", func() {
		began := time.Now()
		f.primary.Restart(f.t)
		f.t.Logf("PostgreSQL itself was away for %v", time.Since(began).Round(time.Millisecond))
	})
}

// alone is what the database does while it has no standby: nothing is acknowledged.
func (f *fleet) alone(meanwhile func(), d time.Duration) {
	before := f.crowd.moves.Load() + int64(len(f.crowd.players)) // those whose answers were on their way
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		meanwhile()
	}
	if n := f.crowd.moves.Load(); n > before {
		f.t.Errorf("%d moves were accepted without a standby", n-before)
	}
}

// lone kills the standby of the database for a while.
func (f *fleet) lone() {
	f.standby.Down(f.t)
	f.alone(func() {}, prooftest.Sized(time.Second, time.Second, 7*time.Second))
	f.suffer("PostgreSQL's standby back", func() { f.standby.Up(f.t) })
}

// dismiss kills the standby of the database, which waits for it no more when somebody
// says so. Then the standby comes back.
func (f *fleet) dismiss() {
	f.standby.Down(f.t)
	f.alone(func() {}, time.Second)
	f.suffer("PostgreSQL's standby taken out", func() { f.primary.AwaitNobody(f.t) })
	f.standby.Up(f.t)
	f.primary.Await(f.t, f.standby)
}

// cancel cuts the standby of the database off, and cancels every wait for it.
func (f *fleet) cancel() {
	mend := f.net.cut(f.dbs[0], f.dbs[1])
	cancelled := 0
	f.alone(func() {
		cancelled += pgtest.Query[int](f.t, f.database(), `SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)
	}, prooftest.Sized(time.Second, time.Second, 3*time.Second))
	if cancelled == 0 {
		f.t.Error("nobody waited for the standby")
	}
	f.suffer("waits for the standby cancelled", mend)
}

// promote kills the primary of the database, and makes the standby take its place.
func (f *fleet) promote() {
	f.suffer("PostgreSQL's primary killed", func() {
		f.primary.Down(f.t)
		f.standby.Promote(f.t)
	})
	f.lost, f.primary, f.standby = f.primary, f.standby, nil
}

// letOff is the line of the manual which makes a PostgreSQL wait for no standby.
const letOff = `sudo -u postgres psql -c "ALTER SYSTEM SET synchronous_standby_names = ''" -c "SELECT pg_reload_conf()"`

// inherit is promote with a standby that was not told to wait for nobody: it waits for
// one, as the primary did, until it is given that line.
func (f *fleet) inherit() {
	server := f.standby.Server()
	for _, line := range []string{`ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 (standby)'`, `SELECT pg_reload_conf()`} {
		pgtest.Execute(f.t, server, line)
	}
	f.primary.Down(f.t)
	f.standby.Promote(f.t)
	f.alone(func() {}, time.Second)
	f.suffer("PostgreSQL's promoted standby let off", func() {
		for _, found := range regexp.MustCompile(`-c "(.*?)"`).FindAllStringSubmatch(manualBlock(f.t, letOff), -1) {
			pgtest.Execute(f.t, server, found[1])
		}
	})
	f.lost, f.primary, f.standby = f.primary, f.standby, nil
}

// whole gives the database its standby back.
func (f *fleet) whole() {
	if f.standby == nil {
		f.lost.Rejoin(f.t, f.primary)
		f.standby, f.lost = f.lost, nil
	}
}
