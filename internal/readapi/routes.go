package readapi

// route is the row of one path.
type route struct {
	path   string
	rights []Right
	handle func(*API, reader) (*answer, error)
}

// What a reader must be allowed: the same as whoever asks by a packet.
var (
	mayLook = []Right{{Action: "protocol.ctrl", Resource: "list_profiles"}}
	mayRank = []Right{{Action: "protocol.ctrl", Resource: "get_leaderboard"}, {Action: "leaderboard.read", Resource: "global"}}
	mayAsk  = []Right{{Action: "protocol.ctrl", Resource: "get_player_stats"}}
	mayRead = []Right{{Action: "stats.read", Resource: "player"}} // asked when it is known about whom
	mayMode = []Right{{Action: "game.mode", Resource: "view"}}    // asked about a board that is shown
	mayView = []Right{
		{Action: "protocol.ctrl", Resource: "spectate_game"},
		{Action: "spectate.access", Resource: "view", Key: "mode", Value: "focus"},
	}
	mayViewAll = []Right{
		{Action: "protocol.ctrl", Resource: "spectate_game"},
		{Action: "spectate.access", Resource: "view", Key: "mode", Value: "summary"},
	}
)

// routes is the one table of paths. docs/http.md has a row for each.
var routes = []route{
	{"/api/live", mayLook, (*API).live},
	{"/api/boards/{id}", mayView, (*API).board},
	{"/api/boards/{id}/pgn", mayView, (*API).pgn},
	{"/api/boards/{id}/png", mayView, (*API).png},
	{"/api/players/{handle}", mayAsk, (*API).player},
	{"/api/players/{handle}/scores", mayAsk, (*API).scores},
	{"/api/trail", mayAsk, (*API).trail},
	{"/api/leaderboard", mayRank, (*API).leaderboard},
	{"/api/finished", mayView, (*API).finished},
	{"/api/at", mayViewAll, (*API).began},
	{"/api/at/{time}", mayViewAll, (*API).past},
}
