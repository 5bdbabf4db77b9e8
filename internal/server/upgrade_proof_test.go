//go:build proof

package server

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"wamble/internal/admin"
	"wamble/internal/prooftest"
	"wamble/internal/store/postgres/pgtest"
)

const (
	// commitBefore is the release whose servers hand over to this one's, and which serve one world with them.
	commitBefore = "HEAD^"
	// commitOtherHandoff is the last commit whose handoffs have protocol 1: this release refuses them, and reads its
	// restart files.
	commitOtherHandoff = "9f2f9b40^"
)

// release is a binary that was built from a commit.
type release struct{ binary, commit string }

// build builds the binary of a commit in a directory of its own, with the web pages of this one.
func build(t *testing.T, commit string) release {
	t.Helper()
	dir := t.TempDir()
	run := func(in, name string, args ...string) string {
		t.Helper()
		c := exec.Command(name, args...)
		c.Dir, c.Env = in, append(os.Environ(), "CGO_ENABLED=0")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if commit != "" {
		source := filepath.Join(dir, "source")
		run(root, "git", "worktree", "add", "--detach", source, commit)
		t.Cleanup(func() { run(root, "git", "worktree", "remove", "--force", source) })
		run(root, "cp", "-r", filepath.Join(root, "web/dist"), filepath.Join(source, "web"))
		root = source
	}
	binary := filepath.Join(dir, "wamble")
	run(root, "go", "build", "-trimpath", "-o", binary, "./cmd/wamble")
	return release{binary, run(root, "git", "rev-parse", "--short", "HEAD")}
}

// machineOf is a server of some release, on a directory and ports of its own.
type machineOf struct {
	*image
	port uint16
}

func newMachine(t *testing.T, text string) *machineOf {
	port := freePorts(t, 1)[0]
	return &machineOf{newImage(t, fmt.Sprintf("%s(def port %d)\n", strings.Replace(text, "(def port 0)", "", 1), port)), port}
}

func (m *machineOf) address() string { return fmt.Sprintf("udp://127.0.0.1:%d", m.port) }

// start starts a release and waits until it serves.
func (m *machineOf) start(r release) {
	m.t.Helper()
	m.cmd = exec.Command(r.binary, "serve", "--config", filepath.Join(m.dir, "test.conf"), "--data", m.dir)
	m.cmd.Stdout, m.cmd.Stderr = m.log, m.log
	if err := m.cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.serves()
}

func (m *machineOf) serves() {
	m.t.Helper()
	until(m.t, "it serves", func() bool {
		var s admin.Status
		return admin.Ask(m.t.Context(), m.dir, "status", nil, &s) == nil && len(s.Profiles) == 1 && s.Profiles[0].Ready
	})
}

// runs fails the test if the process that was started does not run a binary.
func (m *machineOf) runs(r release) {
	m.t.Helper()
	if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", m.cmd.Process.Pid)); err != nil || exe != r.binary {
		m.t.Errorf("the process runs %s, %v, want %s of %s", exe, err, r.binary, r.commit)
	}
}

// stop stops the server in order.
func (m *machineOf) stop() {
	m.t.Helper()
	if err := m.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		m.t.Fatal(err)
	}
	if err := m.cmd.Wait(); err != nil {
		m.t.Errorf("the server ended with %v", err)
	}
}

// TestUpgrade: while people play, a server is upgraded from the release before by a handoff, and from the last one of
// another protocol by a restart; then it goes back to the one before, is killed, and is upgraded again.
func TestUpgrade(t *testing.T) {
	prooftest.Needs(t, "git with the history, and a minute to build")
	now, before, older := build(t, ""), build(t, commitBefore), build(t, commitOtherHandoff)
	m := newMachine(t, conf(""))
	m.start(older)
	c := gather(t, m.address(), 16)
	tokens := map[*player]string{}
	for _, p := range c.players {
		tokens[p] = p.c.Token().String()
	}
	c.play()
	moved := func() { t.Helper(); c.more(t, 300) }
	moved()
	if _, err := m.handOff(now.binary); err == nil || !strings.Contains(err.Error(), "stop and start the server instead") {
		t.Errorf("a handoff from %s: got %v", older.commit, err)
	}
	moved()
	m.kill() // the restart file is all that it leaves in memory's stead
	m.start(now)
	moved()
	m.stop()
	m.start(before)
	moved()
	if _, err := m.handOff(now.binary); err != nil {
		t.Errorf("a handoff from %s: %v", before.commit, err)
	}
	m.runs(now)
	moved()
	if _, err := m.handOff(before.binary); err != nil {
		t.Errorf("a handoff to %s: %v", before.commit, err)
	}
	m.runs(before)
	moved()
	m.kill()
	m.start(now)
	moved()
	c.finish()
	for _, p := range c.players {
		if p.c.Token().String() != tokens[p] {
			t.Error("a player has another token")
		}
	}
	m.stop()
	c.verify(t, openSQLite(t, m.dir))
}

// TestUpgradeRolling: two machines of the release before serve one world, and one after the other is upgraded, by a
// handoff and by a restart, while people play on both.
func TestUpgradeRolling(t *testing.T) {
	prooftest.Needs(t, "git with the history, and a minute to build")
	now, before := build(t, ""), build(t, commitBefore)
	db := pgtest.Empty(t)
	machines := []*machineOf{newMachine(t, clusterConf(db, "a")), newMachine(t, clusterConf(db, "b"))}
	a, b := machines[0], machines[1]
	a.start(before)
	b.start(before)
	untilOwned(t, 2, a.dir, b.dir)
	c := gather(t, a.address(), 8)
	for _, p := range gather(t, b.address(), 8).players {
		p.crowd, p.number = c, len(c.players)
		c.players = append(c.players, p)
	}
	c.play()
	moved := func() { t.Helper(); (&fleet{t: t, crowd: c}).moved() }
	moved()
	if _, err := a.handOff(now.binary); err != nil {
		t.Errorf("a handoff from %s: %v", before.commit, err)
	}
	a.runs(now)
	moved()
	untilOwned(t, 2, a.dir, b.dir)
	b.stop() // its players know no other address
	c.more(t, 100)
	b.start(now)
	untilOwned(t, 2, a.dir, b.dir)
	moved()
	a.stop()
	c.more(t, 100)
	a.start(before)
	untilOwned(t, 2, a.dir, b.dir)
	moved()
	a.kill()
	untilOwned(t, 4, b.dir)
	c.more(t, 100)
	a.start(now)
	untilOwned(t, 2, a.dir, b.dir)
	moved()
	c.finish()
	a.stop()
	b.stop()
	c.verify(t, openPostgres(t, db))
}
