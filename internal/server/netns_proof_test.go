//go:build proof && linux

package server

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"wamble/internal/store/postgres/pgtest"
)

// network is sites with an address each, in network namespaces around a router. They end with
// the last process in them and with the test.
type network struct {
	t      testing.TB
	router *site
	sites  int
}

// site is a network namespace.
type site struct {
	file *os.File // what keeps it
	ip   string
}

// newNetwork makes a router.
func newNetwork(t testing.TB) *network {
	t.Helper()
	n := &network{t: t, router: newSite(t)}
	n.must(n.router.within(func() error { return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0) }))
	return n
}

// newSite makes a namespace, in a thread that ends with it.
func newSite(t testing.TB) *site {
	t.Helper()
	p := &site{}
	err := inThread(func() (err error) {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("the test makes network namespaces, as root only may: %w", err)
		}
		p.file, err = os.Open("/proc/thread-self/ns/net")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.file.Close() })
	return p
}

// inThread runs f in a thread of its own, which ends with it.
func inThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		done <- f()
	}()
	return <-done
}

// within runs f in a namespace: sockets that it makes and programs that it starts stay
// there.
func (p *site) within(f func() error) error {
	return inThread(func() error {
		if err := unix.Setns(int(p.file.Fd()), unix.CLONE_NEWNET); err != nil {
			return err
		}
		return f()
	})
}

// wire passes lines to the program ip, in a namespace.
func (p *site) wire(lines ...string) error {
	var out bytes.Buffer
	cmd := exec.Command("ip", "-batch", "-")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(strings.Join(lines, "\n")), &out, &out
	err := p.within(cmd.Start)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return fmt.Errorf("ip: %w: %s", err, &out)
	}
	return nil
}

// add makes a site with a cable to the router.
func (n *network) add() *site {
	n.t.Helper()
	p := newSite(n.t)
	n.sites++
	p.ip = fmt.Sprintf("10.23.%d.2", n.sites)
	cable, gate := fmt.Sprint("cable", n.sites), fmt.Sprintf("10.23.%d.1", n.sites)
	n.must(n.router.wire(fmt.Sprintf("link add name %s type veth peer name eth0 netns /proc/%d/fd/%d", cable,
		os.Getpid(), p.file.Fd()),
		fmt.Sprintf("address add %s/24 dev %s", gate, cable), fmt.Sprintf("link set %s up", cable)))
	n.must(p.wire("link set lo up", "link set eth0 up", fmt.Sprintf("address add %s/24 dev eth0", p.ip),
		"route add default via "+gate))
	return p
}

// cut drops all packets between a site and others, until mend is called.
func (n *network) cut(p *site, others ...*site) (mend func()) {
	n.t.Helper()
	var rules []string
	for _, o := range others {
		rules = append(rules, fmt.Sprintf("from %s to %s blackhole", p.ip, o.ip),
			fmt.Sprintf("from %s to %s blackhole", o.ip, p.ip))
	}
	n.must(n.router.wire(prefixed("rule add ", rules)...))
	return func() {
		n.t.Helper()
		n.must(n.router.wire(prefixed("rule del ", rules)...))
	}
}

func prefixed(prefix string, all []string) (lines []string) {
	for _, s := range all {
		lines = append(lines, prefix+s)
	}
	return lines
}

func (n *network) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

// listen opens a socket for datagrams there.
func (p *site) listen() (c *net.UDPConn, err error) {
	err = p.within(func() error {
		c, err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.ParseIP(p.ip)})
		return err
	})
	return c, err
}

// database returns the place of a PostgreSQL that runs at the site.
func (p *site) database() pgtest.Place { return pgtest.Place{Address: p.ip, Within: p.within} }
