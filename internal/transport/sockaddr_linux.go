package transport

import (
	"encoding/binary"
	"net/netip"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// addrPort reads a socket address of either family. IPv4-mapped IPv6 is returned as IPv4. The
// zone of a link-local address is the number of its interface.
func addrPort(sa *unix.RawSockaddrInet6) netip.AddrPort {
	switch sa.Family {
	case unix.AF_INET:
		v4 := (*unix.RawSockaddrInet4)(unsafe.Pointer(sa))
		return netip.AddrPortFrom(netip.AddrFrom4(v4.Addr), swap16(v4.Port))
	case unix.AF_INET6:
		a := netip.AddrFrom16(sa.Addr).Unmap()
		if a.Is6() && sa.Scope_id != 0 && a.IsLinkLocalUnicast() {
			a = a.WithZone(strconv.Itoa(int(sa.Scope_id)))
		}
		return netip.AddrPortFrom(a, swap16(sa.Port))
	}
	return netip.AddrPort{}
}

// putSockaddr writes address in the family of the socket and returns its length, or 0 if that
// family cannot express it.
func putSockaddr(sa *unix.RawSockaddrInet6, address netip.AddrPort, v6 bool) uint32 {
	a := address.Addr()
	if !v6 {
		if !a.Is4() {
			return 0
		}
		v4 := (*unix.RawSockaddrInet4)(unsafe.Pointer(sa))
		v4.Family, v4.Port, v4.Addr = unix.AF_INET, swap16(address.Port()), a.As4()
		return unix.SizeofSockaddrInet4
	}
	if !a.IsValid() {
		return 0
	}
	sa.Family, sa.Port, sa.Addr = unix.AF_INET6, swap16(address.Port()), a.As16()
	sa.Flowinfo, sa.Scope_id = 0, 0
	if a.Is6() && a.Zone() != "" {
		zone, err := strconv.ParseUint(a.Zone(), 10, 32)
		if err != nil {
			return 0
		}
		sa.Scope_id = uint32(zone)
	}
	return unix.SizeofSockaddrInet6
}

// swap16 converts a port between network byte order and native byte order.
func swap16(port uint16) uint16 {
	var b [2]byte
	binary.NativeEndian.PutUint16(b[:], port)
	return binary.BigEndian.Uint16(b[:])
}
