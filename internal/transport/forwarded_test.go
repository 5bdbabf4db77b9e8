package transport

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"wamble"
)

// TestOrigin: the addresses for which a trusted proxy may speak.
func TestOrigin(t *testing.T) {
	trusted := networks{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:1::/48")}
	for _, c := range []struct {
		name  string
		head  string // lines of the request's head
		from  string
		proto string
	}{
		{"nothing said", "", "10.0.0.1:99", ""},
		{"an address", "X-Forwarded-For: 192.0.2.7", "192.0.2.7:0", ""},
		{"an address and a port", "X-Forwarded-For: 192.0.2.7:443", "192.0.2.7:443", ""},
		{"IPv6", "X-Forwarded-For: 2001:db8::7", "[2001:db8::7]:0", ""},
		{"IPv6 in brackets", "X-Forwarded-For: [2001:db8::7]", "[2001:db8::7]:0", ""},
		{"IPv4 in IPv6", "X-Forwarded-For: ::ffff:192.0.2.7", "192.0.2.7:0", ""},
		{"forged before the proxy's own word", "X-Forwarded-For: 127.0.0.1, 192.0.2.7", "192.0.2.7:0", ""},
		{"forged in a line of its own", "X-Forwarded-For: 127.0.0.1\nX-Forwarded-For: 192.0.2.7", "192.0.2.7:0", ""},
		{"two proxies", "X-Forwarded-For: 192.0.2.7, 10.9.9.9", "192.0.2.7:0", ""},
		{"proxies all the way", "X-Forwarded-For: 10.1.1.1, 10.9.9.9", "10.1.1.1:0", ""},
		{"no address", "X-Forwarded-For: unknown", "10.0.0.1:99", ""},
		{"no address behind the second proxy", "X-Forwarded-For: 192.0.2.7, bogus, 10.9.9.9", "10.9.9.9:0", ""},
		{"empty", "X-Forwarded-For: ", "10.0.0.1:99", ""},
		{"Forwarded", `Forwarded: for=192.0.2.7;proto=https;by=10.0.0.1`, "192.0.2.7:0", "https"},
		{"Forwarded, quoted", `Forwarded: For="[2001:db8::7]:4711"`, "[2001:db8::7]:4711", ""},
		{"Forwarded, a list", `Forwarded: for=1.1.1.1, for="192.0.2.7", for=10.2.2.2`, "192.0.2.7:0", ""},
		{"Forwarded, a comma in quotes", `Forwarded: for=192.0.2.7;host="a,for=1.2.3.4"`, "192.0.2.7:0", ""},
		{"Forwarded, hidden", `Forwarded: for=_hidden`, "10.0.0.1:99", ""},
		{"Forwarded, quotes left open", `Forwarded: for="192.0.2.7, for=1.1.1.1`, "10.0.0.1:99", ""},
		{"both, and they agree", "Forwarded: for=192.0.2.7\nX-Forwarded-For: 192.0.2.7", "192.0.2.7:0", ""},
		{"a client's Forwarded beside the proxy's word", "Forwarded: for=192.0.2.8\nX-Forwarded-For: 192.0.2.7", "refused", ""},
		{"a client's X-Forwarded-For beside the proxy's word", "Forwarded: for=192.0.2.7\nX-Forwarded-For: 127.0.0.1", "refused", ""},
		{"the protocol", "X-Forwarded-For: 192.0.2.7\nX-Forwarded-Proto: HTTPS", "192.0.2.7:0", "https"},
		{"no protocol", "X-Forwarded-For: 192.0.2.7\nX-Forwarded-Proto: <script>", "192.0.2.7:0", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := http.Header{}
			for line := range strings.SplitSeq(c.head, "\n") {
				if name, value, ok := strings.Cut(line, ":"); ok {
					h.Add(name, strings.TrimPrefix(value, " "))
				}
			}
			from, proto, err := originOf(h, netip.MustParseAddrPort("10.0.0.1:99"), trusted)
			got := from.String()
			if err != nil {
				got = "refused"
			}
			if got != c.from || proto != c.proto {
				t.Errorf("got %s by %q, want %s by %q", got, proto, c.from, c.proto)
			}
		})
	}
}

