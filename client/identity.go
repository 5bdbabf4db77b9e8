package client

import (
	"cmp"
	"context"
	"crypto"
	"crypto/ed25519"
	"errors"
	"fmt"
	"strings"
	"time"

	"wamble"
	"wamble/wire"
)

// Login links the session to the identity of a key, such as an ed25519.PrivateKey. The session gets another token, so that the
// old one is useless to others, and the player may get another board. A refusal is a
// *wamble.Denied; it never has a reason.
func (c *Client) Login(ctx context.Context, key crypto.Signer) (Board, error) {
	if k, ok := key.(ed25519.PrivateKey); key == nil || ok && len(k) != ed25519.PrivateKeySize {
		return Board{}, fmt.Errorf("log in: a private key has %d bytes, this one has %d", ed25519.PrivateKeySize, len(k))
	}
	if _, ok := key.Public().(ed25519.PublicKey); !ok {
		return Board{}, errors.New("log in: the key is not one of Ed25519")
	}
	for range maxSends {
		b, err := c.loginOnce(ctx, key)
		if !errors.Is(err, errBroken) {
			return b, err
		}
		// The connection broke while the signature was being sent. The challenge is used up in
		// any case; logging in twice does no harm.
	}
	return Board{}, fmt.Errorf("log in: %w", ErrTimeout)
}

func (c *Client) loginOnce(ctx context.Context, key crypto.Signer) (Board, error) {
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
	signature, err := key.Sign(nil, message, crypto.Hash(0))
	if err != nil || len(signature) != ed25519.SignatureSize {
		return Board{}, fmt.Errorf("log in: the key does not sign: %w", cmp.Or(err, errors.New("no signature of Ed25519")))
	}
	proof := wire.Signature(signature)
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

// challenge requests the bytes to sign.
func (c *Client) challenge(ctx context.Context, public wire.Key) (wire.Key, error) {
	return ask(ctx, c, wire.Header{}, wire.LoginRequest{PublicKey: public},
		func(_ *wire.Packet, m *wire.LoginChallenge) (wire.Key, bool) { return m.Challenge, true })
}

// OwnSession is a session of the player's identity.
type OwnSession struct {
	ID                wamble.SessionID // not secret
	Created, LastSeen time.Time
	Own               bool // it is this client's session
}

// Sessions requests the sessions of the player's identity: this client's first, then the last
// seen, at most wire.MaxSessions; without an identity only this client's.
func (c *Client) Sessions(ctx context.Context) ([]OwnSession, error) {
	return ask(ctx, c, wire.Header{}, wire.GetSessions{}, ownSessions)
}

// Revoke ends a session of the player's identity: its token becomes invalid. With 0 it ends all
// but this client's. It returns the remaining ones. The owner of the key can log in again.
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

// SetName sets the name of the player's identity, which others see as their handle: 3 to 20
// letters, digits, - or _, unique regardless of case, at most once a week. A refusal
// (*wamble.Denied) has a reason.
func (c *Client) SetName(ctx context.Context, name string) (Stats, error) {
	return ask(ctx, c, wire.Header{}, wire.SetName{Name: wire.Text(name)},
		func(p *wire.Packet, m *wire.PlayerStatsData) (Stats, bool) {
			return statsOf(p, m), true
		})
}

// Logout ends the session and its link to an identity, then requests and returns a new session.
func (c *Client) Logout(ctx context.Context) (Session, error) {
	if err := tell(ctx, c, wire.Logout{}); err != nil {
		return Session{}, err
	}
	return c.Hello(ctx)
}
