package mesh

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

var testKey = Key{1, 2, 3}

// pair are both ends of a connection over loopback.
func pair(t *testing.T) (dialler, listener net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dialler, err = net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if listener, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []net.Conn{dialler, listener} {
		c.SetDeadline(time.Now().Add(time.Minute))
		t.Cleanup(func() { c.Close() })
	}
	return dialler, listener
}

// shake does the handshake on both ends, and returns what each has learned of the other.
func shake(dialler, listener net.Conn, a, b handshake, to string) (ofA, ofB hello, ka, kb secrets, errA, errB error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		ofA, kb, errB = b.listen(listener)
		if errB != nil {
			listener.Close()
		}
	}()
	ofB, ka, errA = a.dial(dialler, to)
	if errA != nil {
		dialler.Close()
	}
	<-done
	return
}

func TestHandshake(t *testing.T) {
	a := handshake{testKey, "a", [8]byte{1}}
	b := handshake{testKey, "b", [8]byte{2}}
	dialler, listener := pair(t)
	ofA, ofB, ka, kb, errA, errB := shake(dialler, listener, a, b, "b")
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if ofA.from != "a" || ofB.from != "b" || ofA.instance != a.instance || ofB.instance != b.instance {
		t.Errorf("got %+v and %+v", ofA, ofB)
	}
	for _, d := range []struct{ out, in *sealer }{{ka.out, kb.in}, {kb.out, ka.in}} {
		for _, text := range []string{"first", "", "third"} {
			r := recordReader{from: bytes.NewReader(d.out.seal(nil, []byte(text))), sealer: d.in}
			if got, err := r.next(); err != nil || string(got) != text {
				t.Errorf("got %q and %v, want %q", got, err, text)
			}
		}
	}
	one := ka.out.seal(nil, []byte("x"))
	for name, record := range map[string][]byte{
		"reflected":      one,
		"of another key": newSealer(make([]byte, 32)).seal(nil, []byte("x")),
	} {
		r := recordReader{from: bytes.NewReader(record), sealer: &sealer{ka.in.aead, ka.in.count}}
		if _, err := r.next(); !errors.Is(err, ErrRecord) {
			t.Errorf("%s: got %v, want ErrRecord", name, err)
		}
	}
	for i := range one {
		forged := bytes.Clone(one)
		forged[i] ^= 1
		r := recordReader{from: bytes.NewReader(forged), sealer: &sealer{kb.in.aead, kb.in.count}}
		if _, err := r.next(); err == nil {
			t.Errorf("a record whose byte %d was changed is taken", i)
		}
	}
	r := recordReader{from: bytes.NewReader(bytes.Repeat(one, 2)), sealer: kb.in}
	if _, err := r.next(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.next(); !errors.Is(err, ErrRecord) {
		t.Errorf("a record that was said twice: got %v, want ErrRecord", err)
	}
}

// TestUnauthenticated: a peer without the key, or that means another node, is refused, and
// does not pass for a node that was dialled.
func TestUnauthenticated(t *testing.T) {
	a, b := handshake{testKey, "a", [8]byte{1}}, handshake{testKey, "b", [8]byte{2}}
	for name, c := range map[string]struct {
		a, b handshake
		to   string
	}{
		"another key":           {handshake{Key{9}, "a", [8]byte{1}}, b, "b"},
		"another node is meant": {a, b, "c"},
		"its own name":          {handshake{testKey, "b", [8]byte{1}}, b, "b"},
		"no name":               {handshake{testKey, "", [8]byte{1}}, b, "b"},
	} {
		dialler, listener := pair(t)
		_, _, _, _, errA, errB := shake(dialler, listener, c.a, c.b, c.to)
		if !errors.Is(errA, ErrUnauthenticated) || !errors.Is(errB, ErrUnauthenticated) {
			t.Errorf("%s: got %v and %v, want ErrUnauthenticated", name, errA, errB)
		}
	}
	t.Run("mirror", func(t *testing.T) { // it sends back what it receives
		dialler, listener := pair(t)
		go io.Copy(listener, listener)
		if _, _, err := a.dial(dialler, "a"); !errors.Is(err, ErrUnauthenticated) {
			t.Errorf("got %v, want ErrUnauthenticated", err)
		}
	})
}

// TestReplay: the bytes of one handshake open no other connection.
func TestReplay(t *testing.T) {
	a, b := handshake{testKey, "a", [8]byte{1}}, handshake{testKey, "b", [8]byte{2}}
	dialler, listener := pair(t)
	heard := &tap{Conn: listener}
	done := make(chan error, 1)
	go func() { _, _, err := b.listen(heard); done <- err }()
	answered := &tap{Conn: dialler}
	if _, _, err := a.dial(answered, "b"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	dialler, listener = pair(t)
	dialler.Write(heard.read.Bytes())
	if _, _, err := b.listen(listener); !errors.Is(err, ErrUnauthenticated) {
		t.Errorf("the words of whoever dialled, said again: got %v, want ErrUnauthenticated", err)
	}
	dialler, listener = pair(t)
	listener.Write(answered.read.Bytes())
	if _, _, err := a.dial(dialler, "b"); !errors.Is(err, ErrUnauthenticated) {
		t.Errorf("the words of whoever listened, said again: got %v, want ErrUnauthenticated", err)
	}
}

// tap keeps what is read of a connection.
type tap struct {
	net.Conn
	read bytes.Buffer
}

func (c *tap) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.read.Write(b[:n])
	return n, err
}
