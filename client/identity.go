package client

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"strings"
	"time"

	"wamble"
	"wamble/wire"
)

// Login ties the session to the identity of a key. The session has another token
// afterwards, so that whoever knew the old one is not the player, and the board
// that the player holds may be another one. A refusal is a *wamble.Denied; it never
// says why.
func (c *Client) Login(ctx context.Context, key ed25519.PrivateKey) (Board, error) {
	if len(key) != ed25519.PrivateKeySize {
		return Board{}, fmt.Errorf("log in: a private key has %d bytes, this one has %d", ed25519.PrivateKeySize, len(key))
	}
	for range maxSends {
		b, err := c.loginOnce(ctx, key)
		if !errors.Is(err, errBroken) {
			return b, err
		}
		// The connection broke while the signature was under way. The challenge
		// is used up in any case; logging in twice does no harm.
	}
	return Board{}, fmt.Errorf("log in: %w", ErrTimeout)
}

func (c *Client) loginOnce(ctx context.Context, key ed25519.PrivateKey) (Board, error) {
	public := wire.Key(key.Public().(ed25519.PublicKey))
	token := c.Token()
	challenge, err := c.challenge(ctx, public)
	if err != nil {
		return Board{}, err
	}
	fields := []wire.Field{wire.Int(wire.KeyLoginToken, 1)}
	var message []byte
	if c.dialer.LegacyLogin {
		m := wamble.LoginMessage(wamble.PublicKey(public), token, challenge)
		message = m[:]
	} else {
		server := strings.ToLower(c.target().Host)
		message = wamble.LoginMessageTo(server, wamble.PublicKey(public), token, challenge)
		fields = append(fields, wire.String(wire.KeyLoginServer, server))
	}
	if c.dialer.Wish == NoBoard {
		fields = append(fields, wire.Int(wire.KeyHelloWithoutBoard, int64(NoBoard)))
	}
	proof := wire.Signature(ed25519.Sign(key, message))
	k, err := newCall(ctx, wire.Header{}, wire.LoginRequest{PublicKey: public, Signature: &proof}, fields...)
	if err != nil {
		return Board{}, err
	}
	var board Board
	k.repeatable = false
	k.take = taking(func(p *wire.Packet, m *wire.LoginSuccess) bool {
		board = c.adopt(p, m.FEN, p.Token)
		return true
	})
	if err := c.do(k); err != nil {
		return Board{}, err // the loop may still write board
	}
	return board, nil
}

// challenge asks for the bytes that are to be signed.
func (c *Client) challenge(ctx context.Context, public wire.Key) (wire.Key, error) {
	return ask(ctx, c, wire.Header{}, wire.LoginRequest{PublicKey: public},
		func(_ *wire.Packet, m *wire.LoginChallenge) (wire.Key, bool) { return m.Challenge, true })
}

// OwnSession is a session of the player's identity.
type OwnSession struct {
	ID                wamble.SessionID // no secret
	Created, LastSeen time.Time
	Own               bool // it is the client's
}

// Sessions asks for the sessions of the player's identity, its own first, then the
// last seen, at most wire.MaxSessions; without an identity there is only this one.
func (c *Client) Sessions(ctx context.Context) ([]OwnSession, error) {
	return ask(ctx, c, wire.Header{}, wire.GetSessions{}, ownSessions)
}

// Revoke ends a session of the player's identity for good: its token is void. With 0
// it ends all but this one. It returns those that are left. Who has the key can log
// in again.
func (c *Client) Revoke(ctx context.Context, id wamble.SessionID) ([]OwnSession, error) {
	return ask(ctx, c, wire.Header{}, wire.RevokeSessions{Session: wire.Uint64(id)}, ownSessions)
}

func ownSessions(_ *wire.Packet, m *wire.SessionsData) ([]OwnSession, bool) {
	var rows []OwnSession
	for _, r := range m.Rows {
		rows = append(rows, OwnSession{
			ID: wamble.SessionID(r.ID), Own: r.Own,
			Created: time.Unix(int64(r.Created), 0), LastSeen: time.Unix(int64(r.LastSeen), 0),
		})
	}
	return rows, true
}

// SetName chooses the name of the player's identity, which others see as his handle: 3 to
// 20 letters, digits, - or _, unique without regard to case, once a week. A refusal
// (*wamble.Denied) says why.
func (c *Client) SetName(ctx context.Context, name string) (Stats, error) {
	return ask(ctx, c, wire.Header{}, wire.SetName{Name: wire.Text(name)}, func(p *wire.Packet, m *wire.PlayerStatsData) (Stats, bool) {
		return statsOf(p, m), true
	})
}

// Logout unties the session from its identity and ends it, then asks for a
// new one, which it returns.
func (c *Client) Logout(ctx context.Context) (Session, error) {
	if err := tell(ctx, c, wire.Logout{}); err != nil {
		return Session{}, err
	}
	return c.Hello(ctx)
}
