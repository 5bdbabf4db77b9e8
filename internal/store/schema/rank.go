package schema

import (
	"strings"

	"wamble"
)

// Ranks are the queries of store.Queries.Leaderboard, for both stores. They rank players
// and guests: who is the number of a player, or that of a guest's session below zero.
type Ranks struct {
	Total, Page, Self             string // Total: how many rows, and what the two teams have
	TotalArgs, PageArgs, SelfArgs []any
}

// row completes a query of who, score, rating and games to what ScanRank reads.
func row(ranked, rank, order string) string {
	const sessions = `FROM sessions s WHERE s.player_id = u.who OR s.id = -u.who`
	return `SELECT CASE WHEN u.who < 0 THEN -u.who ELSE coalesce((SELECT s.id FROM sessions s WHERE s.player_id = u.who ORDER BY s.last_seen_at DESC, s.id DESC LIMIT 1), 0) END,
		p.public_key, coalesce(p.handle, ''), CAST(u.score AS float8), CAST(coalesce((SELECT sum(s.total_prediction_score) ` + sessions + `), 0) AS float8),
		CAST(coalesce(p.rating, 0) AS float8), u.games, coalesce((SELECT sum(s.chess960_games_played) ` + sessions + `), 0), u.who, ` + rank + `
		FROM (` + ranked + `) u LEFT JOIN players p ON p.id = u.who` + order
}

// RanksOf returns the queries of a page. A guest's rating is 0; of equals players come
// before guests. All orders are indexes: a page costs its offset, and a rank the rows
// before it.
func RanksOf(q wamble.LeaderboardQuery) (Ranks, error) {
	if q.Limit < 1 || q.Limit > maxRanks || q.Offset < 0 || q.Season < 0 {
		return Ranks{}, Badf("read leaderboard: %d rows from %d of season %d; 1 to %d rows are a page", q.Limit, q.Offset, q.Season, maxRanks)
	}
	if q.Season != 0 {
		return seasonRanks(q), nil
	}
	const me = `SELECT coalesce(s.player_id, -s.id) AS who, coalesce(p.total_score, s.total_score) AS score, coalesce(p.rating, 0) AS rating,
		coalesce(p.games_played, s.games_played) AS games FROM sessions s LEFT JOIN players p ON p.id = s.player_id WHERE s.id = $1`
	order, players := `score DESC, u.rating DESC`, `total_score DESC, o.rating DESC`
	ahead := `1 + (SELECT count(*) FROM sessions o WHERE o.player_id IS NULL AND o.total_score > u.score)
		+ (SELECT count(*) FROM sessions o WHERE o.player_id IS NULL AND o.total_score = u.score AND (0 > u.rating OR 0 = u.rating AND u.who < 0 AND o.id < -u.who))
		+ (SELECT count(*) FROM players o WHERE o.total_score > u.score)
		+ (SELECT count(*) FROM players o WHERE o.total_score = u.score AND (o.rating > u.rating OR o.rating = u.rating AND (u.who < 0 OR o.id < u.who)))`
	if q.ByRating {
		order, players = `rating DESC, u.score DESC`, `rating DESC, o.total_score DESC`
		ahead = `1 + (SELECT count(*) FROM sessions o WHERE o.player_id IS NULL
				AND (0 > u.rating OR 0 = u.rating AND (o.total_score > u.score OR o.total_score = u.score AND u.who < 0 AND o.id < -u.who)))
			+ (SELECT count(*) FROM players o WHERE o.rating > u.rating)
			+ (SELECT count(*) FROM players o WHERE o.rating = u.rating AND (o.total_score > u.score OR o.total_score = u.score AND (u.who < 0 OR o.id < u.who)))`
	}
	order = ` ORDER BY u.` + order + `, (u.who < 0), abs(u.who)`
	page := `SELECT u.* FROM (
		SELECT * FROM (SELECT -o.id AS who, o.total_score AS score, 0 AS rating, o.games_played AS games
			FROM sessions o WHERE o.player_id IS NULL ORDER BY o.total_score DESC, o.id LIMIT $1) g
		UNION ALL SELECT * FROM (SELECT o.id, o.total_score, o.rating, o.games_played FROM players o ORDER BY o.` + players + `, o.id LIMIT $1) g) u` +
		order + ` LIMIT $2 OFFSET $3`
	return Ranks{
		Total: `SELECT (SELECT count(*) FROM sessions WHERE player_id IS NULL) + (SELECT count(*) FROM players), CAST(0 AS float8), CAST(0 AS float8)`,
		Page:  row(page, "0", order), PageArgs: []any{q.Offset + q.Limit, q.Limit, q.Offset},
		Self: row(me, ahead, ""), SelfArgs: []any{int64(q.Self)},
	}, nil
}

// seasonRanks ranks by what was won in a season.
func seasonRanks(q wamble.LeaderboardQuery) Ranks {
	const all = `SELECT s.who, s.score, s.games FROM season_scores s WHERE s.season = $1`
	const order = ` ORDER BY u.score DESC, u.who`
	team := func(is string) string { // as wamble.PlaysForBlack has it
		return `CAST(coalesce(sum(CASE WHEN (who + season) % 2 ` + is + ` 0 THEN score END), 0) AS float8)`
	}
	return Ranks{
		Total: `SELECT count(*), ` + team("=") + `, ` + team("<>") + ` FROM season_scores WHERE season = $1`, TotalArgs: []any{q.Season},
		Page:     row(all+strings.ReplaceAll(order, "u.", "s.")+` LIMIT $2 OFFSET $3`, "0", order),
		PageArgs: []any{q.Season, q.Limit, q.Offset},
		Self: row(`SELECT s.who, s.score, s.games, s.season FROM season_scores s WHERE s.season = $1 AND s.who = (SELECT coalesce(player_id, -id) FROM sessions WHERE id = $2)`,
			`1 + (SELECT count(*) FROM season_scores o WHERE o.season = u.season AND o.score > u.score)
			+ (SELECT count(*) FROM season_scores o WHERE o.season = u.season AND o.score = u.score AND o.who < u.who)`, ""),
		SelfArgs: []any{q.Season, int64(q.Self)},
	}
}
