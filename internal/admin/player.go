package admin

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"wamble"
	"wamble/internal/profile"
)

// hashPrefix precedes the hash of a token in hex digits, as bans store and show it.
const hashPrefix = "hash:"

// parsePlayer parses a token or the hash of one, a public key in hex, an address or a
// network.
func parsePlayer(text string) (profile.Target, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		return profile.Target{Net: netip.PrefixFrom(a.WithZone(""), a.BitLen())}, nil
	}
	if n, err := netip.ParsePrefix(text); err == nil {
		return profile.Target{Net: n}, nil
	}
	if b, err := hex.DecodeString(text); err == nil && len(b) == len(wamble.PublicKey{}) {
		return profile.Target{Key: wamble.PublicKey(b)}, nil
	}
	if digits, ok := strings.CutPrefix(text, hashPrefix); ok {
		if b, err := hex.DecodeString(digits); err == nil && len(b) == len(wamble.TokenHash{}) &&
			wamble.TokenHash(b) != (wamble.TokenHash{}) {
			return profile.Target{Token: wamble.TokenHash(b)}, nil
		}
	}
	if t := parseToken(text); !t.IsZero() {
		return profile.Target{Token: t.Hash()}, nil
	}
	// The text is not repeated: it may be a token with a slip in it.
	return profile.Target{}, errors.New("name a player by name, token, public key (64 hex digits), address or " +
		"network (192.0.2.0/24)")
}

// parseToken parses a token, in hex as browsers store it or in the form that players see;
// zero if text is neither.
func parseToken(text string) wamble.Token {
	if b, err := hex.DecodeString(text); err == nil && len(b) == len(wamble.Token{}) {
		return wamble.Token(b)
	}
	t, _ := wamble.ParseToken(text)
	return t
}

// Named identifies a player or session in the store in one of several ways. Token and
// Handle may both be set, because a text may be either.
type Named struct {
	Token   wamble.Token
	Key     wamble.PublicKey
	Session wamble.SessionID
	Handle  string
}

// parseNamed parses a token, a public key in hex, the number of a session or a handle.
func parseNamed(text string) (n Named, err error) {
	if id, err := strconv.ParseInt(text, 10, 64); err == nil && id > 0 {
		return Named{Session: wamble.SessionID(id)}, nil
	}
	if whom, err := parsePlayer(text); err == nil && !whom.Net.IsValid() {
		n = Named{Token: parseToken(text), Key: whom.Key}
	}
	if wamble.IsName(text) && n.Key.IsZero() {
		n.Handle = text
	}
	// The text is not repeated: it may be a token with a slip in it.
	return n, unless(n != Named{}, "name a player by token, handle, public key (64 hex digits) or the number of a "+
		"session")
}

// parseIdentity parses the name or the public key of a player; zero if text is neither.
func parseIdentity(text string) Named {
	n, _ := parseNamed(text)
	return Named{Key: n.Key, Handle: n.Handle}
}

// hideNamed is hidePlayer for a text that parseNamed parses.
func hideNamed(text string) string {
	switch n, err := parseNamed(text); {
	case err != nil:
		return "(nobody)"
	case !n.Token.IsZero():
		return "(a token)"
	}
	return text
}

// findNamed replaces a player's name in a.Whom by their key, for a command that takes keys.
func (h *Host) findNamed(ctx context.Context, c *Command, a *Arguments) error {
	if !wamble.IsName(a.Whom) || len(a.Whom) > wamble.MaxName ||
		!slices.ContainsFunc(c.Args, func(arg Arg) bool { return arg.Names }) {
		return nil
	}
	list, err := h.profilesOf(a.Profile)
	if err != nil {
		return err
	}
	for i := range list {
		found, err := list[i].Find(ctx, Named{Handle: a.Whom})
		if err != nil {
			return fmt.Errorf("profile %s: %w", list[i].Name, err)
		}
		if !found.Key.IsZero() {
			a.Whom = hex.EncodeToString(found.Key[:])
			return nil
		}
	}
	// The text is not repeated: it may be a part of a token.
	return errors.New("nobody has this name; the beginning of one is found by 'wamble players'")
}

// keyed returns the encoded arguments of a command with a player's name replaced by their
// key, if that is known.
func (h *Host) keyed(ctx context.Context, c *Command, args json.RawMessage) json.RawMessage {
	var a Arguments
	if json.Unmarshal(args, &a) != nil {
		return args
	}
	name := a.Whom
	if h.findNamed(ctx, c, &a) != nil || a.Whom == name {
		return args
	}
	text, err := json.Marshal(a)
	if err != nil {
		return args
	}
	return text
}

// hidePlayer replaces a token, and text that cannot be parsed, which may be a mistyped
// token.
func hidePlayer(text string) string {
	whom, err := parsePlayer(text)
	switch {
	case err != nil:
		return "(nobody)"
	case !whom.Token.IsZero():
		return "(a token)"
	}
	return text
}

// withoutToken returns text with a token replaced by its hash.
func withoutToken(text string) string {
	if whom, err := parsePlayer(text); err == nil && !whom.Token.IsZero() {
		return hashPrefix + hex.EncodeToString(whom.Token[:])
	}
	return text
}
