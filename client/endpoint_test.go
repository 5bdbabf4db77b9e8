package client

import (
	"net/url"
	"strings"
	"testing"
)

// TestHosts: a client tries the machines that the server has named in turn, on the port that
// it dialed, and ignores names that are no host.
func TestHosts(t *testing.T) {
	u, err := url.Parse("udp://a.example.org:8888")
	if err != nil {
		t.Fatal(err)
	}
	c := &Client{url: u}
	round := func(n int) string {
		var all []string
		for range n {
			all = append(all, c.target().String())
			c.nextHost()
		}
		return strings.Join(all, " ")
	}
	is := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
	is(round(2), "udp://a.example.org:8888 udp://a.example.org:8888")
	c.learnHosts("a.example.org 192.0.2.2 2001:db8::3 evil@192.0.2.9 192.0.2.9:1 x/y")
	is(round(4), "udp://a.example.org:8888 udp://192.0.2.2:8888 udp://[2001:db8::3]:8888 udp://a.example.org:8888")
	c.learnHosts("192.0.2.2 a.example.org") // it stays where it is
	is(round(2), "udp://192.0.2.2:8888 udp://a.example.org:8888")
	c.learnHosts(strings.Repeat("192.0.2.2 ", 30))
	if len(c.hosts) > maxHosts {
		t.Errorf("%d hosts are remembered", len(c.hosts))
	}
}
