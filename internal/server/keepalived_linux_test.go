package server

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestKeepalived: players who know one address only, that of the example for keepalived
// in the manual, play on when the machine that has it is killed, and when the other one
// stops.
func TestKeepalived(t *testing.T) {
	t.Parallel()
	const address = "192.0.2.10"
	f := newRealm(t, 2, 8888)
	f.net.must(f.net.router.wire("link add name lan type bridge", "address add 192.0.2.1/24 dev lan", "link set lan up"))
	example := manualBlock(t, "global_defs {")
	if !strings.Contains(example, address+"/24") || !strings.Contains(example, "interface eth0\n") {
		t.Fatalf("the example is not the one that is known here:\n%s", example)
	}
	for i, m := range f.machines {
		site, port := f.sites[i], fmt.Sprint("lan", i+1)
		f.net.must(f.net.router.wire(fmt.Sprintf("link add name %s type veth peer name eth1 netns /proc/%d/fd/%d", port, os.Getpid(), site.file.Fd()),
			fmt.Sprintf("link set %s master lan up", port)))
		f.net.must(site.wire("link set eth1 up", fmt.Sprintf("address add 192.0.2.%d/24 dev eth1", 11+i)))
		m.text = strings.Replace(m.text, fmt.Sprintf("(def listen-address %q)", m.ip), "", 1)
		m.begin(t)
		keepAlive(t, site, strings.Replace(example, "interface eth0\n", "interface eth1\n", 1))
	}
	f.board = newSwitchboard(t, f.players, netip.MustParseAddrPort("127.0.0.1:0"), netip.AddrPortFrom(netip.MustParseAddr(address), 8888))
	first := f.owner()
	f.crowd = gather(t, f.board.address(), 4)
	f.crowd.play()
	f.moved()
	f.suffer("kill", first.kill)
	second := f.owner()
	first.begin(t)
	until(t, "the other one waits", func() bool { return first.state(t) == "standby of "+second.name })
	f.suffer("stop", func() { second.child.end() })
	if f.owner() != first {
		t.Error("the machine that was killed serves nobody")
	}
	f.crowd.finish()
	first.child.end()
	f.crowd.verify(t, openPostgres(t, f.database()))
	t.Logf("measured: everybody moved again %v after a kill and %v after a stop", f.longest["kill"], f.longest["stop"])
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
