package schema

import (
	"context"
	"fmt"
	"strings"

	"wamble"
)

// Leaderboard implements store.Queries.
func (q *Queries) Leaderboard(ctx context.Context, of wamble.LeaderboardQuery) (wamble.Leaderboard, error) {
	total, page, self, err := ranksOf(of)
	if err != nil {
		return wamble.Leaderboard{}, err
	}
	var out wamble.Leaderboard
	total.Row = func(scan Scan) error { return scan(&out.Total, &out.Teams[0], &out.Teams[1]) }
	page.Row = func(scan Scan) error {
		row, err := scanRank(scan)
		row.Rank = of.Offset + len(out.Rows) + 1
		out.Rows = append(out.Rows, row)
		return err
	}
	self.Row = func(scan Scan) error {
		row, err := scanRank(scan)
		row.Session, out.Self = of.Self, &row
		return err
	}
	asks := []Ask{total, page, self}
	for i := range asks {
		asks[i].Varies = true
	}
	if of.Self == 0 {
		asks = asks[:2]
	}
	if err := q.Read(ctx, "read leaderboard", asks...); err != nil {
		return wamble.Leaderboard{}, err
	}
	return out, nil
}

// row completes a query of who, score, rating and games to the columns that scanRank reads. "who" is
// the number of a player, or the negative number of a guest's session.
func row(ranked, rank, order string) string {
	const sessions = `FROM sessions s WHERE s.player_id = u.who OR s.id = -u.who`
	return `SELECT CASE WHEN u.who < 0 THEN -u.who ELSE coalesce((SELECT s.id FROM sessions s WHERE s.player_id = u.who ORDER BY s.last_seen_at DESC, s.id DESC LIMIT 1), 0) END,
		p.public_key, coalesce(p.handle, ''), CAST(u.score AS float8), CAST(coalesce((SELECT sum(s.total_prediction_score) ` + sessions + `), 0) AS float8),
		CAST(coalesce(p.rating, 0) AS float8), u.games, coalesce((SELECT sum(s.chess960_games_played) ` + sessions + `), 0), u.who, ` + rank + `
		FROM (` + ranked + `) u LEFT JOIN players p ON p.id = u.who` + order
}

// bots selects the bots, as who.
const bots = `(SELECT id FROM players WHERE bot UNION ALL SELECT -id FROM sessions WHERE player_id IS NULL AND bot)`

// count returns a query for the number of rows o of bots, or of people: people are counted as
// all minus bots, so that both counts use indexes.
func count(programs bool, what, from, where, isBot string) string {
	all := `(SELECT ` + what + ` FROM ` + from + ` o WHERE ` + where
	if programs {
		return all + ` AND ` + isBot + `)`
	}
	return `(` + all + `) - ` + all + ` AND ` + isBot + `))`
}

// selfRank returns SQL for the rank of the asking player: 0 if they are in the other ranking.
func selfRank(programs bool, ahead string) string {
	if programs {
		return `CASE WHEN u.bot THEN ` + ahead + ` ELSE 0 END`
	}
	return `CASE WHEN u.bot THEN 0 ELSE ` + ahead + ` END`
}

