package profile

import (
	"encoding/hex"
	"math"
	"strconv"

	"wamble"
	"wamble/internal/link"
	"wamble/internal/session"
	"wamble/wire"
)

var errNoRequester = &wamble.Denied{Code: wamble.UnknownPlayer, Reason: "requester session not found", Blocking: true}

// maxSeason is the last season that can be asked for: the year times 100 plus the month.
const maxSeason = 999912

// leaderboard answers with a page of the leaderboard, and the row of the player.
func (p *Profile) leaderboard(r *request, out *Output) verdict {
	if r.session == nil {
		return p.deny(r, errNoRequester)
	}
	q, index := p.pageOf(r)
	in, v := p.storeAnswer(r, Load{Subject: RanksOf, Token: r.h.Token, Page: q}, out)
	switch {
	case in == nil:
		return v
	case in.Answer == nil || in.Answer.Ranks == nil:
		return p.deny(r, brokenOf(RanksOf))
	}
	p.answerRanks(r, q, index, in.Answer.Ranks)
	return done
}

// pageOf returns the page that a request names: at most wire.MaxRows rows, and an index that does not
// overflow the offset.
func (ru *rules) pageOf(r *request) (q wamble.LeaderboardQuery, index int64) {
	m := r.message.(*wire.GetLeaderboard)
	limit := int64(m.Limit)
	if limit == 0 {
		limit = wire.DefaultRows
	}
	limit = min(limit, wire.MaxRows)
	index, _ = r.ext.Int(wire.KeyLeaderboardPageIndex)
	index = min(max(index, 0), math.MaxInt32/wire.MaxRows)
	season, _ := r.ext.Int(wire.KeyLeaderboardSeason)
	switch {
	case ru.cfg.Scoring.Season == "off" || season < 0 || season > maxSeason:
		season = 0
	case season == 1:
		season = int64(wamble.SeasonOf(ru.clock.wall()))
	}
	ofBots, _ := r.ext.Int(wire.KeyLeaderboardBots)
	return wamble.LeaderboardQuery{
		Season: int(season), Bots: ofBots == 1, ByRating: m.Order == wire.ByRating && season == 0,
		Offset: int(index * limit), Limit: int(limit), Self: r.session.ID(),
	}, index
}

func (p *Profile) answerRanks(r *request, q wamble.LeaderboardQuery, index int64, ranks *wamble.Leaderboard) {
	m := wire.LeaderboardData{Order: wire.ByScore}
	if q.ByRating {
		m.Order = wire.ByRating
	}
	onPage, key := false, whoOf(r.session).Key
	for i := range ranks.Rows {
		row := &ranks.Rows[i]
		onPage = onPage || row.Session == q.Self || !key.IsZero() && row.Key == key
		m.Rows = append(m.Rows, wire.LeaderboardRow{
			Rank: uint32(row.Rank), Session: wire.Uint64(row.Session), Score: wire.Float(row.Stats.Score),
			Rating: wire.Float(row.Stats.Rating),
			Games:  count(row.Stats.Games), HasIdentity: !row.Key.IsZero(), PublicKey: wire.Key(row.Key),
			Handle: wire.Text(row.Handle),
		})
	}
	fields := append(p.scratch.fields[:0],
		wire.Int(wire.KeyLeaderboardTotalCount, int64(ranks.Total)), wire.Int(wire.KeyLeaderboardPageIndex, index),
		wire.Int(wire.KeyLeaderboardPageSize, int64(q.Limit)))
	if q.Season != 0 {
		fields = append(fields, wire.Int(wire.KeyLeaderboardSeason, int64(q.Season)))
	}
	if q.Bots {
		fields = append(fields, wire.Int(wire.KeyLeaderboardBots, 1<<len(ranks.Rows)-1))
	}
	self := ranks.Self
	switch {
	case self != nil:
	case r.session.Bot() != q.Bots:
		self = &wamble.LeaderboardRow{} // the player is in the other ranking
	default:
		self = p.lastRank(r, ranks)
		fields[0] = wire.Int(wire.KeyLeaderboardTotalCount, int64(self.Rank))
	}
	if m.SelfRank = uint32(self.Rank); !onPage && self.Rank > 0 {
		fields = append(fields, selfFields(self)...)
	}
	if q.Season != 0 && p.cfg.Scoring.TeamSeason && !q.Bots {
		fields = append(fields, wire.String(wire.KeyLeaderboardTeams, teamsText(numberOf(r.session), q.Season, ranks)))
	}
	link.Answer(p.link, r.id, wire.Header{Token: r.h.Token}, m, fields...)
}

// numberOf returns the number of a session's player, or else the negated number of the session.
func numberOf(s *session.Session) int64 {
	if player := whoOf(s).ID; player != 0 {
		return int64(player)
	}
	return -int64(s.ID())
}

// teamsText returns the field leaderboard.teams for a player.
func teamsText(who int64, season int, ranks *wamble.Leaderboard) string {
	letter := func(who int64) byte {
		if wamble.PlaysForBlack(who, season) {
			return 'b'
		}
		return 'w'
	}
	text := []byte{letter(who)}
	for _, points := range ranks.Teams {
		text = strconv.AppendFloat(append(text, ' '), points, 'f', -1, 64)
	}
	text = append(text, ' ')
	for i := range ranks.Rows {
		text = append(text, letter(ranks.Rows[i].Who))
	}
	return string(text)
}

// lastRank returns the row of a player that the store does not have yet: the last, as for every new player.
func (p *people) lastRank(r *request, ranks *wamble.Leaderboard) *wamble.LeaderboardRow {
	row := &wamble.LeaderboardRow{Rank: ranks.Total + 1, Session: r.session.ID()}
	if i := r.session.Identity(); i != nil {
		row.Key, row.Handle, row.Stats.Rating = i.Key(), i.Handle(), i.Rating()
	}
	return row
}

func selfFields(self *wamble.LeaderboardRow) []wire.Field {
	fields := []wire.Field{
		wire.Int(wire.KeyLeaderboardSelfRank, int64(self.Rank)),
		wire.Int(wire.KeyLeaderboardSelfSession, int64(self.Session)),
		wire.Double(wire.KeyLeaderboardSelfScore, self.Stats.Score),
		wire.Double(wire.KeyLeaderboardSelfRating, self.Stats.Rating),
		wire.Int(wire.KeyLeaderboardSelfGames, int64(self.Stats.Games)),
		wire.Int(wire.KeyLeaderboardSelfIdentity, oneIf(!self.Key.IsZero())),
	}
	if !self.Key.IsZero() {
		fields = append(fields, wire.String(wire.KeyLeaderboardSelfKey, hex.EncodeToString(self.Key[:])))
	}
	return fields
}

// count returns a number of games as it is encoded.
func count(n int) uint32 { return uint32(min(max(n, 0), math.MaxUint32)) }
