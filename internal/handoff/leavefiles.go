package handoff

import (
	"context"
	"errors"
	"os"
	"syscall"

	"wamble/internal/transport"
)

// makeFiles creates the state files while players are served.
func (l *leaving) makeFiles(context.Context) error {
	for _, rt := range l.serve {
		f, err := Create(l.StateDir, rt.Name())
		if err != nil {
			return &ExportError{ExportNotReady, err}
		}
		l.files[rt.Name()] = f
		l.next.States[rt.Name()] = f.Path()
	}
	return nil
}

// writePeerState writes the messages that were not yet sent to other nodes, unless peerState is nil.
func (l *leaving) writePeerState(peerState []byte) error {
	if peerState == nil {
		return nil
	}
	f, err := Create(l.StateDir, peerStateFile)
	if err != nil {
		return &ExportError{ExportNotReady, err}
	}
	l.files[PeerStateEntry], l.next.States[PeerStateEntry] = f, f.Path()
	return f.Write(func(yield func([]byte, error) bool) { yield(peerState, nil) })
}

// leaveSockets duplicates the descriptors that the next image inherits.
func (l *leaving) leaveSockets(context.Context) error {
	self, err := Self()
	if err == nil {
		l.next.Note.Old, err = Detach(self)
	}
	for _, rt := range l.Profiles {
		port := rt.Port()
		err = errors.Join(err, leaveSocket(l.next.Sockets, rt.Name(), port.UDP()))
		if port.Shards()[0] == port {
			err = errors.Join(err, leaveSocket(l.next.Listeners, HTTP(rt.Name()), port.TCP()))
		}
	}
	for name, listener := range l.Listeners {
		err = errors.Join(err, leaveSocket(l.next.Listeners, name, listener))
	}
	if err == nil {
		_, err = l.next.Environ(os.Environ()) // it must fit
	}
	return err
}

func leaveSocket(to map[string]int, name string, c syscall.Conn) error {
	f, err := transport.Duplicate(c)
	if err != nil {
		return err
	}
	to[name], err = Detach(f)
	return err
}
