package config

import "time"

// An option is one tagged field of a file options*.go, and nothing else: parsing,
// checking, defaults, comparison, display and docs/configuration.md are
// derived from it. The tags are
//
//	option   its name in a configuration file
//	default  its value when nothing sets it; "" is unset
//	range    low..high, inclusive; of a string the length in bytes
//	set      the words it may be, separated by |; n=word also takes the number n
//	unit     what it counts; of a time.Duration what a number means
//	room     the package that reads it
//	reload   what a change needs on reload (see Effect); live if absent
//	check    a further check (see checks)
//	inherit  "no": only a profile's own definition counts
//
// The doc comment of a field is its manual; its first sentence begins with
// the field's name and stands alone. A field of type Secret is never shown.

// Server is what the whole process shares. These options are set at top
// level; inside a profile they are an error, but for state-dir, which is ignored there.
type Server struct {
	// DataDir is the directory of what must survive a restart: journal, SQLite
	// databases, control socket, admin token. Unset means wamble in
	// $XDG_STATE_HOME, else in ~/.local/state. The flag --data goes before it.
	DataDir string `option:"data-dir" default:"" range:"0..4096" room:"server" reload:"restart"`

	// StateDir is where the state files of a handoff and the pid file are
	// written. Unset means the data directory. It must not be world-writable.
	StateDir string `option:"state-dir" default:"" range:"0..4096" room:"handoff"`

	// Journal says where a move is kept before the player is answered: disk is the
	// data directory; postgres is a PostgreSQL database, so that another machine
	// goes on when this one is lost, for which all profiles must keep their games
	// in PostgreSQL.
	Journal string `option:"journal" default:"disk" set:"disk|postgres" room:"server" reload:"restart"`

	// JournalHost is db-host for the journal's database. Unset, as with all of
	// journal-db-*, means that of the games of the first profile.
	JournalHost string `option:"journal-db-host" default:"" range:"0..1023" room:"server" reload:"restart"`

	// JournalPort is db-port for the journal's database.
	JournalPort int `option:"journal-db-port" default:"0" range:"0..65535" room:"server" reload:"restart"`

	// JournalUser is db-user for the journal's database.
	JournalUser string `option:"journal-db-user" default:"" range:"0..63" room:"server" reload:"restart"`

	// JournalPass is db-pass for the journal's database.
	JournalPass Secret `option:"journal-db-pass" default:"" range:"0..1024" room:"server" reload:"restart"`

	// JournalPassFile is db-pass-file for the journal's database.
	JournalPassFile string `option:"journal-db-pass-file" default:"" range:"0..4096" room:"server" reload:"restart"`

	// JournalDatabase is db-name for the journal's database.
	JournalDatabase string `option:"journal-db-name" default:"" range:"0..63" room:"server" reload:"restart"`

	// JournalSSLMode is db-sslmode for the journal's database; like means that of
	// the games.
	JournalSSLMode string `option:"journal-db-sslmode" default:"like" set:"like|disable|allow|prefer|require|verify-ca|verify-full" room:"server" reload:"restart"`

	// JournalName tells installations apart whose journals are in one database.
	JournalName string `option:"journal-name" default:"main" range:"1..63" check:"name" room:"server" reload:"restart"`

	// JournalNode is how this machine is called among those of one journal.
	// Unset means its host name.
	JournalNode string `option:"journal-node" default:"" range:"0..63" room:"server" reload:"restart"`

	// ClusterAddress is where the other machines that share a journal reach this
	// one, as HOST:PORT; only they have to. Unset means that players must write to
	// the machine that serves them.
	ClusterAddress string `option:"cluster-address" default:"" range:"0..255" check:"endpoint" room:"server" reload:"restart"`

	// JournalMemory is how much memory the messages may take that the games'
	// database does not have yet, with a journal in PostgreSQL. The shards share
	// it; no move is taken when an eighth of a share is left.
	JournalMemory int `option:"journal-memory-mb" default:"1024" range:"256..1048576" unit:"MB" room:"server" reload:"restart"`

	// Durability says how a move is kept before the player is answered: with fsync
	// it survives the loss of power, with write the death of the process alone,
	// faster on slow disks.
	Durability string `option:"durability" default:"fsync" set:"fsync|write" room:"journal" reload:"handoff"`

	// DiskReserve is the free space at which the server stops taking moves,
	// before the disk is full and the journal fails. 0 turns the check off. A
	// journal in PostgreSQL has journal-memory-mb instead.
	DiskReserve int `option:"disk-reserve-mb" default:"128" range:"0..1048576" unit:"MB" room:"journal" reload:"handoff"`

	// JournalKeep is how long messages are kept that the database has, so that they
	// can be brought to a standby that was behind when it took the database's
	// place. 0 keeps nothing.
	JournalKeep time.Duration `option:"journal-keep" default:"600" range:"0..86400" unit:"s" room:"journal" reload:"handoff"`

	// JournalKeepSize bounds what is kept of one profile for journal-keep.
	JournalKeepSize int `option:"journal-keep-mb" default:"128" range:"16..1048576" unit:"MB" room:"journal" reload:"handoff"`

	// RestartKeepSize bounds what is kept of one profile for a start after a
	// crash. If it does not do, such a start reads the database.
	RestartKeepSize int `option:"restart-keep-mb" default:"512" range:"16..1048576" unit:"MB" room:"journal" reload:"handoff"`

	// AdminListen is the address of the admin listener with the metrics and
	// the host's console. Keep it on loopback; "" turns it off.
	AdminListen string `option:"admin-listen" default:"127.0.0.1:8887" range:"0..255" check:"hostport" room:"server" reload:"listener"`

	// AdminTokenFile is the file that holds the token which opens the console.
	// Unset means admin-token in the data directory, made at the first start.
	AdminTokenFile string `option:"admin-token-file" default:"" range:"0..4096" room:"server"`

	// AdminPprof lets the admin listener serve profiles of the program under
	// /debug/pprof/, for tokens with the role operate: memory, processor and
	// goroutines, which a developer reads with go tool pprof.
	AdminPprof bool `option:"admin-pprof" default:"0" room:"server"`

	// TraceEndpoint is where a collector of OpenTelemetry takes traces of single
	// moves, as OTLP in JSON over HTTP. What it does not take is dropped. Unset
	// means that no move is followed.
	TraceEndpoint string `option:"trace-endpoint" default:"" range:"0..1024" check:"http" room:"server"`

	// TraceEvery is how many moves of a profile there are to one that is followed, if
	// there is a trace-endpoint.
	TraceEvery int `option:"trace-every" default:"1000" range:"1..1000000" unit:"moves" room:"server"`

	// ACMEDirectory is the address of the certificate authority that domain gets
	// certificates from; it speaks ACME. Unset means Let's Encrypt.
	ACMEDirectory string `option:"acme-directory" default:"" range:"0..1024" check:"https" room:"server" reload:"handoff"`

	// ACMEEmail is where the certificate authority writes when something is wrong
	// with a certificate of domain.
	ACMEEmail string `option:"acme-email" default:"" range:"0..254" room:"server" reload:"handoff"`

	// ACMERoots is a file with the certificates, in PEM form, that acme-directory is
	// trusted by, if this machine does not trust it anyway.
	ACMERoots string `option:"acme-roots" default:"" range:"0..4096" room:"server" reload:"handoff"`

	// RedirectPort is the TCP port on which plain HTTP is sent to https and the
	// certificate authority's challenges are answered, if a profile has a domain.
	// 0 turns it off.
	RedirectPort int `option:"redirect-port" default:"80" range:"0..65535" room:"server"`

	// LogFormat is how log lines are written: text for people, json for
	// machines.
	LogFormat string `option:"log-format" default:"text" set:"text|json" room:"server"`

	// ShutdownTimeout is how long a stopping server may take to leave its partitions to
	// other machines, and to bring the journal to the store. What is left is safe,
	// and brought there later.
	ShutdownTimeout time.Duration `option:"shutdown-timeout" default:"10" range:"0..3600" unit:"s" room:"server"`

	Backups Backups
}