// proxyHeader is a header of the PROXY protocol that names a source.
func proxyHeader(source netip.AddrPort, extensions int) []byte {
	family, addresses := byte(proxyTCP4), append(source.Addr().AsSlice(), 10, 0, 0, 1)
	if source.Addr().Is6() {
		family, addresses = proxyTCP6, append(source.Addr().AsSlice(), make([]byte, 16)...)
	}
	addresses = binary.BigEndian.AppendUint16(addresses, source.Port())
	addresses = append(binary.BigEndian.AppendUint16(addresses, 8888), make([]byte, extensions)...)
	head := append([]byte(proxySignature), 0x21, family)
	return append(binary.BigEndian.AppendUint16(head, uint16(len(addresses))), addresses...)
}

// TestProxyHeader: the header at the start of a connection from a trusted proxy.
func TestProxyHeader(t *testing.T) {
	v4, v6 := netip.MustParseAddrPort("192.0.2.7:99"), netip.MustParseAddrPort("[2001:db8::7]:99")
	request := "GET / HTTP/1.1\r\n"
	local := proxySignature + "\x20\x00\x00\x00"
	for _, c := range []struct {
		name, bytes string
		from        netip.AddrPort
		rest        string // of the stream, with what was read ahead
		bad         bool
	}{
		{"a request", request, netip.AddrPort{}, request, false},
		{"less than a head", "GET", netip.AddrPort{}, "GET", false},
		{"TLS", "\x16\x03\x01\x02\x00\x01\x00", netip.AddrPort{}, "\x16\x03\x01\x02\x00\x01\x00", false},
		{"IPv4", string(proxyHeader(v4, 0)) + request, v4, request, false},
		{"IPv6 with extensions", string(proxyHeader(v6, 300)) + request, v6, request, false},
		{"the longest", string(proxyHeader(v4, 65535-12)) + request, v4, request, false},
		{"the proxy itself", local + request, netip.AddrPort{}, request, false},
		{"a Unix socket", proxySignature + "\x21\x31\x00\x02ab" + request, netip.AddrPort{}, request, false},
		{"nothing", "", netip.AddrPort{}, "", true},
		{"half a signature", proxySignature[:7], netip.AddrPort{}, "", true},
		{"half a header", string(proxyHeader(v4, 0)[:20]), netip.AddrPort{}, "", true},
		{"extensions that do not come", string(proxyHeader(v4, 9)[:30]), netip.AddrPort{}, "", true},
		{"too short for its family", proxySignature + "\x21\x21\x00\x0c" + strings.Repeat("x", 12), netip.AddrPort{}, "", true},
		{"version 3", proxySignature + "\x31\x11\x00\x00", netip.AddrPort{}, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &oneByOne{r: strings.NewReader(c.bytes)}
			from, rest, err := readProxyHeader(r)
			if (err != nil) != c.bad || from != c.from {
				t.Fatalf("got %v, %v", from, err)
			}
			if all, _ := io.ReadAll(r); !c.bad && string(rest)+string(all) != c.rest {
				t.Errorf("%q is left, want %q", string(rest)+string(all), c.rest)
			}
		})
	}
}

// oneByOne is a reader that returns one byte at a time.
type oneByOne struct{ r io.Reader }

func (o *oneByOne) Read(b []byte) (int, error) { return o.r.Read(b[:min(1, len(b))]) }

