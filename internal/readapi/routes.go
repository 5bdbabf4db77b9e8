package readapi

import (
	"math"
	"net/http"

	"wamble/internal/record"
)

// route is the row of one path.
type route struct {
	path   string
	rights []Right
	handle func(*API, reader) (*answer, error)
	says   string // description
	query  []param
	kind   string // content type of the answer
	body   any    // empty value of the answer's JSON type; nil for other content
	// stream answers until the reader leaves; handle is nil then. An error before the
	// first write becomes the answer.
	stream func(*API, http.ResponseWriter, reader) error
	heavy  bool // its queries read much, and have slots of their own
}

// param is a parameter of the query: a number within bounds, a word, or any text.
type param struct {
	name, says       string
	low, high, usual int      // bounds of a number, and its default
	words            []string // accepted words; the first is the default if it is no number
	text             bool     // any text is accepted
}

// The rights that readers need, the same as for the corresponding packets.
var (
	mayLook = []Right{{Action: "protocol.ctrl", Resource: "list_profiles"}}
	mayRank = []Right{{Action: "protocol.ctrl", Resource: "get_leaderboard"}, {Action: "leaderboard.read", Resource: "global"}}
	mayAsk  = []Right{{Action: "protocol.ctrl", Resource: "get_player_stats"}}
	mayRead = []Right{{Action: "stats.read", Resource: "player"}} // checked when the player is known
	mayMode = []Right{{Action: "game.mode", Resource: "view"}}    // checked for the mode of a board
	mayView = []Right{
		{Action: "protocol.ctrl", Resource: "spectate_game"},
		{Action: "spectate.access", Resource: "view", Key: "mode", Value: "focus"},
	}
	mayViewAll = []Right{
		{Action: "protocol.ctrl", Resource: "spectate_game"},
		{Action: "spectate.access", Resource: "view", Key: "mode", Value: "summary"},
	}
)

// The content types.
const (
	jsonType   = "application/json; charset=utf-8"
	pgnType    = "application/vnd.chess-pgn; charset=utf-8"
	pngType    = "image/png"
	linesType  = "application/x-ndjson"
	eventsType = "text/event-stream"
)

// routes is the table of paths. docs/http.md has a row for each, and /api/openapi.json is
// made of it.
var routes = []route{
	{path: "/api/live", rights: mayLook, handle: (*API).live, kind: jsonType, body: Live{}, says: "how many play, watch and move"},
	{path: "/api/boards/{id}", rights: mayView, handle: (*API).board, kind: jsonType, body: record.Game{}, says: "a board with its moves, running or finished"},
	{path: "/api/boards/{id}/pgn", rights: mayView, handle: (*API).pgn, kind: pgnType, says: "the same game as PGN"},
	{path: "/api/boards/{id}/png", rights: mayView, handle: (*API).png, kind: pngType, says: "a picture of the board as it stands"},
	{path: "/api/players/{handle}", rights: mayAsk, handle: (*API).player, kind: jsonType, body: Player{}, says: "a player's stats"},
	{path: "/api/players/{handle}/scores", rights: mayAsk, handle: (*API).scores, kind: jsonType, body: Scores{}, says: "what each finished board brought a player, newest first", query: []param{
		{name: "limit", says: "rows at most", low: 1, high: 100, usual: 50},
		{name: "before", says: "what the last answer said as next", text: true},
	}},
	{path: "/api/trail", rights: mayAsk, handle: (*API).trail, kind: jsonType, body: record.Trail{}, says: "what became of the reader's moves"},
	{path: "/api/leaderboard", rights: mayRank, handle: (*API).leaderboard, kind: jsonType, body: Leaderboard{}, says: "a page of the ranking", query: []param{
		{name: "by", says: "what is ranked by", words: []string{"score", "rating"}},
		{name: "of", says: "who is ranked", words: []string{"people", "bots"}},
		{name: "limit", says: "rows at most", low: 1, high: 16, usual: 16},
		{name: "offset", says: "rows before the page", low: 0, high: 1_000_000},
		{name: "season", says: "a month, such as 202611, or now: its points are ranked", low: 190001, high: 999912, words: []string{"now"}},
	}},
	{path: "/api/finished", rights: mayView, handle: (*API).finished, kind: linesType, body: line{}, says: "the feed of finished games, one object a line", query: []param{
		{name: "limit", says: "lines at most", low: 1, high: 1000, usual: 100},
		{name: "wait", says: "seconds that an answer without games may wait for one", low: 0, high: 30},
		{name: "last", says: "begin so many games before the newest", low: 1, high: 1000, usual: 100},
		{name: "after", says: "a cursor, or end; without it the feed begins with the oldest game that is kept", text: true},
	}},
	{path: "/api/at", rights: mayViewAll, handle: (*API).began, kind: jsonType, body: Began{}, says: "when the first board was made, and what time it is"},
	{path: "/api/at/{time}", rights: mayViewAll, handle: (*API).past, heavy: true, kind: jsonType, body: Past{}, says: "every board at a time, and the minute after it", query: []param{
		{name: "from", says: "the board to begin with, as the last answer said as next", text: true},
	}},
	{path: "/api/events", rights: mayView, stream: (*API).events, kind: eventsType, says: "what happens, as server-sent events: move, finished, counts, reset", query: []param{
		{name: "board", says: "only this board", low: 1, high: math.MaxInt64},
		{name: "session", says: "only moves of this session", low: 1, high: math.MaxInt64},
		{name: "player", says: "only moves of the player with this handle", text: true},
		{name: "after", says: "the id of the last event that was read; browsers say it as Last-Event-ID", text: true},
	}},
	{path: "/api/openapi.json", rights: mayLook, handle: (*API).openapi, kind: jsonType, says: "these routes, as OpenAPI"},
	{path: "/api/asyncapi.json", rights: mayLook, handle: (*API).asyncapi, kind: jsonType, says: "the messages of /ws/json, as AsyncAPI with JSON Schemas"},
}