// ranksOf returns the queries of a page: for the number of rows with the scores of the two teams, for
// the page, and for the row of the asking player. A guest's rating is 0; among equals players precede
// guests. All orders have indexes: a page costs its offset and the bots before it, and a rank
// the rows before it.
func ranksOf(q wamble.LeaderboardQuery) (total, page, self Ask, err error) {
	if q.Limit < 1 || q.Limit > maxRanks || q.Offset < 0 || q.Season < 0 {
		return total, page, self, Badf("read leaderboard: %d rows from %d of season %d; 1 to %d rows are a page",
			q.Limit, q.Offset, q.Season, maxRanks)
	}
	if q.Season != 0 {
		total, page, self = seasonRanks(q)
		return total, page, self, nil
	}
	const me = `SELECT coalesce(s.player_id, -s.id) AS who, coalesce(p.total_score, s.total_score) AS score, coalesce(p.rating, 0) AS rating,
		coalesce(p.games_played, s.games_played) AS games, coalesce(p.bot, s.bot) AS bot FROM sessions s LEFT JOIN players p ON p.id = s.player_id WHERE s.id = $1`
	guests := func(where string) string {
		return count(q.Bots, `count(*)`, `sessions`, `o.player_id IS NULL`+where, `o.bot`)
	}
	players := func(where string) string { return count(q.Bots, `count(*)`, `players`, where, `o.bot`) }
	order, sorted := `score DESC, u.rating DESC`, `total_score DESC, o.rating DESC`
	ahead := []string{
		guests(` AND o.total_score > u.score`),
		guests(` AND o.total_score = u.score AND (0 > u.rating OR 0 = u.rating AND u.who < 0 AND o.id < -u.who)`),
		players(`o.total_score > u.score`),
		players(`o.total_score = u.score AND (o.rating > u.rating OR o.rating = u.rating AND (u.who < 0 OR o.id < u.who))`),
	}
	if q.ByRating {
		order, sorted = `rating DESC, u.score DESC`, `rating DESC, o.total_score DESC`
		ahead = []string{
			guests(` AND (0 > u.rating OR 0 = u.rating AND (o.total_score > u.score OR o.total_score = u.score AND u.who < 0 AND o.id < -u.who))`),
			players(`o.rating > u.rating`),
			players(`o.rating = u.rating AND (o.total_score > u.score OR o.total_score = u.score AND (u.who < 0 OR o.id < u.who))`),
		}
	}
	order = ` ORDER BY u.` + order + `, (u.who < 0), abs(u.who)`
	kind := `NOT o.bot`
	if q.Bots {
		kind = `o.bot`
	}
	rows := `SELECT u.* FROM (
		SELECT * FROM (SELECT -o.id AS who, o.total_score AS score, 0 AS rating, o.games_played AS games
			FROM sessions o WHERE o.player_id IS NULL AND ` + kind + ` ORDER BY o.total_score DESC, o.id LIMIT $1) g
		UNION ALL SELECT * FROM (SELECT o.id, o.total_score, o.rating, o.games_played FROM players o WHERE ` + kind + ` ORDER BY o.` + sorted + `, o.id LIMIT $1) g) u` +
		order + ` LIMIT $2 OFFSET $3`
	return Ask{Text: `SELECT ` + guests(``) + ` + ` + players(`o.id > 0`) + `, CAST(0 AS float8), CAST(0 AS float8)`},
		Ask{Text: row(rows, "0", order), Args: []any{q.Offset + q.Limit, q.Limit, q.Offset}},
		Ask{Text: row(me, selfRank(q.Bots, `1 + `+strings.Join(ahead, ` + `)), ""), Args: []any{int64(q.Self)}}, nil
}

// seasonRanks returns the queries of a season's ranking. Bots belong to no team.
func seasonRanks(q wamble.LeaderboardQuery) (total, page, self Ask) {
	const order = ` ORDER BY u.score DESC, u.who`
	kind := ` AND NOT EXISTS (SELECT 1 FROM players b WHERE b.id = s.who AND b.bot) AND NOT EXISTS (SELECT 1 FROM sessions b WHERE b.id = -s.who AND b.bot)`
	if q.Bots {
		kind = ` AND s.who IN ` + bots
	}
	rows := func(what, where string) string {
		return count(q.Bots, what, `season_scores`, where, `o.who IN `+bots)
	}
	d := wamble.DealOf(q.Season)
	lot := fmt.Sprintf(`((abs(o.who) %% %[1]d * %d + %d) %% %[1]d)`, d.Modulus, d.Factor, d.Term)
	side := fmt.Sprintf(`%[1]s * %[1]s %% %d %% 2`, lot, d.Modulus) // same result as wamble.PlaysForBlack
	team := func(is string) string {
		return `CAST(round(` + rows(`coalesce(sum(CASE WHEN `+side+is+` 0 THEN o.score END), 0)`, `o.season = $1`) +
			`, 4) AS float8)`
	}
	total = Ask{Text: `SELECT ` + rows(`count(*)`, `o.season = $1`) + `, ` + team("=") + `, ` + team("<>"), Args: []any{q.Season}}
	page = Ask{Text: row(`SELECT s.who, s.score, s.games FROM season_scores s WHERE s.season = $1`+kind+strings.ReplaceAll(order, "u.", "s.")+` LIMIT $2 OFFSET $3`, "0", order),
		Args: []any{q.Season, q.Limit, q.Offset}}
	self = Ask{Text: row(`SELECT s.who, s.score, s.games, s.season, s.who IN `+bots+` AS bot FROM season_scores s
			WHERE s.season = $1 AND s.who = (SELECT coalesce(player_id, -id) FROM sessions WHERE id = $2)`,
		selfRank(q.Bots, `1 + `+rows(`count(*)`, `o.season = u.season AND o.score > u.score`)+` + `+rows(`count(*)`,
			`o.season = u.season AND o.score = u.score AND o.who < u.who`)), ""),
		Args: []any{q.Season, int64(q.Self)}}
	return total, page, self
}
