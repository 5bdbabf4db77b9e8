package wire

// The known keys of extension fields, whose types and meanings are in KnownKeys.
const (
	KeySessionCaps             = "session.caps"
	KeyPredictionSource        = "prediction.source"
	KeyPredictionMaxPending    = "prediction.max_pending"
	KeyPredictionRequestKind   = "prediction.request_kind"
	KeyPredictionSubmitStatus  = "prediction.submit_status"
	KeyReservationReservedAt   = "reservation.reserved_at"
	KeyProfileCaps             = "profile.caps"
	KeyProfileTOSAvailable     = "profile.tos_available"
	KeyProfileTOSAccepted      = "profile.tos_accepted"
	KeyProfileWebSocketPort    = "profile.websocket_port"
	KeyProfileWebSocketPath    = "profile.websocket_path"
	KeyProfileReserveTimeout   = "profile.reservation_timeout"
	KeyProfileName             = "profile.name"
	KeyLastMoveFrom            = "last_move.from"
	KeyLastMoveTo              = "last_move.to"
	KeySpectateState           = "spectate.state"
	KeySpectateGeneration      = "spectate.summary_generation"
	KeyStatsRequestID          = "stats.request_id"
	KeyStatsTargetSession      = "stats.target_session_id"
	KeyStatsTargetHasIdentity  = "stats.target_has_identity"
	KeyStatsTargetHandle       = "stats.target_handle"
	KeyStatsTargetPublicKey    = "stats.target_public_key"
	KeyLeaderboardPageIndex    = "leaderboard.page_index"
	KeyLeaderboardPageSize     = "leaderboard.page_size"
	KeyLeaderboardTotalCount   = "leaderboard.total_count"
	KeyLeaderboardSelfRank     = "leaderboard.self.rank"
	KeyLeaderboardSelfSession  = "leaderboard.self.session_id"
	KeyLeaderboardSelfGames    = "leaderboard.self.games_played"
	KeyLeaderboardSelfIdentity = "leaderboard.self.has_identity"
	KeyLeaderboardSelfScore    = "leaderboard.self.score"
	KeyLeaderboardSelfRating   = "leaderboard.self.rating"
	KeyLeaderboardSelfKey      = "leaderboard.self.public_key"
	KeyLeaderboardSeason       = "leaderboard.season"
	KeyLeaderboardBots         = "leaderboard.bots"
	KeyLeaderboardTeams        = "leaderboard.teams"
	KeyRequestSeq              = "request.seq_num"
	KeyErrorBlocking           = "error.blocking"
	KeyBoardFEN                = "board.fen"
	KeyBoardVersion            = "board.version"
	KeyBoardOwnMove            = "board.own_move"
	KeyBoardPly                = "board.ply"
	KeyBoardBot                = "board.bot"
	KeyMoveCrowd               = "move.crowd"
	KeyCrowdMoves              = "crowd.moves"
	KeyWaitPlace               = "wait.place"
	KeyHelloWithoutBoard       = "hello.without_board"
	KeyHelloBot                = "hello.bot"
	KeyHelloCookie             = "hello.cookie"
	KeyGoodbyeReturns          = "goodbye.returns"
	KeyLoginToken              = "login.token"
	KeyLoginServer             = "login.server"
	KeyClusterEndpoint         = "cluster.endpoint"
	KeyClusterHome             = "cluster.home"
	KeyNoticeID                = "notice.id"
	KeyNoticeSeconds           = "notice.seconds"
	KeyNoticeCountdown         = "notice.countdown"
)

// KnownKey is the row of one extension key.
type KnownKey struct {
	Key     string
	Type    Type
	Meaning string
	// Ours says that the original does not have the key; its clients ignore it.
	Ours bool
}

