package profile

import (
	"fmt"
	"net/netip"
	"time"

	"wamble"
)

// Ban ends sessions as Kick does, and keeps them out. It is forgotten when the
// profile ends: the caller tells it again.
type Ban struct {
	Whom  Whom
	Text  string    // the reason, for the players
	Until time.Time // zero: for ever
}

func (in *Ban) take(p *Profile, out *Output) {
	if err := p.mode.law.bans.add(p.clock.now, in); err != nil {
		out.Troubles = append(out.Troubles, err)
	}
	if in.Until.IsZero() || p.clock.now.Before(in.Until) {
		(&Kick{Whom: in.Whom, Text: in.Text}).take(p, out)
	}
}

// Unban lets somebody in again.
type Unban struct{ Whom Whom }

func (in *Unban) take(p *Profile, _ *Output) { p.mode.law.bans.remove(in.Whom) }

// bans is who is kept out: by token, by identity, by network. Each has its end,
// and the reason that its player is told.
type bans struct {
	tokens map[wamble.Token]ban
	keys   map[wamble.PublicKey]ban
	nets   map[netip.Prefix]ban
	// bits counts the networks of each length: only those are looked for.
	bits map[bitsOf]int
}

// bitsOf is a kind of networks: their length, and whether they are IPv6.
type bitsOf struct {
	length int
	v6     bool
}

type ban struct {
	until  time.Time // zero: for ever
	denied *wamble.Denied
}

// maxBans bounds each of the three kinds.
const maxBans = 1 << 14

// holds returns the refusal of a ban, nil if it has ended.
func (b ban) holds(now time.Time) *wamble.Denied {
	if b.denied == nil || !b.until.IsZero() && !now.Before(b.until) {
		return nil
	}
	return b.denied
}

// add keeps somebody out. There is a bound; what has ended makes room.
func (bs *bans) add(now time.Time, w *Ban) error {
	b := ban{w.Until, banned(w.Text)}
	if b.holds(now) == nil {
		bs.remove(w.Whom)
		return nil
	}
	if max(len(bs.tokens), len(bs.keys), len(bs.nets)) >= maxBans {
		bs.sweep(now)
	}
	full := fmt.Errorf("there are %d bans of this kind, and no room for another", maxBans)
	switch {
	case !w.Whom.Token.IsZero():
		if _, known := bs.tokens[w.Whom.Token]; !known && len(bs.tokens) >= maxBans {
			return full
		}
		put(&bs.tokens, w.Whom.Token, b)
	case !w.Whom.Key.IsZero():
		if _, known := bs.keys[w.Whom.Key]; !known && len(bs.keys) >= maxBans {
			return full
		}
		put(&bs.keys, w.Whom.Key, b)
	case w.Whom.Net.IsValid():
		return bs.addNet(unmapped(w.Whom.Net), b, full)
	}
	return nil
}

func (bs *bans) addNet(network netip.Prefix, b ban, full error) error {
	if _, known := bs.nets[network]; !known {
		if len(bs.nets) >= maxBans {
			return full
		}
		if bs.bits == nil {
			bs.bits = map[bitsOf]int{}
		}
		bs.bits[kindOf(network)]++
	}
	put(&bs.nets, network, b)
	return nil
}

func put[K comparable](m *map[K]ban, k K, b ban) {
	if *m == nil {
		*m = map[K]ban{}
	}
	(*m)[k] = b
}

// banned is what a banned player is told.
func banned(why string) *wamble.Denied {
	if why == "" {
		return errBanned
	}
	d := *errBanned
	d.Reason = banPrefix + why
	return &d
}

const banPrefix = "banned: "

func kindOf(network netip.Prefix) bitsOf { return bitsOf{network.Bits(), network.Addr().Is6()} }

// unmapped is a network with its host bits cleared, and in IPv4 if it is that.
func unmapped(network netip.Prefix) netip.Prefix {
	addr, bits := network.Addr().WithZone(""), network.Bits()
	if addr.Is4In6() && bits >= 96 {
		addr, bits = addr.Unmap(), bits-96
	}
	return netip.PrefixFrom(addr, bits).Masked()
}

func (bs *bans) remove(whom Whom) {
	delete(bs.tokens, whom.Token)
	delete(bs.keys, whom.Key)
	if whom.Net.IsValid() {
		bs.removeNet(unmapped(whom.Net))
	}
}

func (bs *bans) removeNet(network netip.Prefix) {
	if _, known := bs.nets[network]; !known {
		return
	}
	delete(bs.nets, network)
	kind := kindOf(network)
	if bs.bits[kind]--; bs.bits[kind] == 0 {
		delete(bs.bits, kind)
	}
}

// sweep forgets what has ended.
func (bs *bans) sweep(now time.Time) {
	for k, b := range bs.tokens {
		if b.holds(now) == nil {
			delete(bs.tokens, k)
		}
	}
	for k, b := range bs.keys {
		if b.holds(now) == nil {
			delete(bs.keys, k)
		}
	}
	for k, b := range bs.nets {
		if b.holds(now) == nil {
			bs.removeNet(k)
		}
	}
}

// of returns why a request is refused that comes from an address with a token,
// nil if it is not. Without bans it costs nothing.
func (bs *bans) of(now time.Time, from netip.Addr, token wamble.Token) *wamble.Denied {
	if len(bs.tokens) > 0 {
		if d := bs.tokens[token].holds(now); d != nil {
			return d
		}
	}
	if len(bs.nets) == 0 {
		return nil
	}
	from = from.Unmap().WithZone("")
	var found *wamble.Denied
	for kind := range bs.bits {
		if kind.v6 != from.Is6() {
			continue
		}
		network, err := from.Prefix(kind.length)
		if err != nil {
			continue
		}
		// Of several the one with the least text wins, so that chance does not.
		if d := bs.nets[network].holds(now); d != nil && (found == nil || d.Reason < found.Reason) {
			found = d
		}
	}
	return found
}

// ofKey is of for an identity.
func (bs *bans) ofKey(now time.Time, key wamble.PublicKey) *wamble.Denied {
	if len(bs.keys) == 0 {
		return nil
	}
	return bs.keys[key].holds(now)
}