// Options is what every profile has for itself: a profile's own definition
// counts, else that of its base, else that of the top level, else the default.
type Options struct {
	Standing    Standing
	Network     Network
	Link        Link
	Sessions    Sessions
	Boards      Boards
	Assignment  Assignment
	Scoring     Scoring
	Predictions Predictions
	Spectators  Spectators
	Store       Store
	Database    Database
}

// Standing is how a profile appears to players and what they must agree to.
type Standing struct {
	// Advertise gives the profile a listener and lists it to players. A
	// profile that is not advertised does not run, unless a policy rule for
	// profile.discover.override allows somebody to see it.
	Advertise bool `option:"advertise" default:"0" room:"server"`

	// Visibility is the trust tier that a player needs to see the profile in
	// lists. 0 shows it to everybody.
	Visibility int `option:"visibility" default:"0" range:"0..2147483647" unit:"tier" room:"session"`

	// Abstract makes the profile a template: it never runs and is never seen,
	// other profiles inherit from it. It is not inherited itself.
	Abstract bool `option:"abstract" default:"0" inherit:"no" room:"server"`

	// ProfileGroup names the group under which policy rules address the
	// profile as profile_group:NAME.
	ProfileGroup string `option:"profile-group" default:"" range:"0..64" check:"name" room:"access"`

	// TermsText is the terms of service. If it is not empty, players must
	// accept it before they play, and again whenever it changes.
	TermsText string `option:"tos-text" default:"" range:"0..65536" room:"session"`

	// PolicyDefault is the answer to a request that no policy rule matches:
	// allow opens the profile to everybody, deny closes it to all but those
	// whom a rule admits.
	PolicyDefault string `option:"policy-default" default:"allow" set:"allow|deny" room:"access"`

	// LogLevel is how much the profile logs; each level includes those before
	// it.
	LogLevel string `option:"log-level" default:"info" set:"0=fatal|1=error|2=warn|3=info|4=debug" room:"server"`
}