// KnownKeys is the table of extension keys.
var KnownKeys = []KnownKey{
	{Key: KeySessionCaps, Type: TypeInt, Meaning: "what the session may do, a bit mask (see below)"},
	{Key: KeyPredictionSource, Type: TypeString, Meaning: "`tree` or `moves`; sent when predictions may be read"},
	{Key: KeyPredictionMaxPending, Type: TypeInt, Meaning: "pending predictions allowed; sent when one may predict"},
	{Key: KeyPredictionRequestKind, Type: TypeString, Meaning: "`submit` or `tree`: which request PREDICTION_DATA answers"},
	{Key: KeyPredictionSubmitStatus, Type: TypeInt, Meaning: "what became of SUBMIT_PREDICTION, a number (see [Predictions](#predictions))"},
	{Key: KeyReservationReservedAt, Type: TypeInt, Meaning: "when the board was reserved for you, Unix seconds"},
	{Key: KeyProfileCaps, Type: TypeInt, Meaning: "1 you may join, 2 there are terms to read"},
	{Key: KeyProfileTOSAvailable, Type: TypeInt, Meaning: "1 when the profile has terms of service"},
	{Key: KeyProfileTOSAccepted, Type: TypeInt, Meaning: "1 when you have accepted them, or there are none"},
	{Key: KeyProfileWebSocketPort, Type: TypeInt, Meaning: "TCP port of the WebSocket; 0 when there is none"},
	{Key: KeyProfileWebSocketPath, Type: TypeString, Meaning: "path of the WebSocket; absent when there is none"},
	{Key: KeyProfileReserveTimeout, Type: TypeInt, Meaning: "seconds for which a board is reserved"},
	{Key: KeyProfileName, Type: TypeString, Meaning: "the profile that the terms belong to"},
	{Key: KeyLastMoveFrom, Type: TypeInt, Meaning: "square 0–63 that the last move left; always with `last_move.to`"},
	{Key: KeyLastMoveTo, Type: TypeInt, Meaning: "square 0–63 that the last move reached"},
	{Key: KeySpectateState, Type: TypeString, Meaning: "`idle`, `summary` or `focus`: what you watch from now on"},
	{Key: KeySpectateGeneration, Type: TypeInt, Meaning: "number of the summary that the board belongs to"},
	{Key: KeyStatsRequestID, Type: TypeInt, Meaning: "number of your choice, echoed when over 0"},
	{Key: KeyStatsTargetSession, Type: TypeInt, Meaning: "session whose stats are asked for, or shown"},
	{Key: KeyStatsTargetHasIdentity, Type: TypeInt, Meaning: "1 when that session has an identity"},
	{Key: KeyStatsTargetHandle, Type: TypeString, Meaning: "handle whose stats are asked for, or shown; may be empty"},
	{Key: KeyStatsTargetPublicKey, Type: TypeString, Meaning: "refused: stats are not looked up by key"},
	{Key: KeyLeaderboardPageIndex, Type: TypeInt, Meaning: "page, from 0; a negative one counts as 0"},
	{Key: KeyLeaderboardPageSize, Type: TypeInt, Meaning: "rows of a page"},
	{Key: KeyLeaderboardTotalCount, Type: TypeInt, Meaning: "rows of all pages"},
	{Key: KeyLeaderboardSelfRank, Type: TypeInt, Meaning: "your own row, when it is not on the page: rank"},
	{Key: KeyLeaderboardSelfSession, Type: TypeInt, Meaning: "your own row: session id"},
	{Key: KeyLeaderboardSelfGames, Type: TypeInt, Meaning: "your own row: games"},
	{Key: KeyLeaderboardSelfIdentity, Type: TypeInt, Meaning: "your own row: 1 with an identity"},
	{Key: KeyLeaderboardSelfScore, Type: TypeDouble, Meaning: "your own row: score"},
	{Key: KeyLeaderboardSelfRating, Type: TypeDouble, Meaning: "your own row: rating"},
	{Key: KeyLeaderboardSelfKey, Type: TypeString, Meaning: "your own row: public key, 64 lower-case hexadecimal digits"},
	{Key: KeyLeaderboardSeason, Type: TypeInt, Meaning: "in GET_LEADERBOARD a month, 202611, or 1 for the present one; in the answer that month, whose points are ranked; absent: all time", Ours: true},
	{Key: KeyLeaderboardBots, Type: TypeInt, Meaning: "1 in GET_LEADERBOARD asks for the ranking of programs; in LEADERBOARD_DATA which rows are programs: bit 0 is the first row", Ours: true},
	{Key: KeyLeaderboardTeams, Type: TypeString, Meaning: "with a season, if the host has teams: yours, `w` or `b`, what White's team and Black's have won, and the team of each row: `b 120.5 98.25 wbb`", Ours: true},
	{Key: KeyRequestSeq, Type: TypeInt, Meaning: "sequence number of the request that this answers; absent when 0"},
	{Key: KeyErrorBlocking, Type: TypeInt, Meaning: "1: do not just try again (say hello, choose another profile)"},
	{Key: KeyBoardFEN, Type: TypeString, Meaning: "the whole FEN of the board: the payload has only its first two fields", Ours: true},
	{Key: KeyBoardVersion, Type: TypeInt, Meaning: "grows with every change of the board", Ours: true},
	{Key: KeyBoardOwnMove, Type: TypeString, Meaning: "the move that you made last on this board, in UCI; absent when you have not moved there", Ours: true},
	{Key: KeyBoardPly, Type: TypeInt, Meaning: "moves made on a watched board; in PLAYER_MOVE, as the player sees it: if the board has others, the move is refused", Ours: true},
	{Key: KeyBoardBot, Type: TypeInt, Meaning: "1 on a watched board whose last move a program made; absent: a person did", Ours: true},
	{Key: KeyMoveCrowd, Type: TypeInt, Meaning: "1 in PLAYER_MOVE: tell how others have moved in this position", Ours: true},
	{Key: KeyCrowdMoves, Type: TypeString, Meaning: "in the answer to such a move: what people have played in that position since the server started, with how often: `e2e4 12 d2d4 5`; at most four. Absent for a new position, or too late in a game", Ours: true},
	{Key: KeyWaitPlace, Type: TypeInt, Meaning: "all boards are held, and so many players get one before you and with you; BOARD_UPDATE shows you yours when it is your turn", Ours: true},
	{Key: KeyHelloWithoutBoard, Type: TypeInt, Meaning: "in CLIENT_HELLO, 1: when no board is free, a session without one will do; 2, also in LOGIN_REQUEST with a signature: no board is wanted, and one that is held is kept as for a silent player", Ours: true},
	{Key: KeyHelloBot, Type: TypeInt, Meaning: "1 in CLIENT_HELLO: the player is a program, ranked among programs for ever, with every identity that it has or gets", Ours: true},
	{Key: KeyHelloCookie, Type: TypeString, Meaning: "in CLIENT_HELLO by UDP, 36 characters: the cookie, then anything; in an ERROR: the 32 digits of a cookie to say hello with (see [Cookies](#cookies))", Ours: true},
	{Key: KeyGoodbyeReturns, Type: TypeInt, Meaning: "1 in CLIENT_GOODBYE: only the board is given back; the session stays, and gets it again if its player returns before another has it", Ours: true},
	{Key: KeyLoginToken, Type: TypeInt, Meaning: "1 in LOGIN_REQUEST with a signature: the client takes over the token of LOGIN_SUCCESS, which is a new one", Ours: true},
	{Key: KeyLoginServer, Type: TypeString, Meaning: "in LOGIN_REQUEST with a signature: the host and port that the client has connected to; the signature names them, too", Ours: true},
	{Key: KeyClusterEndpoint, Type: TypeString, Meaning: "in SERVER_HELLO: the hosts of all machines, separated by spaces; a client that has lost one tries them in turn, on the port that it used", Ours: true},
	{Key: KeyClusterHome, Type: TypeString, Meaning: "in SERVER_HELLO and in the answer to a move, if another machine passed the request on: the host, of `cluster.endpoint`, that serves the session. A client may go on there, on the port that it used", Ours: true},
	{Key: KeyNoticeID, Type: TypeInt, Meaning: "number of an announcement that stays; it comes again with each SERVER_HELLO, and is to be shown once", Ours: true},
	{Key: KeyNoticeSeconds, Type: TypeInt, Meaning: "how long that announcement stays from now on; 0: it is withdrawn", Ours: true},
	{Key: KeyNoticeCountdown, Type: TypeInt, Meaning: "1: at the end of that time happens what is announced; show how much of it is left", Ours: true},
}

