package access

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"wamble"
)

// Ban refuses one session, all sessions of one identity, or all from one network: exactly one of Token, Key
// and Net is set.
type Ban struct {
	Token  wamble.TokenHash
	Key    wamble.PublicKey
	Net    netip.Prefix // a single address is a prefix of its whole length
	Reason string       // shown to the player; "": none
	Until  time.Time    // zero: forever
	denied *wamble.Denied
}

// Bans is all bans: by token, by identity, by network. The zero value is empty.
type Bans struct {
	tokens map[wamble.TokenHash]Ban
	keys   map[wamble.PublicKey]Ban
	nets   map[netip.Prefix]Ban
	// bits counts the networks of each length: only these lengths are looked up.
	bits map[family]int
}

// family is a kind of networks: their length, and whether they are IPv6.
type family struct {
	length int
	v6     bool
}

// MaxBans bounds the bans of each of the three kinds.
const MaxBans = 1 << 14

// refusal returns the refusal of a ban, nil if it has ended or is the zero Ban.
func (b Ban) refusal(now time.Time) *wamble.Denied {
	if b.denied == nil || !b.Until.IsZero() && !now.Before(b.Until) {
		return nil
	}
	return b.denied
}

// Add adds a ban, or replaces it; one that has ended removes it. If there are MaxBans, ended ones are
// removed first.
func (bs *Bans) Add(now time.Time, b Ban) error {
	b.denied = banned(b.Reason)
	if b.refusal(now) == nil {
		bs.Remove(b)
		return nil
	}
	if max(len(bs.tokens), len(bs.keys), len(bs.nets)) >= MaxBans {
		bs.sweep(now)
	}
	added := true
	switch {
	case !b.Token.IsZero():
		added = put(&bs.tokens, b.Token, b)
	case !b.Key.IsZero():
		added = put(&bs.keys, b.Key, b)
	case b.Net.IsValid():
		b.Net = Network(b.Net)
		known := len(bs.nets)
		if added = put(&bs.nets, b.Net, b); len(bs.nets) > known {
			if bs.bits == nil {
				bs.bits = map[family]int{}
			}
			bs.bits[familyOf(b.Net)]++
		}
	}
	if !added {
		return fmt.Errorf("there are %d bans of this kind, and no room for another", MaxBans)
	}
	return nil
}

// put adds a ban to m, or replaces it. It reports false if m is full.
func put[K comparable](m *map[K]Ban, k K, b Ban) bool {
	if _, known := (*m)[k]; !known && len(*m) >= MaxBans {
		return false
	}
	if *m == nil {
		*m = map[K]Ban{}
	}
	(*m)[k] = b
	return true
}

// banned returns the refusal that a banned player gets.
func banned(why string) *wamble.Denied {
	d := wamble.Denied{Code: wamble.AccessDenied, Reason: "you are banned from this server", Blocking: true}
	if why != "" {
		d.Reason = "banned: " + why
	}
	return &d
}

func familyOf(network netip.Prefix) family { return family{network.Bits(), network.Addr().Is6()} }

// Network returns a network with its host bits cleared, and in IPv4 form if it is IPv4.
func Network(n netip.Prefix) netip.Prefix {
	addr, bits := n.Addr().WithZone(""), n.Bits()
	if addr.Is4In6() && bits >= 96 {
		addr, bits = addr.Unmap(), bits-96
	}
	return netip.PrefixFrom(addr, bits).Masked()
}

// Remove removes the ban of b's Token, Key or Net.
func (bs *Bans) Remove(b Ban) {
	delete(bs.tokens, b.Token)
	delete(bs.keys, b.Key)
	if b.Net.IsValid() {
		bs.removeNet(Network(b.Net))
	}
}

func (bs *Bans) removeNet(network netip.Prefix) {
	if _, known := bs.nets[network]; !known {
		return
	}
	delete(bs.nets, network)
	f := familyOf(network)
	if bs.bits[f]--; bs.bits[f] == 0 {
		delete(bs.bits, f)
	}
}

// sweep removes the bans that have ended.
func (bs *Bans) sweep(now time.Time) {
	for _, b := range bs.All() {
		if b.refusal(now) == nil {
			bs.Remove(b)
		}
	}
}

// All returns all bans, sorted.
func (bs *Bans) All() []Ban {
	var all []Ban
	for _, b := range bs.tokens {
		all = append(all, b)
	}
	for _, b := range bs.keys {
		all = append(all, b)
	}
	for _, b := range bs.nets {
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b Ban) int {
		return cmp.Or(slices.Compare(a.Token[:], b.Token[:]), slices.Compare(a.Key[:], b.Key[:]),
			a.Net.Addr().Compare(b.Net.Addr()), cmp.Compare(a.Net.Bits(), b.Net.Bits()))
	})
	return all
}

// OfPeers reports whether tokens or networks are banned, so that Of is needed.
func (bs *Bans) OfPeers() bool { return len(bs.tokens) > 0 || len(bs.nets) > 0 }

// Of returns the refusal of a request from an address with a token, or nil. Without bans it costs nothing.
func (bs *Bans) Of(now time.Time, from netip.Addr, token wamble.Token) *wamble.Denied {
	if len(bs.tokens) > 0 {
		if d := bs.tokens[token.Hash()].refusal(now); d != nil {
			return d
		}
	}
	if len(bs.nets) == 0 {
		return nil
	}
	from = from.Unmap().WithZone("")
	var found *wamble.Denied
	for f := range bs.bits {
		if f.v6 != from.Is6() {
			continue
		}
		network, err := from.Prefix(f.length)
		if err != nil {
			continue
		}
		// Ties are broken by text, so that the result is deterministic.
		if d := bs.nets[network].refusal(now); d != nil && (found == nil || d.Reason < found.Reason) {
			found = d
		}
	}
	return found
}

// OfKey returns the refusal of an identity, or nil.
func (bs *Bans) OfKey(now time.Time, key wamble.PublicKey) *wamble.Denied {
	if len(bs.keys) == 0 {
		return nil
	}
	return bs.keys[key].refusal(now)
}
