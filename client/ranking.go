package client

import (
	"context"
	"encoding/hex"

	"wamble/wire"
)

// StatsOf identifies a player. The zero value is the client's player.
type StatsOf struct {
	Session int64  // number of a session, as shown in the leaderboard
	Handle  string // or the handle of an identity
}

// Stats are the statistics of a player.
type Stats struct {
	Score       float64
	Games       int
	Games960    int // those of Games that are Chess960
	Session     int64
	HasIdentity bool
	Handle      string
}

// Stats requests the statistics of a player.
func (c *Client) Stats(ctx context.Context, of StatsOf) (Stats, error) {
	id := c.nextID()
	ext := []wire.Field{wire.Int(wire.KeyStatsRequestID, id)}
	switch {
	case of.Session > 0:
		ext = append(ext, wire.Int(wire.KeyStatsTargetSession, of.Session))
	case of.Handle != "":
		ext = append(ext, wire.String(wire.KeyStatsTargetHandle, of.Handle))
	}
	return ask(ctx, c, wire.Header{}, wire.GetPlayerStats{},
		func(p *wire.Packet, m *wire.PlayerStatsData) (Stats, bool) {
			if got, ok := p.Ext.Int(wire.KeyStatsRequestID); ok && got != id {
				return Stats{}, false
			}
			return statsOf(p, m), true
		}, ext...)
}

func statsOf(p *wire.Packet, m *wire.PlayerStatsData) Stats {
	s := Stats{Score: float64(m.Score), Games: int(m.Games), Games960: int(m.Games960)}
	s.Session, _ = p.Ext.Int(wire.KeyStatsTargetSession)
	s.Handle, _ = p.Ext.Text(wire.KeyStatsTargetHandle)
	has, _ := p.Ext.Int(wire.KeyStatsTargetHasIdentity)
	s.HasIdentity = has != 0
	return s
}

// LeaderboardPage selects a page of the leaderboard. The zero value is the first page by score.
type LeaderboardPage struct {
	// Season is a month such as 202611, or 1 for the current one, whose points are ranked; 0 is
	// all time.
	Season   int
	Bots     bool // rank bots instead of people
	ByRating bool
	Index    int // from 0
	Size     int // rows per page, at most 16; 0 is 10
}

// Rank is one row of the leaderboard.
type Rank struct {
	Rank        int
	Session     int64
	Score       float64
	Rating      float64
	Games       int
	HasIdentity bool
	PublicKey   [32]byte
	Handle      string
}

// Leaderboard is a page of the leaderboard.
type Leaderboard struct {
	Season   int // month whose points are ranked; 0 for all time
	Rows     []Rank
	Total    int   // rows of all pages; 0 if unknown
	SelfRank int   // rank of the client's player; 0 if unknown or in the other ranking
	Self     *Rank // row of the client's player, if it is known and not on the page
}

// Leaderboard requests a page of the leaderboard.
func (c *Client) Leaderboard(ctx context.Context, page LeaderboardPage) (Leaderboard, error) {
	m := wire.GetLeaderboard{Order: wire.ByScore, Limit: uint8(min(max(page.Size, 0), wire.MaxRows))}
	if page.ByRating {
		m.Order = wire.ByRating
	}
	ext := []wire.Field{wire.Int(wire.KeyLeaderboardPageIndex, int64(page.Index))}
	if page.Season != 0 {
		ext = append(ext, wire.Int(wire.KeyLeaderboardSeason, int64(page.Season)))
	}
	if page.Bots {
		ext = append(ext, wire.Int(wire.KeyLeaderboardBots, 1))
	}
	return ask(ctx, c, wire.Header{}, m,
		func(p *wire.Packet, a *wire.LeaderboardData) (Leaderboard, bool) {
			index, ok := p.Ext.Int(wire.KeyLeaderboardPageIndex)
			mine := a.Order == m.Order && (!ok || index == int64(page.Index))
			total, _ := p.Ext.Int(wire.KeyLeaderboardTotalCount)
			l := Leaderboard{Total: int(total), SelfRank: int(a.SelfRank), Self: selfOf(p)}
			for _, r := range a.Rows {
				l.Rows = append(l.Rows, Rank{
					Rank: int(r.Rank), Session: int64(r.Session), Score: float64(r.Score), Rating: float64(r.Rating),
					Games: int(r.Games), HasIdentity: r.HasIdentity, PublicKey: r.PublicKey, Handle: r.Handle.String(),
				})
			}
			season, _ := p.Ext.Int(wire.KeyLeaderboardSeason)
			l.Season = int(season)
			return l, mine
		}, ext...)
}

// selfOf reads the row of the client's player.
func selfOf(p *wire.Packet) *Rank {
	rank, ok := p.Ext.Int(wire.KeyLeaderboardSelfRank)
	if !ok {
		return nil
	}
	r := &Rank{Rank: int(rank)}
	r.Session, _ = p.Ext.Int(wire.KeyLeaderboardSelfSession)
	r.Score, _ = p.Ext.Double(wire.KeyLeaderboardSelfScore)
	r.Rating, _ = p.Ext.Double(wire.KeyLeaderboardSelfRating)
	games, _ := p.Ext.Int(wire.KeyLeaderboardSelfGames)
	has, _ := p.Ext.Int(wire.KeyLeaderboardSelfIdentity)
	r.Games, r.HasIdentity = int(games), has != 0
	if key, ok := p.Ext.Text(wire.KeyLeaderboardSelfKey); ok && len(key) == 64 {
		hex.Decode(r.PublicKey[:], []byte(key))
	}
	return r
}
