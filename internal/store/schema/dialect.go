package schema

import (
	"encoding/json"
	"time"
)

// Dialect is the kind of a database, and what its SQL writes differently in the queries of both.
type Dialect int

// The dialects.
const (
	Postgres Dialect = iota
	SQLite
)

// in is the condition that a column is among the numbers of a parameter, which listOf makes.
func (d Dialect) in(column, parameter string) string {
	if d == SQLite {
		return column + ` IN (SELECT value FROM json_each(` + parameter + `))`
	}
	return column + ` = ANY(` + parameter + `::bigint[])`
}

// numbers is a table of the numbers of such a parameter, in the column value. For a few of them it is
// cheaper than in.
func (d Dialect) numbers(parameter string) string {
	if d == SQLite {
		return `json_each(` + parameter + `) n`
	}
	return `unnest(` + parameter + `::bigint[]) AS n(value)`
}

// listOf returns numbers as an argument for in and numbers.
func listOf[T ~int64 | ~uint64](d Dialect, of []T) any {
	numbers := make([]int64, len(of))
	for i, n := range of {
		numbers[i] = int64(n)
	}
	if d == SQLite {
		text, _ := json.Marshal(numbers) // never fails
		return string(text)
	}
	return numbers
}

// time returns a time as an argument.
func (d Dialect) time(t time.Time) any {
	if d == SQLite {
		return Micros(t)
	}
	return t
}

// timeOrNull returns a time as an argument, NULL for the zero time.
func (d Dialect) timeOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return d.time(t)
}

// named is the condition that a player o has the name of a parameter, regardless of case, in the
// form of the index on names.
func (d Dialect) named(parameter string) string {
	if d == SQLite {
		return `o.handle = ` + parameter + ` COLLATE NOCASE`
	}
	return `lower(o.handle) = lower(` + parameter + `)`
}

// byIndex are statements before the pages of LiveBoards: they keep PostgreSQL from scanning whole
// tables for each page of a start, which took a quarter of the start with 100,000 boards.
func (d Dialect) byIndex() []Ask {
	if d == SQLite {
		return nil
	}
	return []Ask{{Text: "SET LOCAL enable_seqscan = off"}}
}

// sessions selects the columns of scanSession.
func (d Dialect) sessions() string { return selectSessions[d] }

// selectSessions has no join for SQLite: clients can request it with unknown tokens at will, and
// SQLite would plan a LEFT JOIN anew each time, at five times the cost of the read.
var selectSessions = [...]string{
	Postgres: sessionColumns(func(column string) string { return `p.` + column }) + `LEFT JOIN players p ON p.id = s.player_id `,
	SQLite: sessionColumns(func(column string) string {
		return `(SELECT ` + column + ` FROM players WHERE id = s.player_id)`
	}),
}

// sessionColumns selects sessions s, and the columns of their players that ofPlayer returns.
func sessionColumns(ofPlayer func(column string) string) string {
	return `SELECT s.id, s.token, s.player_id, ` + ofPlayer("public_key") + `, ` + ofPlayer("handle") + `, s.trust_level, s.created_at, s.last_seen_at,
		CAST(s.total_score AS float8), CAST(s.total_prediction_score AS float8), CAST(coalesce(` + ofPlayer("rating") + `, 0) AS float8),
		s.games_played, s.chess960_games_played, coalesce(s.token_host, ''), s.bot FROM sessions s `
}
