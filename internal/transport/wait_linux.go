package transport

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// socket is a datagram socket that the poller of the Go runtime does not know.
// The poller is told of everything that happens to its sockets: of each datagram
// that comes, though the reader is at work and looks by itself, and of each that
// has left, though nobody waits for room. Under load a thread would be woken for
// every few of them, to find nothing to do. What the poller knows instead is an
// epoll that holds this socket alone, and becomes readable once (EPOLLONESHOT),
// for a reader that waits.
type socket struct {
	file      *os.File        // blocking: so the poller is not told of it, and each call says MSG_DONTWAIT
	raw       syscall.RawConn // of file
	epoll     *os.File
	epollConn syscall.RawConn // of epoll
	armed     bool            // the epoll is armed, or has fired; used by the reader alone
}

// newSocket takes the socket out of conn, which it closes.
func newSocket(conn *net.UDPConn) (_ *socket, err error) {
	defer conn.Close()
	s := &socket{}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd := -1
	if no := raw.Control(func(old uintptr) { fd, err = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 3) }); no != nil || err != nil {
		return nil, errors.Join(no, err)
	}
	err = unix.SetNonblock(fd, false)
	s.file = os.NewFile(uintptr(fd), "udp")
	if err != nil {
		return nil, err
	}
	if s.raw, err = s.file.SyscallConn(); err != nil {
		return nil, err
	}
	return s, s.openEpoll(fd)
}

// openEpoll makes the epoll of the socket.
func (s *socket) openEpoll(fd int) error {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	err = unix.SetNonblock(epoll, true) // so that the poller takes it
	s.epoll = os.NewFile(uintptr(epoll), "epoll")
	if err != nil {
		return err
	}
	if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLONESHOT}); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	if err := s.epoll.SetReadDeadline(time.Time{}); err != nil {
		return fmt.Errorf("wait for an epoll: %w", err) // the poller has not taken it
	}
	s.epollConn, err = s.epoll.SyscallConn()
	return err
}

// arm makes the epoll fire when a datagram is there, once.
func (s *socket) arm(epoll, fd uintptr) error {
	s.armed = true
	return unix.EpollCtl(int(epoll), unix.EPOLL_CTL_MOD, int(fd), &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT})
}

// disarm takes the event of an armed epoll, if it has fired: only that disarms it.
func (s *socket) disarm(epoll uintptr) {
	if s.armed {
		s.armed = false
		var events [1]unix.EpollEvent
		unix.EpollWait(int(epoll), events[:], 0)
	}
}

// awaitRoom waits until there is room in the send buffer, at most so long.
func (s *socket) awaitRoom(fd uintptr, atMost time.Duration) {
	wait := unix.NsecToTimespec(atMost.Nanoseconds())
	unix.Ppoll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, &wait, nil)
}

// SyscallConn gives access to the descriptor.
func (s *socket) SyscallConn() (syscall.RawConn, error) { return s.raw, nil }

// SetReadDeadline says until when a read waits.
func (s *socket) SetReadDeadline(t time.Time) error { return s.epoll.SetReadDeadline(t) }

// Close ends a read that waits.
func (s *socket) Close() error {
	return errors.Join(closeFile(s.epoll), closeFile(s.file))
}

func closeFile(f *os.File) error {
	if f == nil {
		return nil
	}
	return f.Close()
}

// closedErr is the error of a call on the socket or its epoll as a reader or
// writer of a net.Conn knows it. But for the deadline, the only one is that the
// file is closed; it has no name outside of the standard library.
func closedErr(err error) error {
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return net.ErrClosed
}