// Network is where a profile listens. UDP, HTTP and WebSocket share one port
// number unless told otherwise.
type Network struct {
	// ListenAddress is the IP address to listen on. Unset means all, IPv6 and
	// IPv4; answers leave from the address that was asked.
	ListenAddress string `option:"listen-address" default:"" range:"0..45" check:"address" room:"transport" reload:"listener"`

	// ClusterEndpoints are the hosts at which players reach the machines that
	// share a journal, separated by spaces: a client or page that has lost one
	// tries the others. Clients of the original need an address that moves.
	ClusterEndpoints string `option:"cluster-endpoints" default:"" range:"0..400" room:"profile"`

	// ClusterHost is the one of cluster-endpoints at which players reach this
	// machine; clients that another machine passes on are told to go on here.
	// Unset means listen-address, if it is one of them.
	ClusterHost string `option:"cluster-host" default:"" range:"0..253" room:"profile"`

	// UDPEnabled serves the game over UDP, which is not encrypted. With 0 players
	// come over WebSocket, and only the house bots use UDP, on loopback.
	UDPEnabled bool `option:"udp-enabled" default:"1" room:"transport" reload:"listener"`

	// Port is the UDP port of the game. 0 lets the kernel choose one.
	Port int `option:"port" default:"8888" range:"0..65535" room:"transport" reload:"listener"`

	// HTTPPort is the TCP port of the web client and the read-only HTTP
	// routes. 0 means that of websocket-port, or 443 with domain, or the same
	// number as port; -1 turns HTTP off.
	HTTPPort int `option:"http-port" default:"0" range:"-1..65535" room:"transport" reload:"listener"`

	// HTTPMaxConnections is how many TCP connections the profile holds at a
	// time, WebSocket clients included. When all are taken, the host that holds
	// most loses its idlest one to a newcomer from elsewhere.
	HTTPMaxConnections int `option:"http-max-connections" default:"4096" range:"1..1000000" unit:"connections" room:"transport" reload:"listener"`

	// HTTPMaxPerIP is how many of those connections one IP address, or one /56
	// of IPv6, may hold; an idle one gives way to the next. Of clients behind a
	// proxy see trusted-proxies.
	HTTPMaxPerIP int `option:"http-max-connections-per-ip" default:"128" range:"1..1000000" unit:"connections" room:"transport" reload:"listener"`

	// WebSocketEnabled lets browsers play over WebSocket.
	WebSocketEnabled bool `option:"websocket-enabled" default:"1" room:"transport" reload:"listener"`

	// WebSocketPort is the TCP port for WebSocket, which it shares with HTTP.
	// 0 means the HTTP port, or the number of port if HTTP is off.
	WebSocketPort int `option:"websocket-port" default:"0" range:"0..65535" room:"transport" reload:"listener"`

	// WebSocketPath is the path of the WebSocket address.
	WebSocketPath string `option:"websocket-path" default:"/ws" range:"1..255" check:"path" room:"transport" reload:"listener"`

	// WebSocketOrigins lists the pages that may open a WebSocket besides those
	// of this server, by their origins and separated by spaces; * is any page.
	WebSocketOrigins string `option:"websocket-origins" default:"" range:"0..4096" check:"origins" room:"transport"`

	// TrustedProxies are the proxies before this server: who comes through one is
	// known by the address that it gives, in X-Forwarded-For, in Forwarded or by
	// the PROXY protocol, version 2. Nobody else is believed.
	TrustedProxies string `option:"trusted-proxies" default:"" range:"0..4096" check:"networks" room:"transport"`

	// Domain is the name by which players reach the server, or several. The server
	// gets and renews certificates for them (see acme-directory, whose terms you
	// accept with it): HTTP and WebSocket are encrypted, plain HTTP is sent there
	// (redirect-port), and browsers are told to use nothing else (HSTS).
	Domain string `option:"domain" default:"" range:"0..1024" check:"domains" room:"server" reload:"listener"`

	// TLSCert is the file with the TLS certificate chain in PEM form; with it
	// and tls-key, HTTP and WebSocket are encrypted. Both files are read again
	// on every reload.
	TLSCert string `option:"tls-cert" default:"" range:"0..4096" room:"transport"`

	// TLSKey is the file with the private key of tls-cert in PEM form.
	TLSKey string `option:"tls-key" default:"" range:"0..4096" room:"transport"`

	// BufferSize is the size of the receive and send buffers of the UDP
	// socket. Unset means 8 MiB, for receiving 2 MiB except during a handoff.
	BufferSize int `option:"buffer-size" default:"" range:"1024..1073741824" unit:"bytes" room:"transport" reload:"listener"`

	// SelectTimeout is how long the profile's loop waits for packets at most
	// before it looks at its clocks again.
	SelectTimeout time.Duration `option:"select-timeout-usec" default:"100000" range:"100..10000000" unit:"µs" room:"server"`
}

