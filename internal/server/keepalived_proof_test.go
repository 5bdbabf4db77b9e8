//go:build proof && linux

package server

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"wamble/internal/prooftest"
)

// TestKeepalived: players who know one address only, that of the manual's example for
// keepalived, play on when the machine that has it is killed, is cut off, and stops. The machines listen on all
// addresses, and answers come from that one.
func TestKeepalived(t *testing.T) {
	prooftest.Needs(t, "root and keepalived")
	const address = "192.0.2.10"
	f := newRealm(t, 2, 8888)
	f.net.must(f.net.router.wire("link add name lan type bridge", "address add 192.0.2.1/24 dev lan",
		"link set lan up"))
	example := manualBlock(t, "global_defs {")
	if !strings.Contains(example, address+"/24") || !strings.Contains(example, "interface eth0\n") {
		t.Fatalf("the example is not the one that is known here:\n%s", example)
	}
	for i, m := range f.machines {
		site, port := f.sites[i], fmt.Sprint("lan", i+1)
		f.net.must(f.net.router.wire(fmt.Sprintf("link add name %s type veth peer name eth1 netns /proc/%d/fd/%d", port,
			os.Getpid(), site.file.Fd()),
			fmt.Sprintf("link set %s master lan up", port)))
		f.net.must(site.wire("link set eth1 up", fmt.Sprintf("address add 192.0.2.%d/24 dev eth1", 11+i)))
		m.text = strings.NewReplacer(fmt.Sprintf("(def listen-address %q)", m.ip), "",
			`(def admin-listen "127.0.0.1:0")`, `(def admin-listen "127.0.0.1:8887")`).Replace(m.text)
		m.begin(t)
		keepAlive(t, site, strings.Replace(example, "interface eth0\n", "interface eth1\n", 1))
	}
	f.board = newSwitchboard(t, f.players, netip.MustParseAddrPort("127.0.0.1:0"),
		netip.AddrPortFrom(netip.MustParseAddr(address), 8888))
	first := f.owner()
	f.crowd = gather(t, f.board.address(), 4)
	f.crowd.play()
	f.moved()
	follow := func(fault string, other *machine, do func()) {
		t.Helper()
		began, ready := time.Now(), time.Time{}
		f.suffer(fault, func() {
			do()
			until(t, other.name+" serves", func() bool { return other.state(t) == "serves" })
			ready = time.Now()
		})
		t.Logf("measured: %s: the other server was ready after %v, everybody moved again %v later", fault,
			ready.Sub(began).Round(time.Millisecond), time.Since(ready).Round(time.Millisecond))
	}
	second := f.machines[1-slices.Index(f.machines, first)]
	waits := func(m *machine) {
		t.Helper()
		until(t, m.name+" waits", func() bool { return strings.HasPrefix(m.state(t), "standby of ") })
	}
	waits(second)
	follow("kill", second, first.kill)
	first.begin(t)
	waits(first)
	port := fmt.Sprint("link set lan", slices.Index(f.machines, second)+1)
	var mend func()
	follow("unplugged", first, func() {
		mend = f.net.cut(f.siteOf(second), append(f.others(second), f.dbs...)...)
		f.net.must(f.net.router.wire(port + " nomaster"))
	})
	f.net.must(f.net.router.wire(port + " master lan"))
	mend()
	waits(second)
	follow("stop", second, first.child.end)
	f.crowd.finish()
	second.child.end()
	f.crowd.verify(t, openPostgres(t, f.database()))
}

// keepAlive runs keepalived at a site until the test ends.
func keepAlive(t testing.TB, site *site, text string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "keepalived.conf")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd := exec.Command("/usr/sbin/keepalived", "--vrrp", "--dont-fork", "--log-console", "--use-file", file,
		"--pid", filepath.Join(dir, "pid"), "--vrrp_pid", filepath.Join(dir, "vrrp"))
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := site.within(cmd.Start); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
		if t.Failed() {
			t.Logf("keepalived:\n%s", &said)
		}
	})
}

// manualBlock returns the block of the manual for hosts that begins with a line.
func manualBlock(t testing.TB, first string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "   "+first+"\n")
	block, _, found := strings.Cut(rest, "   ```\n")
	if !found {
		t.Fatalf("the manual has no block that begins with %q", first)
	}
	lines := strings.Split(first+"\n"+block, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, "   ")
	}
	return strings.Join(lines, "\n")
}
