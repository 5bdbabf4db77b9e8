package link

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/internal/prooftest"
	"wamble/wire"
)

// misbehaviours are bob's packets at each of alice's moves.
var misbehaviours = map[string]func(r *rig, seq uint32){
	"never acknowledges": func(r *rig, seq uint32) {
		r.send(bob, move(tokenB, seq))
	},
	"acknowledges twice": func(r *rig, seq uint32) {
		r.send(bob, move(tokenB, seq))
		r.send(bob, ack(tokenB, seq))
		r.send(bob, ack(tokenB, seq))
	},
	"acknowledges for others": func(r *rig, seq uint32) {
		r.send(bob, ack(tokenA, seq))
		r.send(bob, ack(wamble.Token{}, seq))
	},
	"acknowledges with junk": func(r *rig, seq uint32) {
		b := append(ack(tokenB, seq), make([]byte, 900)...)
		binary.BigEndian.PutUint16(b[32:], 900)
		r.send(bob, move(tokenB, seq))
		r.send(bob, b)
	},
	"floods": func(r *rig, seq uint32) {
		for i := range uint32(500) {
			r.send(bob, move(tokenB, seq*500+i))
		}
	},
	"floods with invented tokens": func(r *rig, seq uint32) {
		for i := range uint32(500) {
			r.send(bob, move(wamble.Token{9, byte(i), byte(i >> 8), byte(seq)}, i))
		}
	},
	"floods with hellos": func(r *rig, seq uint32) {
		for i := range uint32(500) {
			r.send(bob, hello(wamble.Token{}, seq*500+i))
		}
	},
	"sends the same again and again": func(r *rig, seq uint32) {
		for range 500 {
			r.send(bob, terms(tokenB, 7))
		}
	},
}

// Bob misbehaves in every way while alice plays; it must not affect alice.
func TestHostileClientsHurtNobody(t *testing.T) {
	for name, misbehave := range misbehaviours {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Config{TokenRate: 120, HostRate: 1000, MaxPaths: 64, MaxPerHost: 32})
			r.prove(alice)
			for seq := uint32(3); seq < 60; seq++ {
				misbehave(r, seq)
				r.out.Reset()
				if got := r.send(alice, move(tokenA, seq)); got != New {
					t.Fatalf("alice's move %d: got verdict %d, want New", seq, got)
				}
				r.sees("ACK " + itoa(seq) + ", BOARD_UPDATE " + itoa(seq-2))
				if got := r.send(alice, ack(tokenA, seq-2)); got != Delivered {
					t.Fatalf("alice's ACK %d: got verdict %d, want Delivered", seq-2, got)
				}
				r.wait(100 * time.Millisecond)
			}
			if size := r.s.Size(); size.Paths > 33 || size.PacketBytes > 1<<20 {
				t.Errorf("the server holds %+v", size)
			}
		})
	}
}

func itoa(n uint32) string {
	if n >= 10 {
		return itoa(n/10) + string(rune('0'+n%10))
	}
	return string(rune('0' + n))
}

// A client that does not acknowledge gets three copies of each packet, and is not
// cut off.
func TestNeverAcknowledging(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	for seq := uint32(3); seq < 40; seq++ {
		r.send(alice, move(tokenA, seq))
		r.wait(10 * time.Second)
		want := "BOARD_UPDATE " + itoa(seq-2)
		r.sees("ACK " + itoa(seq) + ", " + want + ", " + want + ", " + want)
	}
}

// A million addresses that never come back: the tables reach their bounds and
// stay there.
func TestMemoryIsFlatOverAMillionAddresses(t *testing.T) {
	s := NewEndpoint(Config{MaxPaths: 4096, MaxPerHost: 16, TokenRate: 120, HostRate: 500})
	var out Batch
	live := wamble.Token{0xEE}
	packet := hello(wamble.Token{}, 1)
	one := func(i uint32, now time.Duration) {
		ip := [4]byte{byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i)}
		p := wamble.Peer{Addr: netip.AddrPortFrom(netip.AddrFrom4(ip), uint16(1024+i%1000))}
		if got := s.Receive(now, p, packet, &out); got.Verdict == New {
			h := wire.Header{Token: live, Board: 1}
			if err := Answer(s, got.Request, h, wire.BoardUpdate{FEN: wire.Text("8/8 w")}); err != nil {
				t.Fatal(err)
			}
			s.Finish(got.Request, 1)
			s.Release(now, 1, &out)
		}
		s.Due(now, &out)
		out.Reset()
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	total := prooftest.Sized[uint32](100_000, 1_000_000, 1_000_000)
	var now time.Duration
	var early uint64
	for i := range total {
		now += 10 * time.Microsecond
		one(0x0A000000+i*7, now)
		if i == total/4 {
			early = heap()
		}
	}
	late := heap()
	if size := s.Size(); size.Paths > 4096 || size.Sessions > 4096 {
		t.Errorf("the server holds %+v", size)
	}
	if late > early+early/4+1<<20 {
		t.Errorf("heap grew from %d after a quarter to %d bytes", early, late)
	}
	s.Due(now+time.Hour, &out)
	if got, want := s.Size(), (Size{}); got != want {
		t.Errorf("after expiry the server holds %+v", got)
	}
}