func FuzzProxyHeader(f *testing.F) {
	f.Add(proxyHeader(netip.MustParseAddrPort("192.0.2.7:99"), 3))
	f.Add([]byte(proxySignature + "\x20\x00\x00\x00GET"))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		from, rest, err := readProxyHeader(r)
		left, _ := io.ReadAll(r)
		if err == nil && !bytes.HasPrefix(b, []byte(proxySignature)) && !bytes.Equal(append(rest, left...), b) {
			t.Errorf("%q became %q", b, append(rest, left...))
		}
		if from.IsValid() && (err != nil || !bytes.HasPrefix(b, []byte(proxySignature))) {
			t.Errorf("%q names %v, %v", b, from, err)
		}
	})
}

func FuzzForwarded(f *testing.F) {
	f.Add(`for="[2001:db8::7]:4711";proto=https, for=10.0.0.2`, "192.0.2.7, 10.0.0.2")
	f.Add(`for="\"`, ",,")
	f.Fuzz(func(t *testing.T, standard, usual string) {
		h := http.Header{}
		if standard != "" {
			h.Set(forwarded, standard)
		}
		if usual != "" {
			h.Set(forwardedFor, usual)
		}
		proxy := netip.MustParseAddrPort("10.0.0.1:99")
		from, _, err := originOf(h, proxy, networks{netip.MustParsePrefix("10.0.0.0/8")})
		if err == nil && (!from.IsValid() || from.Addr().Is4In6() || from.Addr().Zone() != "") {
			t.Errorf("%q and %q: %v", standard, usual, from)
		}
		// A header that the client has set before the proxy's own is ignored.
		h = http.Header{forwardedFor: {usual, "192.0.2.7"}}
		if from, _, _ := originOf(h, proxy,
			networks{netip.MustParsePrefix("10.0.0.0/8")}); from.Addr().String() != "192.0.2.7" {
			t.Errorf("%q: %v", usual, from)
		}
	})
}