// Link is the reliable delivery of packets, and what one client may demand.
type Link struct {
	// Timeout is the shortest wait for the acknowledgement of a reliable packet
	// before it is sent again. While the round trip of a client is not known,
	// the wait is at least 250 ms.
	Timeout time.Duration `option:"timeout-ms" default:"100" range:"1..60000" unit:"ms" room:"link"`

	// MaxRetries is how often a reliable packet is sent in all before it is
	// given up, as in the original. 0 counts as 1.
	MaxRetries int `option:"max-retries" default:"3" range:"0..100" unit:"copies" room:"link"`

	// RTOCap is the longest that the adaptive timeout may grow.
	RTOCap time.Duration `option:"rto-cap-ms" default:"8000" range:"100..60000" unit:"ms" room:"link"`

	// TerminalCacheTTL is how long an answer is kept to be repeated to a
	// client that asks the same again.
	TerminalCacheTTL time.Duration `option:"terminal-cache-ttl-ms" default:"2000" range:"0..600000" unit:"ms" room:"link"`

	// SessionTimeout is how long a silent client's network session, and that
	// of a spectator, is kept.
	SessionTimeout time.Duration `option:"session-timeout" default:"300" range:"1..86400" unit:"s" room:"link"`

	// MaxClientSessions is how many network sessions, players and spectators
	// together, the profile keeps at a time. Addresses that have not proven
	// themselves have a quarter as many places beside them.
	MaxClientSessions int `option:"max-client-sessions" default:"1024" range:"1..10000000" unit:"sessions" room:"link"`

	// RateLimit is how many requests a second one player may make. 0 turns the
	// limit off.
	RateLimit int `option:"rate-limit-requests-per-sec" default:"120" range:"0..1000000" unit:"requests/s" room:"link"`

	// RateLimitIP is how many requests a second may come from one IP address: over
	// connections, in datagrams from proven addresses, and in all other datagrams,
	// each counted apart. 0 turns the limit off.
	RateLimitIP int `option:"rate-limit-ip-requests-per-sec" default:"1200" range:"0..10000000" unit:"requests/s" room:"link"`
}

