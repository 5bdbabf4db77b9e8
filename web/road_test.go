package web_test

import (
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// road is the way from a browser to a server. It can be lost as a laptop that sleeps or a
// phone that changes its network loses it: open connections are not closed, but carry nothing
// any more, and new ones work.
type road struct {
	url    string
	listen net.Listener
	mu     sync.Mutex
	now    *atomic.Bool // of new connections: whether they are lost
	open   []net.Conn
}

// pave makes a road to the pages of a server.
func pave(t testing.TB, url string) *road {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &road{url: "http://" + l.Addr().String(), listen: l, now: new(atomic.Bool)}
	var all sync.WaitGroup
	all.Go(func() { r.serve(strings.TrimPrefix(url, "http://"), &all) })
	t.Cleanup(func() {
		l.Close()
		r.mu.Lock()
		for _, c := range r.open {
			c.Close()
		}
		r.mu.Unlock()
		all.Wait()
	})
	return r
}

func (r *road) serve(to string, all *sync.WaitGroup) {
	for {
		here, err := r.listen.Accept()
		if err != nil {
			return
		}
		there, err := net.Dial("tcp", to)
		if err != nil {
			here.Close()
			continue
		}
		r.mu.Lock()
		r.open = append(r.open, here, there)
		lost := r.now
		r.mu.Unlock()
		all.Go(func() { carry(here, there, lost) })
		all.Go(func() { carry(there, here, lost) })
	}
}

// carry copies data, and drops it once the road is lost.
func carry(from, to net.Conn, lost *atomic.Bool) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if !lost.Load() {
			to.Write(buf[:n])
			if err != nil {
				to.Close()
			}
		}
		if err != nil {
			return
		}
	}
}

// lose makes all open connections silent.
func (r *road) lose() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now.Store(true)
	r.now = new(atomic.Bool)
}
