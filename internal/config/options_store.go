package config

import "time"

// Store is how a profile's games are written down.
type Store struct {
	// Isolated insists that no other isolated profile uses the same database.
	// On SQLite an isolated profile gets a file of its own.
	Isolated bool `option:"db-isolated" default:"0" room:"server" reload:"store"`

	// MaxIntents is how many changes one transaction writes at most; under
	// little load transactions are smaller, and behind a backlog up to 512 times
	// as large, so that they catch up.
	MaxIntents int `option:"persistence-max-intents" default:"512" range:"1..65536" unit:"intents" room:"journal"`

	// MaxPayload is how many bytes of changes one transaction writes at most, and
	// up to 512 times as many behind a backlog.
	MaxPayload int `option:"persistence-max-payload-bytes" default:"65536" range:"1024..67108864" unit:"bytes" room:"journal"`
}

// Database is a PostgreSQL database. As soon as one of these options is set
// for a profile, it uses PostgreSQL; with none of them it uses the embedded
// SQLite in the data directory.
type Database struct {
	// Host is the name or address of the database server, or the directory of its
	// unix socket. Of several, separated by commas, each perhaps as HOST:PORT, the
	// one that takes writes is used.
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
	// Dir is the directory for backups, each in a directory of its own. Unset
	// means none are made. It should be on another disk, and the server must be
	// allowed to write there. Games in PostgreSQL are not in these backups: they
	// need continuous archiving (PITR) beside them.
	Dir string `option:"backup-dir" default:"" range:"0..4096" room:"server"`

	// Every is the time from one backup to the next.
	Every time.Duration `option:"backup-every" default:"86400" range:"60..31536000" unit:"s" room:"server"`

	// Keep is how many backups there are at most: the oldest are deleted.
	Keep int `option:"backup-keep" default:"7" range:"1..10000" unit:"backups" room:"server"`
}