// TestTrustedProxy: a request and a WebSocket through a trusted proxy have the address that
// it gives; the same bytes from any other sender have the sender's own.
func TestTrustedProxy(t *testing.T) {
	site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s|", r.RemoteAddr, r.Header)
	})
	p := openPort(t, Options{HTTP: HTTPOptions{Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}}}, site)
	ask := func(from, before, head string) (string, net.Conn) {
		nc := dialFrom(t, p, from)
		io.WriteString(nc, before+"GET / HTTP/1.1\r\nHost: x\r\n"+head+"\r\n")
		answer := readHead(t, nc)
		if !strings.HasPrefix(answer, "HTTP/1.1 200") {
			return answer[:12], nc
		}
		body := make([]byte, 0, 256)
		for one := make([]byte, 1); len(body) == 0 || body[len(body)-1] != '|'; {
			if _, err := io.ReadFull(nc, one); err != nil {
				t.Fatal(err)
			}
			body = append(body, one...)
		}
		return string(body), nc
	}
	client := netip.MustParseAddrPort("192.0.2.7:99")
	header := string(proxyHeader(client, 0))
	const head = "X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\n"
	for _, c := range []struct{ name, from, before, head, want string }{
		{"trusted, in the head", "127.0.0.2", "", head, "192.0.2.7:0 map[X-Forwarded-Proto:[https]]|"},
		{"trusted, before it", "127.0.0.2", header, "", "192.0.2.7:99 map[]|"},
		{"trusted, and forged by whom it speaks for", "127.0.0.2", header, "X-Forwarded-For: 127.0.0.1\r\n", "192.0.2.7:99 map[]|"},
		{"a stranger's head", "127.0.0.3", "", head, "127.0.0.3:"},
		{"a stranger's header", "127.0.0.3", header, "", "HTTP/1.1 400"},
		{"two words", "127.0.0.2", "", head + "Forwarded: for=192.0.2.8\r\n", "HTTP/1.1 400"},
	} {
		if got, _ := ask(c.from, c.before, c.head); !strings.HasPrefix(got, c.want) ||
			strings.HasPrefix(got, "127.0.0.3:") && !strings.HasSuffix(got, " map[]|") {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	for _, before := range []string{header, ""} {
		nc := dialFrom(t, p, "127.0.0.2")
		io.WriteString(nc, before+strings.Replace(handshakeRequest, "\r\n", "\r\nX-Forwarded-For: 192.0.2.7\r\n", 1))
		readHead(t, nc)
		nc.Write(appendFrame(nil, opBinary, packet(t, 1, 1), &maskKey{1}))
		if got, _ := receive(t, p, 1, 0); got[0].Peer.IP() != client.Addr() || !got[0].Peer.Stream() {
			t.Errorf("a packet is from %v", got[0].Peer)
		}
	}
	p.Trust(nil)
	if got, _ := ask("127.0.0.2", "", head); !strings.HasPrefix(got, "127.0.0.2:") {
		t.Errorf("when nobody is trusted any more: %s", got)
	}
}

// TestPlacesBehindProxy: connections of a proxy count for the address they are from, and for
// the proxy between two requests.
func TestPlacesBehindProxy(t *testing.T) {
	s := newConnLimiter(6, 2, new(atomic.Uint64))
	proxy, ann, bob := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("192.0.2.1"),
		netip.MustParseAddr("192.0.2.2")
	held := func(ip netip.Addr) int {
		if h := s.hosts[wamble.HostOf(ip)]; h != nil {
			return len(h.slots)
		}
		return 0
	}
	var list []*slot
	for range 6 { // more than one host may have
		p := s.take(proxy, true, func() {})
		if p == nil {
			t.Fatal("a proxy was refused")
		}
		p.setUse(engaged)
		list = append(list, p)
	}
	for i, ok := range []bool{true, true, false} {
		if got := list[i].move(ann); got != ok {
			t.Errorf("connection %d of one client: %v, want %v", i, got, ok)
		}
	}
	if !list[3].moveFinal(bob) {
		t.Error("another client was refused")
	}
	if held(proxy) != 3 || held(ann) != 2 || held(bob) != 1 || s.taken != 6 {
		t.Errorf("%d, %d and %d are held, %d in all", held(proxy), held(ann), held(bob), s.taken)
	}
	list[0].requestDone()
	list[3].requestDone()
	if held(proxy) != 4 || held(ann) != 1 || held(bob) != 1 || !list[2].move(ann) {
		t.Errorf("after a request: %d, %d and %d are held", held(proxy), held(ann), held(bob))
	}
	list[1].lastSeen.Store(int64(-2 * silentTime))
	if !list[4].move(ann) || list[1].index >= 0 || list[1].move(bob) {
		t.Error("a silent connection did not give way, or came back")
	}
	for _, p := range list {
		p.release()
	}
	if s.taken+len(s.hosts)+len(s.networks)+len(s.levels) != 0 {
		t.Errorf("%+v after everybody left", s)
	}
}

// TestProxyShares: a client behind a proxy has no more places than without it, and
// leaves those of others alone.
func TestProxyShares(t *testing.T) {
	p := openPort(t, Options{HTTP: HTTPOptions{Max: 16, MaxHost: 2, Head: time.Minute,
		Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}}}, nil)
	open := func(client string) string {
		nc := dialFrom(t, p, "127.0.0.2")
		io.WriteString(nc, strings.Replace(handshakeRequest, "\r\n", "\r\nX-Forwarded-For: "+client+"\r\n", 1))
		status := readHead(t, nc)[9:12]
		if status == "101" {
			nc.Write(appendFrame(nil, opBinary, packet(t, 1, 1), &maskKey{1}))
			receive(t, p, 1, 0)
		}
		return status
	}
	for _, c := range []struct{ client, want string }{{"192.0.2.1", "101"}, {"192.0.2.1", "101"}, {"192.0.2.1", "503"},
		{"192.0.2.2", "101"}, {"192.0.2.3", "101"}} {
		if got := open(c.client); got != c.want {
			t.Errorf("%s: got %s, want %s", c.client, got, c.want)
		}
	}
}
