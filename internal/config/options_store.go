package config

import "time"

// Spectators is who may watch, and how much of it is sent.
type Spectators struct {
	// MaxSpectators is how many may watch at a time; -1 is no limit.
	MaxSpectators int `option:"max-spectators" default:"1024" range:"-1..10000000" unit:"spectators" room:"spectate"`

	// AdminTrustLevel is the trust tier from which a spectator of a single
	// board is let in though all places are taken. -1 is nobody.
	AdminTrustLevel int `option:"admin-trust-level" default:"-1" range:"-1..2147483647" unit:"tier" room:"spectate"`

	// Visibility is the trust tier that a player needs to watch.
	Visibility int `option:"spectator-visibility" default:"0" range:"0..2147483647" unit:"tier" room:"spectate"`

	// SummaryHz is how often a second the wall of boards is sent to a watcher.
	// 0 sends it once.
	SummaryHz int `option:"spectator-summary-hz" default:"2" range:"0..1000" unit:"Hz" room:"spectate"`

	// FocusHz is how often a second a single watched board is sent. 0 sends it
	// once.
	FocusHz int `option:"spectator-focus-hz" default:"20" range:"0..1000" unit:"Hz" room:"spectate"`

	// MaxFocus is how many single boards a session may watch; 0 leaves only
	// the wall, and more than 1 acts as 1.
	MaxFocus int `option:"spectator-max-focus-per-session" default:"1" range:"0..64" unit:"boards" room:"spectate"`

	// SummaryMode says what an update of the wall holds: changes only the
	// boards that moved, full all of them.
	SummaryMode string `option:"spectator-summary-mode" default:"changes" set:"changes|full" room:"spectate"`

	// PacketsPerWatcher is how many packets a second one watcher gets at most,
	// boards that moved last first. 0 turns the limit off.
	PacketsPerWatcher int `option:"spectator-packets-per-sec" default:"200" range:"0..1000000" unit:"packets/s" room:"spectate"`

	// PacketsPerProfile is how many packets a second all watchers of the
	// profile get together at most, so that players stay undisturbed. 0 turns
	// the limit off.
	PacketsPerProfile int `option:"spectator-total-packets-per-sec" default:"20000" range:"0..100000000" unit:"packets/s" room:"spectate"`
}

// Store is how a profile's games are written down.
type Store struct {
	// Isolated insists that no other isolated profile uses the same database.
	// On SQLite an isolated profile gets a file of its own.
	Isolated bool `option:"db-isolated" default:"0" room:"server" reload:"store"`

	// MaxIntents is how many changes one transaction writes at most; under
	// little load transactions are smaller, and behind a backlog up to 64 times
	// as large, so that they catch up.
	MaxIntents int `option:"persistence-max-intents" default:"512" range:"1..65536" unit:"intents" room:"journal"`

	// MaxPayload is how many bytes of changes one transaction writes at most, and
	// up to 64 times as many behind a backlog.
	MaxPayload int `option:"persistence-max-payload-bytes" default:"65536" range:"1024..67108864" unit:"bytes" room:"journal"`
}

// Database is a PostgreSQL database. As soon as one of these options is set
// for a profile, it uses PostgreSQL; with none of them it uses the embedded
// SQLite in the data directory.
type Database struct {
	// Host is the name or address of the database server, or the directory of
	// its unix socket. Several are separated by commas, each perhaps with its own
	// port as HOST:PORT; the one that takes writes is used, so that the server
	// follows a failover from one to the other.
	Host string `option:"db-host" default:"localhost" range:"1..1023" room:"postgres" reload:"store"`

	// Port is the TCP port of the database server; 0 means 5432.
	Port int `option:"db-port" default:"5432" range:"0..65535" room:"postgres" reload:"store"`

	// User is the database user.
	User string `option:"db-user" default:"wamble" range:"1..63" room:"postgres" reload:"store"`

	// Pass is the password of the database user. Better than writing it here
	// is (getenv "NAME") or db-pass-file.
	Pass Secret `option:"db-pass" default:"wamble" range:"0..1024" room:"postgres" reload:"store"`

	// PassFile is a file whose first line is the password of the database
	// user. It takes the place of db-pass.
	PassFile string `option:"db-pass-file" default:"" range:"0..4096" room:"postgres" reload:"store"`

	// Name is the name of the database.
	Name string `option:"db-name" default:"wamble" range:"1..63" room:"postgres" reload:"store"`

	// SSLMode says how the connection to the database is encrypted and how the
	// server must prove who it is, in the words of PostgreSQL.
	SSLMode string `option:"db-sslmode" default:"prefer" set:"disable|allow|prefer|require|verify-ca|verify-full" room:"postgres" reload:"store"`

	// PoolSize is how many connections the profile opens at most.
	PoolSize int `option:"db-pool-size" default:"8" range:"2..1000" unit:"connections" room:"postgres" reload:"store"`

	// ConnectTimeout is how long opening a connection may take.
	ConnectTimeout time.Duration `option:"db-connect-timeout-ms" default:"5000" range:"100..600000" unit:"ms" room:"postgres" reload:"store"`

	// StatementTimeout is how long one statement may take before it counts as
	// failed.
	StatementTimeout time.Duration `option:"db-statement-timeout-ms" default:"10000" range:"100..600000" unit:"ms" room:"postgres" reload:"store"`
}

// Backups is when a server copies its games and its journal by itself.
type Backups struct {
	// Dir is the directory for backups, each in a directory of its own. Unset means
	// none are made. It should be on another disk than the data directory, and the
	// server must be allowed to write there.
	Dir string `option:"backup-dir" default:"" range:"0..4096" room:"server"`

	// Every is the time from one backup to the next.
	Every time.Duration `option:"backup-every" default:"86400" range:"60..31536000" unit:"s" room:"server"`

	// Keep is how many backups there are at most: the oldest are deleted.
	Keep int `option:"backup-keep" default:"7" range:"1..10000" unit:"backups" room:"server"`
}
