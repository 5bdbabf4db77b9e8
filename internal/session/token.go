package session

import (
	"net/netip"
	"time"

	"wamble"
	"wamble/internal/intent"
)

// A player who proves a key may have got the token from another person, who knows it too. So a login issues
// a new token, or, if the client cannot receive one, binds the token to the host of the login.

// RenewToken gives a session a new token. The old one is refused from now on. Errors: ErrEntropy.
func (t *Table) RenewToken(now time.Time, s *Session, out intent.Intents) error {
	at := t.tick(now)
	token, err := t.newToken()
	if err != nil {
		return err
	}
	t.refused.Use(s.hash)
	delete(t.byToken, s.token)
	t.byToken[token] = s
	s.token, s.hash, s.bound = token, token.Hash(), nil
	t.noteToken(at, s, out)
	return nil
}

// BindToken makes the token of a session valid at the host of ip only; nowhere if ip is invalid.
func (t *Table) BindToken(now time.Time, s *Session, ip netip.Addr, out intent.Intents) {
	host := wamble.HostOf(ip)
	if !host.IsValid() {
		host = noHost
	}
	s.bound = &host
	t.noteToken(t.tick(now), s, out)
}

func (t *Table) noteToken(at int64, s *Session, out intent.Intents) {
	out.Add(&intent.RenewToken{Session: s.id, Token: s.hash, Host: hostText(s.bound), At: timeOf(at)})
}

// noHost is a host from which no packet comes.
var noHost = netip.PrefixFrom(netip.IPv6Unspecified(), 128)

// hostText returns a host as it is stored.
func hostText(host *netip.Prefix) string {
	if host == nil {
		return ""
	}
	return host.String()
}

// hostOf decodes a stored host. A damaged one becomes nowhere.
func hostOf(text string) *netip.Prefix {
	if text == "" {
		return nil
	}
	host, err := netip.ParsePrefix(text)
	if err != nil {
		host = noHost
	}
	return &host
}