// Sessions is who may play and how long the server remembers them.
type Sessions struct {
	// MaxPlayers is how many sessions the profile keeps in memory at a time;
	// colder ones wait in the store.
	MaxPlayers int `option:"max-players" default:"1024" range:"1..10000000" unit:"sessions" room:"session"`

	// HouseBots is how many players of its own the server keeps for quiet hours, of a
	// club beginner's strength unless there is a house-bot-engine: for each person who
	// plays one of them leaves.
	HouseBots int `option:"house-bots" default:"0" range:"0..64" unit:"players" room:"server"`

	// HouseBotEngine is the command of a UCI engine that plays for the house bots:
	// "/usr/games/stockfish". One process serves them all, and runs only while one
	// of them is here. Unset, or when it does not start, the built-in player
	// plays.
	HouseBotEngine string `option:"house-bot-engine" default:"" range:"0..1024" room:"server"`

	// HouseBotElo limits the strength of house-bot-engine to a rating (its UCI_Elo;
	// Stockfish takes 1320 and more). 0 leaves it as it is.
	HouseBotElo int `option:"house-bot-elo" default:"0" range:"0..4000" room:"server"`

	// MaxBots is how many players may be here at a time who say that they are
	// programs. 0 lets none in. They are ranked among themselves.
	MaxBots int `option:"max-bots" default:"64" range:"0..1000000" unit:"sessions" room:"profile"`

	// MaxBotShare is how much of all who are here such programs may be while
	// people are here, too; one more than that is refused until more people come.
	MaxBotShare int `option:"max-bot-share" default:"100" range:"0..100" unit:"%" room:"profile"`

	// TokenExpiration is how long a player who is away stays in memory.
	TokenExpiration time.Duration `option:"token-expiration" default:"86400" range:"1..315360000" unit:"s" room:"session"`

	// TokenLifetime is how long the token of a player with an identity stays
	// good without a visit; then they log in again. 0 keeps it for ever.
	TokenLifetime int `option:"token-lifetime" default:"30" range:"0..36500" unit:"days" room:"session"`

	// MaxTokenAttempts is how many random tokens are drawn for a new session
	// before the request is refused, should all of them be taken.
	MaxTokenAttempts int `option:"max-token-attempts" default:"1000" range:"1..1000000" unit:"draws" room:"session"`

	// NewPlayersPerIP is how many new sessions a minute one IP address may
	// open by datagrams, and as many over connections. Of several machines each
	// counts its own. 0 turns the limit off.
	NewPlayersPerIP int `option:"new-players-per-ip-per-min" default:"60" range:"0..1000000" unit:"sessions/min" room:"session"`

	// UnconfirmedTimeout is how long a new session is kept whose client never
	// speaks again.
	UnconfirmedTimeout time.Duration `option:"unconfirmed-timeout" default:"60" range:"1..86400" unit:"s" room:"session"`

	// LoginAttempts is how often a minute one IP address may try to log in. 0
	// turns the limit off.
	LoginAttempts int `option:"login-attempts-per-min" default:"30" range:"0..1000000" unit:"attempts/min" room:"session"`

	// LoginServers are further names by which players reach this server, separated
	// by spaces, in lower case: host, or host:port. Those of domain,
	// cluster-endpoints and cluster-host are known. A signature that names another
	// server is refused, so that none can hand on a login: players who come by an
	// address, or to localhost, need that here. Without any name every one is
	// accepted.
	LoginServers string `option:"login-servers" default:"" range:"0..4096" room:"session"`

	// LoginLegacy accepts signatures that name no server, as clients of the
	// original make them. Such a login can be handed on by another server: set it
	// to 0 unless players use such clients.
	LoginLegacy bool `option:"login-legacy" default:"1" room:"session"`

	// Retention is how long anonymous sessions without a visit, their
	// predictions and what they were shown stay in the store. 0 keeps them for
	// ever.
	Retention int `option:"retention-days" default:"90" range:"0..36500" unit:"days" room:"session"`
}

