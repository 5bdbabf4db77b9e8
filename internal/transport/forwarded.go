package transport

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// networks are the networks of trusted proxies.
type networks []netip.Prefix

func (n networks) has(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	return slices.ContainsFunc(n, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// Trust sets the networks of trusted proxies. The port takes the client's address that a
// trusted proxy gives, by PROXY protocol or in a request's head, as the far end; it ignores
// what other hosts give.
func (p *Port) Trust(proxies []netip.Prefix) {
	trusted := networks(slices.Clone(proxies))
	p.first.trusted.Store(&trusted)
}

func (p *Port) trusts(ip netip.Addr) bool { return p.trusted.Load().has(ip) }

// The headers in which proxies name the client.
const (
	forwarded      = "Forwarded" // RFC 7239
	forwardedFor   = "X-Forwarded-For"
	forwardedProto = "X-Forwarded-Proto"
)

// connKey is the context key of a request's net.Conn.
type connKey struct{}

// believed sets each request's RemoteAddr to the client's address. Behind a trusted proxy
// X-Forwarded-Proto is "http", "https" or absent; all other headers of proxies are removed
// before next runs.
func (p *Port) believed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, proto := farEnd(r), ""
		if p.trusts(from.Addr()) {
			var err error
			if from, proto, err = originOf(r.Header, from, *p.trusted.Load()); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			nc, _ := r.Context().Value(connKey{}).(net.Conn)
			if !slotOf(nc).move(from.Addr()) {
				w.Header().Set("Retry-After", "10")
				http.Error(w, "too many connections from your address", http.StatusServiceUnavailable)
				return
			}
			r.RemoteAddr = from.String()
		}
		for _, name := range []string{forwarded, forwardedFor, forwardedProto} {
			r.Header.Del(name)
		}
		if proto != "" {
			r.Header.Set(forwardedProto, proto)
		}
		next.ServeHTTP(w, r)
	})
}

// farEnd returns the address that a request comes from, unmapped; the zero AddrPort if
// RemoteAddr is not an address.
func farEnd(r *http.Request) netip.AddrPort {
	from, _ := netip.ParseAddrPort(r.RemoteAddr)
	return netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
}

// errTwoOrigins is returned for a request whose two headers name different clients: the proxy
// sets one of them, and the client may have forged the other.
var errTwoOrigins = errors.New("the headers Forwarded and X-Forwarded-For disagree: the proxy must remove the one that it does not set")

// originOf returns the client of a request that came from a trusted proxy, and its protocol, ""
// if the proxy names none.
func originOf(h http.Header, proxy netip.AddrPort, trusted networks) (from netip.AddrPort, proto string, err error) {
	standard, proto := parseForwarded(h[forwarded])
	from = clientAddress(proxy, standard, trusted)
	if lines := h[forwardedFor]; len(lines) > 0 {
		usual := clientAddress(proxy, parseForwardedFor(lines), trusted)
		if len(h[forwarded]) > 0 && usual.Addr() != from.Addr() {
			return from, "", errTwoOrigins
		}
		from = usual
	}
	if lines := h[forwardedProto]; len(lines) > 0 {
		proto = lastOf(lines[len(lines)-1])
	}
	if proto = strings.ToLower(proto); proto != "http" && proto != "https" {
		proto = ""
	}
	return from, proto, nil
}

// clientAddress walks from the nearest hop to the farthest one that a trusted proxy names. A hop
// without an address ends the walk at the proxy that reports it.
func clientAddress(proxy netip.AddrPort, hops []netip.AddrPort, trusted networks) netip.AddrPort {
	for i := len(hops) - 1; i >= 0 && hops[i].IsValid() && trusted.has(proxy.Addr()); i-- {
		proxy = hops[i]
	}
	return proxy
}

// maxHops is how many hops are examined, nearest first.
const maxHops = 16

// parseForwardedFor reads the hops of X-Forwarded-For, the nearest last.
func parseForwardedFor(lines []string) (hops []netip.AddrPort) {
	parts := strings.Split(strings.Join(lines, ","), ",")
	for _, part := range parts[max(0, len(parts)-maxHops):] {
		hops = append(hops, parseHop(strings.TrimSpace(part)))
	}
	return hops
}

// parseForwarded reads the hops of Forwarded (RFC 7239), the nearest last, and the protocol
// that the nearest hop with a proto names.
func parseForwarded(lines []string) (hops []netip.AddrPort, proto string) {
	elements := splitQuoted(strings.Join(lines, ","), ',')
	for _, element := range elements[max(0, len(elements)-maxHops):] {
		var hop netip.AddrPort
		for _, pair := range splitQuoted(element, ';') {
			name, value, _ := strings.Cut(pair, "=")
			switch value = unquote(strings.TrimSpace(value)); strings.ToLower(strings.TrimSpace(name)) {
			case "for":
				hop = parseHop(value)
			case "proto":
				proto = value
			}
		}
		hops = append(hops, hop)
	}
	return hops, proto
}

// parseHop reads an address with or without a port. It returns the zero AddrPort for any other
// text ("unknown", "_hidden").
func parseHop(s string) netip.AddrPort {
	if from, err := netip.ParseAddrPort(s); err == nil {
		return netip.AddrPortFrom(from.Addr().Unmap().WithZone(""), from.Port())
	}
	if inner, ok := strings.CutPrefix(s, "["); ok {
		s, _ = strings.CutSuffix(inner, "]")
	}
	ip, err := netip.ParseAddr(s)
	if err != nil {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(ip.Unmap().WithZone(""), 0)
}

// splitQuoted splits s at each separator outside a quoted string.
func splitQuoted(s string, at byte) (parts []string) {
	quoted, start := false, 0
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case !quoted && s[i] == at:
			parts = append(parts, s[start:i])
			start = i + 1
		}
	}
	return append(parts, s[start:])
}

// unquote removes the quotes of a quoted string. Addresses and protocols need no escapes.
func unquote(s string) string {
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return s[1 : len(s)-1]
	}
	return s
}

func lastOf(list string) string { return strings.TrimSpace(list[strings.LastIndexByte(list, ',')+1:]) }