// ours has the keys that the original lacks.
var ours = func() map[string]bool {
	m := map[string]bool{}
	for _, k := range KnownKeys {
		if k.Ours {
			m[k.Key] = true
		}
	}
	return m
}()

// interned maps known keys to their strings, so that decoding one does not allocate.
var interned = func() map[string]string {
	m := make(map[string]string, len(KnownKeys))
	for _, k := range KnownKeys {
		m[k.Key] = k.Key
	}
	return m
}()

func internKey(b []byte) string {
	if s, ok := interned[string(b)]; ok {
		return s
	}
	return string(b)
}

// SessionCaps are the bits of session.caps.
type SessionCaps int64

// The bits.
const (
	MayAttachIdentity  SessionCaps = 0x001 // log in
	MayLogout          SessionCaps = 0x002 // log out
	MayMove            SessionCaps = 0x004 // move, and ask for legal moves
	MayReadStats       SessionCaps = 0x008 // read stats
	MayReadLeaderboard SessionCaps = 0x010 // read the leaderboard
	MayWatchSummary    SessionCaps = 0x020 // watch all boards
	MayWatchFocus      SessionCaps = 0x040 // watch one board
	MayPredict         SessionCaps = 0x080 // predict
	MayReadPredictions SessionCaps = 0x100 // read predictions
	MaySeeGameMode     SessionCaps = 0x200 // see whether a board plays Chess960
)

// The bits of profile.caps.
const (
	ProfileMayJoin  = 0x1
	ProfileHasTerms = 0x2
)

// The values of prediction.source, prediction.request_kind and spectate.state.
const (
	SourceTree      = "tree"
	SourceMoves     = "moves"
	KindSubmit      = "submit"
	KindTree        = "tree"
	SpectateIdle    = "idle"
	SpectateSummary = "summary"
	SpectateFocus   = "focus"
)
