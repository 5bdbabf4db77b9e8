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

// socket is a datagram socket that is not registered with the Go runtime's poller. The poller
// would report each datagram that arrives while the reader is busy, and each one that is sent:
// under load a thread would be woken for every few datagrams without any work to do. The poller
// instead has an epoll that contains only this socket and becomes readable once (EPOLLONESHOT),
// for a reader that waits.
type socket struct {
	file      *os.File        // in blocking mode, so that the poller does not register it; each call sets MSG_DONTWAIT
	raw       syscall.RawConn // of file
	epoll     *os.File
	epollConn syscall.RawConn // of epoll
	armed     bool            // the epoll is armed or has fired; used only by the reader
}

// newSocket duplicates the descriptor of conn, and closes conn.
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
	if no := raw.Control(func(old uintptr) { fd, err = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 3) }); no != nil ||
		err != nil {
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

// openEpoll creates the epoll of the socket.
func (s *socket) openEpoll(fd int) error {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	err = unix.SetNonblock(epoll, true) // so that the poller registers it
	s.epoll = os.NewFile(uintptr(epoll), "epoll")
	if err != nil {
		return err
	}
	if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLONESHOT}); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	if err := s.epoll.SetReadDeadline(time.Time{}); err != nil {
		return fmt.Errorf("wait for an epoll: %w", err) // the poller did not register it
	}
	s.epollConn, err = s.epoll.SyscallConn()
	return err
}

// arm makes the epoll fire once when a datagram is there.
func (s *socket) arm(epoll, fd uintptr) error {
	s.armed = true
	return unix.EpollCtl(int(epoll), unix.EPOLL_CTL_MOD, int(fd),
		&unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT})
}

// disarm consumes the event of an armed epoll, if it has fired.
func (s *socket) disarm(epoll uintptr) {
	if s.armed {
		s.armed = false
		var events [1]unix.EpollEvent
		unix.EpollWait(int(epoll), events[:], 0)
	}
}

// awaitRoom waits until the send buffer has room, at most atMost.
func (s *socket) awaitRoom(fd uintptr, atMost time.Duration) {
	wait := unix.NsecToTimespec(atMost.Nanoseconds())
	unix.Ppoll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, &wait, nil)
}

// SyscallConn gives access to the descriptor.
func (s *socket) SyscallConn() (syscall.RawConn, error) { return s.raw, nil }

// SetReadDeadline sets the time until which a read waits.
func (s *socket) SetReadDeadline(t time.Time) error { return s.epoll.SetReadDeadline(t) }

// Close closes the socket and ends a waiting read.
func (s *socket) Close() error {
	return errors.Join(closeFile(s.epoll), closeFile(s.file))
}

func closeFile(f *os.File) error {
	if f == nil {
		return nil
	}
	return f.Close()
}

// closedErr returns nil and deadline errors unchanged, and any other error of the descriptor or
// its epoll as net.ErrClosed: the os package reports a closed file with an error that it does
// not export.
func closedErr(err error) error {
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return net.ErrClosed
}