// Addresses without proof are dropped first; proven ones that are active stay.
func TestUnprovenMakeRoomFirst(t *testing.T) {
	r := crowdRig(t, 1)
	r.enter(alice)
	for i := range minUnproven + 18 {
		r.send(peerAt("203.0.113."+itoa(uint32(i+1))+":9"), hello(wamble.Token{}, 1))
	}
	r.took()
	r.send(alice, move(tokenOf(alice), 3))
	r.sees("ACK 3, BOARD_UPDATE 1")
	if got := r.s.Stats().Evicted; got != 18 {
		t.Errorf("%d addresses evicted, want 18", got)
	}
}

// When all are proven and busy, a newcomer is refused; one that has been silent for a while
// is dropped for a newcomer.
func TestProvenMakeRoomWhenSilent(t *testing.T) {
	r := newRig(t, Config{MaxPerHost: 1})
	r.prove(alice)
	second := peerAt("192.0.2.1:5001")
	if got := r.send(second, hello(wamble.Token{}, 1)); got != Dropped {
		t.Errorf("newcomer: got verdict %d, want Dropped", got)
	}
	r.wait(time.Minute)
	if got := r.send(second, hello(wamble.Token{}, 1)); got != New {
		t.Errorf("newcomer after a silent minute: got verdict %d, want New", got)
	}
}

// tokenOf returns a token for each address.
func tokenOf(at wamble.Peer) (t wamble.Token) {
	ip := at.IP().As4()
	copy(t[:], ip[:])
	binary.BigEndian.PutUint16(t[4:], at.Addr.Port())
	return t
}

// crowdRig is a rig that gives each address its own token.
func crowdRig(t *testing.T, size int) *rig {
	r := newRig(t, Config{MaxPaths: size})
	r.handler = func(id Request, p *wire.Packet) {
		if p.Ctrl == wire.CtrlClientHello && p.Token.IsZero() {
			from, _ := r.s.Peer(id)
			p.Token = tokenOf(from)
		}
		r.answer(id, p)
	}
	return r
}

// enter lets an address say hello and prove itself.
func (r *rig) enter(at wamble.Peer) *path {
	r.t.Helper()
	if got := r.send(at, hello(wamble.Token{}, 1)); got != New {
		r.t.Fatalf("newcomer: got verdict %d, want New", got)
	}
	r.send(at, ack(tokenOf(at), 1))
	path := r.s.table.paths[at]
	if path == nil || !path.proof.proven {
		r.t.Fatal("a newcomer has not proven their address")
	}
	return path
}

func at4(a, b, c, d byte, port uint16) wamble.Peer {
	return wamble.Peer{Addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{a, b, c, d}), port)}
}

// A household plays in a table that is full of players who have left, while hellos from other
// addresses arrive: no player of the household loses their place, and every newcomer gets
// one.
func TestHouseholdKeepsItsPlaces(t *testing.T) {
	r := crowdRig(t, 128)
	household := map[*path]uint64{} // to its serial
	for i := range uint16(9) {
		path := r.enter(at4(192, 0, 2, 1, 5000+i))
		household[path] = path.serial
	}
	for round := range uint32(400) {
		for i := range byte(8) {
			r.send(at4(10, byte(round), i, byte(round>>8), 9), hello(wamble.Token{}, 1))
		}
		r.enter(at4(11, 0, byte(round), byte(round>>8), 9))
		for path, serial := range household {
			r.send(path.peer, move(tokenOf(path.peer), 3+round))
			if path.serial != serial {
				t.Fatalf("a player has lost their place in round %d", round)
			}
		}
		r.wait(time.Second)
		r.out.Reset()
	}
}

