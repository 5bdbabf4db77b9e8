package pgtest

import (
	"bytes"
	"fmt"
	"net"
	"sync"
	"testing"

	"wamble/internal/store/postgres"
)

// Moment is when a Proxy cuts a connection.
type Moment int

// The moments around a COMMIT.
const (
	Never         Moment = iota
	BeforeCommit         // the server never receives it
	AfterCommit          // the server has executed it, the store gets no answer
	InsteadCommit        // nothing is cut: the server gets ROLLBACK instead and answers so
)

// Proxy forwards connections to a server.
type Proxy struct {
	listener net.Listener
	network  string
	server   string

	mu    sync.Mutex
	still chan struct{} // closed when traffic resumes; nil if it is not stopped
	cut   Moment
	text  []byte // part of a statement whose next execution is not answered; nil if none
	cuts  int
	conns map[net.Conn]bool
}

// NewProxy starts a proxy to the server of o, which ends with the test, and returns it with the
// options for it.
func NewProxy(t testing.TB, o postgres.Options) (*Proxy, postgres.Options) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: l, network: "tcp", server: fmt.Sprintf("%s:%d", o.Host, o.Port), conns: map[net.Conn]bool{}}
	if len(o.Host) > 0 && o.Host[0] == '/' {
		p.network, p.server = "unix", fmt.Sprintf("%s/.s.PGSQL.%d", o.Host, o.Port)
	}
	var done sync.WaitGroup
	done.Go(func() { p.accept(&done) })
	t.Cleanup(func() {
		_ = l.Close()
		p.CutAll()
		done.Wait()
	})
	o.Host, o.Port, o.SSLMode = "127.0.0.1", l.Addr().(*net.TCPAddr).Port, "disable"
	return p, o
}

// Cut makes the proxy end the connection of the next COMMIT of a write at the moment m, or
// replace the COMMIT.
func (p *Proxy) Cut(m Moment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = m
}

// CutAfter makes the proxy end the connection of the next prepared statement that contains
// text, after the server has executed it.
func (p *Proxy) CutAfter(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = []byte(text)
}

// Cuts returns how many connections were cut, and COMMITs replaced.
func (p *Proxy) Cuts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts
}

// Close closes all connections, and accepts no more.
func (p *Proxy) Close() {
	_ = p.listener.Close()
	p.CutAll()
}

// Still stops all traffic, like a cut network, until the returned function is called: it closes
// all connections that existed.
func (p *Proxy) Still() (pass func()) {
	still := make(chan struct{})
	p.mu.Lock()
	p.still = still
	p.mu.Unlock()
	return func() {
		p.mu.Lock()
		p.still = nil
		p.mu.Unlock()
		p.CutAll()
		close(still)
	}
}

// await blocks while the traffic is stopped.
func (p *Proxy) await() {
	p.mu.Lock()
	still := p.still
	p.mu.Unlock()
	if still != nil {
		<-still
	}
}

// CutAll closes all connections.
func (p *Proxy) CutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

func (p *Proxy) accept(done *sync.WaitGroup) {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(p.network, p.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = true, true
		p.mu.Unlock()
		mute := make(chan struct{})
		done.Go(func() { p.answer(server, client, mute) })
		done.Go(func() { p.ask(client, server, mute) })
	}
}

// commit is the message with which a store commits a batch, and rollback the answer of a server
// when the transaction has failed.
var (
	commit   = []byte("Q\x00\x00\x00\x0bCOMMIT\x00")
	rollback = []byte("Q\x00\x00\x00\x0dROLLBACK\x00")
)

// ask forwards what the store sends.
func (p *Proxy) ask(client, server net.Conn, mute chan<- struct{}) {
	defer p.close(client, server)
	defer close(mute)
	buf := make([]byte, 64<<10)
	prepared := false // the next message executes the statement of CutAfter
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		sent := buf[:n]
		p.await()
		moment := p.moment(sent, prepared)
		prepared = p.prepares(sent)
		switch moment {
		case BeforeCommit:
			return
		case AfterCommit:
			// From here on answers are not forwarded.
			mute <- struct{}{}
			if _, err := server.Write(sent); err != nil {
				return
			}
			mute <- struct{}{} // received when the server has answered
			return
		case InsteadCommit:
			sent = bytes.Replace(sent, commit, rollback, 1)
		}
		if _, err := server.Write(sent); err != nil {
			return
		}
	}
}

// prepares reports, once, whether these bytes prepare the statement of CutAfter.
func (p *Proxy) prepares(sent []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.text == nil || !bytes.Contains(sent, p.text) {
		return false
	}
	p.text = nil
	return true
}

// moment reports, once, the moment to cut if these bytes are the ones to cut at.
func (p *Proxy) moment(sent []byte, prepared bool) Moment {
	p.mu.Lock()
	defer p.mu.Unlock()
	if prepared {
		p.cuts++
		return AfterCommit
	}
	if p.cut == Never || !bytes.Contains(sent, commit) {
		return Never
	}
	m := p.cut
	p.cut = Never
	p.cuts++
	return m
}

// answer forwards what the server sends, until it is muted.
func (p *Proxy) answer(server, client net.Conn, mute <-chan struct{}) {
	defer p.close(client, server)
	type read struct {
		data []byte
		err  error
	}
	reads := make(chan read)
	quit := make(chan struct{})
	defer close(quit)
	go func() {
		for {
			buf := make([]byte, 64<<10)
			n, err := server.Read(buf)
			select {
			case reads <- read{buf[:n], err}:
			case <-quit:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	for {
		select {
		case _, ok := <-mute:
			if ok {
				<-reads // the answer to COMMIT, which is not forwarded
				<-mute
			}
			return
		case r := <-reads:
			p.await()
			if _, err := client.Write(r.data); err != nil || r.err != nil {
				return
			}
		}
	}
}

func (p *Proxy) close(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
		delete(p.conns, c)
	}
}