// Boards is the pool of boards that the players share.
type Boards struct {
	// Shards is how many loops serve the profile, each on a core of its own: a power
	// of two. Players stay in one of them, boards travel. Few players are served by
	// the first alone. `wamble shards` changes it in a world that has boards.
	Shards int `option:"shards" default:"1" range:"1..64" unit:"loops" room:"server" reload:"restart"`

	// MaxBoards is how many unfinished boards there may be.
	MaxBoards int `option:"max-boards" default:"1024" range:"1..10000000" unit:"boards" room:"board"`

	// MinBoards is how many boards are in play at least.
	MinBoards int `option:"min-boards" default:"4" range:"0..10000000" unit:"boards" room:"board"`

	// PerPlayer is how many boards are in play for each player who is here. The
	// others sleep until more people come; then the most advanced wake first.
	// Fewer boards make games end sooner, more make it rarer that a player meets
	// the same board again.
	PerPlayer float64 `option:"boards-per-player" default:"2.0" range:"1..1000" unit:"boards" room:"board"`

	// InactivityTimeout is how long after its last move a board counts as active.
	// A holder who is silent for so long counts as gone: the board is free
	// for others, and the holder's again on a return before another has it. For
	// clients that send signs of life, as ours do, `away-timeout` counts.
	InactivityTimeout time.Duration `option:"inactivity-timeout" default:"300" range:"1..315360000" unit:"s" room:"board"`

	// AwayTimeout is how long a holder with a client that sends signs of life may
	// show none, which is any packet, before it counts as gone.
	AwayTimeout time.Duration `option:"away-timeout" default:"120" range:"1..315360000" unit:"s" room:"board"`

	// DisconnectTimeout is how long after the end of its connection a holder
	// counts as gone.
	DisconnectTimeout time.Duration `option:"disconnect-timeout" default:"15" range:"1..315360000" unit:"s" room:"board"`

	// IdentityAwayTimeout is how long the board of a player with an identity who
	// is gone is kept for them alone, since the last sign of life and within
	// `reservation-timeout`. 0 keeps it as long as anybody's.
	IdentityAwayTimeout time.Duration `option:"identity-away-timeout" default:"0" range:"0..315360000" unit:"s" room:"board"`

	// ReservationTimeout is how long a board waits at most for the move of the
	// player who holds it, though they are here.
	ReservationTimeout time.Duration `option:"reservation-timeout" default:"1209600" range:"1..315360000" unit:"s" room:"board"`

	// MaxMoves is the number of plies at which a game is drawn.
	MaxMoves int `option:"max-moves-per-board" default:"1000" range:"1..100000" unit:"plies" room:"board"`

	// Chess960Interval makes every board whose number it divides a Chess960
	// board. 0 makes all of them, -1 none.
	Chess960Interval int `option:"chess960-interval" default:"-1" range:"-1..2147483647" unit:"boards" room:"board"`

	// KeepShownMoves keeps in the store which last move each player was shown
	// with a board, for those who study how people play. It costs one more row
	// for every move.
	KeepShownMoves bool `option:"keep-shown-moves" default:"0" room:"profile"`
}

// Assignment weighs which board a player gets next, by experience (new
// means fewer than ten games) and by the phase of the game (early before move
// 10, end from move 30). A board of twice the weight is drawn twice as often. The
// weight is multiplied by the square of the time that the board has waited since its
// last move; while others play in the shard nobody gets a board on which they moved last,
// unless there is no other one and `max-boards` allows no more.
type Assignment struct {
	// NewEarly is the weight of an early board for a new player.
	NewEarly float64 `option:"new-player-early-phase-mult" default:"2.0" range:"0..1000000" room:"board"`

	// NewMid is the weight of a middle game for a new player.
	NewMid float64 `option:"new-player-mid-phase-mult" default:"1.0" range:"0..1000000" room:"board"`

	// NewEnd is the weight of an endgame for a new player.
	NewEnd float64 `option:"new-player-end-phase-mult" default:"0.5" range:"0..1000000" room:"board"`

	// ExperiencedEarly is the weight of an early board for an experienced
	// player.
	ExperiencedEarly float64 `option:"experienced-player-early-phase-mult" default:"0.5" range:"0..1000000" room:"board"`

	// ExperiencedMid is the weight of a middle game for an experienced player.
	ExperiencedMid float64 `option:"experienced-player-mid-phase-mult" default:"1.0" range:"0..1000000" room:"board"`

	// ExperiencedEnd is the weight of an endgame for an experienced player.
	ExperiencedEnd float64 `option:"experienced-player-end-phase-mult" default:"2.0" range:"0..1000000" room:"board"`
}

// Scoring is what a finished board pays, and where ratings begin.
type Scoring struct {
	// MaxPot is how many points a finished board shares out among those who moved
	// for the winner, or among all after a draw. A side for which only one player
	// moved gets half of its part, a player who moved for both sides half, who
	// played alone nothing.
	MaxPot float64 `option:"max-pot" default:"20.0" range:"0..1000000" unit:"points" room:"reward"`

	// MaxContributors is how many players of a board are paid, counted from
	// its first move.
	MaxContributors int `option:"max-contributors" default:"100" range:"1..100000" unit:"players" room:"reward"`

	// Season says whether points are also ranked month by month, beside all time.
	Season string `option:"season" default:"month" set:"off|month" room:"profile"`

	// TeamSeason lets every player play for White or for Black, by lot and for a month: the
	// leaderboard of the month shows what both teams have won.
	TeamSeason bool `option:"team-season" default:"0" room:"profile"`

	// KFactor is how many points of rating a whole game puts at stake for each
	// side, which its players share by their moves. 0 turns ratings off.
	KFactor float64 `option:"k-factor" default:"32" range:"0..1000" unit:"points" room:"reward"`

	// DefaultRating is the rating of a new player.
	DefaultRating int `option:"default-rating" default:"1200" range:"0..10000" room:"reward"`
}