// In a table that is full of busy players a flood of hellos displaces none of them.
func TestForgedHellosDisplaceNobody(t *testing.T) {
	r := crowdRig(t, 64)
	var players []wamble.Peer
	for i := range byte(64) {
		players = append(players, r.enter(at4(192, 0, 3, i/4, 5000+uint16(i))).peer)
	}
	const seconds = 20
	before := r.s.Stats().Proven
	for round := range uint32(seconds * 10) {
		for i := range byte(50) {
			r.send(at4(10, byte(round), i, byte(round>>8), 9), hello(wamble.Token{}, 1))
		}
		for _, p := range players {
			r.send(p, move(tokenOf(p), 3+round))
		}
		r.wait(time.Second / 10)
		r.out.Reset()
	}
	if again := r.s.Stats().Proven - before; again > 0 {
		t.Errorf("players had to come back %d times in %d s", again, seconds)
	}
	// A newcomer who has proven their address takes the place of one of the largest
	// household.
	r.enter(at4(203, 0, 113, 1, 9))
	if left := r.s.table.count - r.s.table.unproven; left != len(players) {
		t.Errorf("%d have places, want %d", left, len(players))
	}
}

// A watcher over a connection is silent, and keeps their place.
func TestSilentStreamKeepsItsPlace(t *testing.T) {
	r := crowdRig(t, 16)
	watcher := streamAt("192.0.2.1:5000", 1)
	r.send(watcher, hello(wamble.Token{}, 1))
	for i := range byte(50) {
		r.enter(at4(203, 0, 113, i, 9))
		r.wait(5 * time.Second)
	}
	if r.s.table.paths[watcher] == nil {
		t.Error("a silent connection made room for a newcomer")
	}
}

// An address that has proven itself stays proven after its session expired.
func TestProofOutlivesTheSession(t *testing.T) {
	r := newRig(t, Config{SessionTimeout: 30 * time.Second})
	r.prove(alice)
	r.wait(10 * time.Minute)
	if got, want := r.s.Size(), (Size{}); got != want {
		t.Fatalf("after expiry the server holds %+v", got)
	}
	r.send(alice, move(tokenA, 3))
	r.sees("ACK 3, BOARD_UPDATE 1")
	r.wait(2 * time.Hour)
	r.took()
	r.send(alice, move(tokenA, 4))
	r.sees("")
}

// TestUnprovenHaveMemoryOfTheirOwn: long answers to many forged addresses take no memory from players, whose packets
// are still repeated; one such address gets one of them at a time, and what is refused is neither acknowledged nor
// taken for done.
func TestUnprovenHaveMemoryOfTheirOwn(t *testing.T) {
	r := newRig(t, Config{MaxPacketBytes: 1 << 20})
	canned := r.handler
	r.handler = func(id Request, p *wire.Packet) {
		if p.Ctrl != wire.CtrlGetProfileTOS {
			canned(id, p)
			return
		}
		Answer(r.s, id, wire.Header{Token: p.Token}, wire.ProfileTOSData{Terms: make([]byte, 60_000)})
		r.gate++
		r.s.Finish(id, r.gate)
	}
	r.prove(alice)
	for i := range 256 {
		forged := peerAt(fmt.Sprintf("203.0.113.%d:7", i))
		for seq := range uint32(3) {
			r.send(forged, terms(wamble.Token{0xC0, byte(i)}, seq+1))
		}
	}
	if got, most := r.s.pool.unproven, 1<<20/unprovenShare+100<<10; got > most {
		t.Errorf("packets to unproven addresses use %d bytes, want at most %d", got, most)
	}
	r.out.Reset()
	r.ran = nil
	r.send(peerAt("203.0.113.9:7"), terms(wamble.Token{0xC0, 9}, 2))
	r.sees("")
	if got := strings.Join(r.ran, ", "); got != "GET_PROFILE_TOS 2" {
		t.Errorf("the repetition of a refused request is %q, want a new one", got)
	}
	r.send(alice, move(tokenA, 3))
	r.sees("ACK 3, BOARD_UPDATE 1")
	r.wait(time.Second)
	if got := r.took(); !strings.Contains(got, "BOARD_UPDATE 1") {
		t.Errorf("a player's update was not repeated: %q", got)
	}
	r.wait(10 * time.Minute)
	if r.s.pool.held != 0 || r.s.pool.unproven != 0 {
		t.Errorf("in the end %d bytes are held, %d for unproven addresses", r.s.pool.held, r.s.pool.unproven)
	}
}
