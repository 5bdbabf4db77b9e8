package server

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"wamble"
	"wamble/internal/config"
	"wamble/internal/postgres"
	"wamble/internal/schema"
	"wamble/internal/sqlite"
)

// Store is a database with its schema.
type Store interface {
	wamble.Store
	// Migrate brings the schema to the newest version.
	Migrate(ctx context.Context, progress schema.Progress) error
	// Status says how the database stands to this program. It writes nothing.
	Status(ctx context.Context) (schema.Status, error)
}

// Shared is a store and the profiles that keep their games in it.
type Shared struct {
	Store
	Name     string // for people: "SQLite FILE" or "PostgreSQL NAME at HOST"
	File     string // of SQLite; "" for PostgreSQL
	Profiles []string
}

// OpenStores returns the stores of the given profiles, in their order. Profiles
// whose settings are equal share one; any difference, be it of sslmode or of
// the size of the pool, makes two. Nothing is connected yet: that is left to
// the first call.
func OpenStores(profiles []*config.Profile, dataDir string) ([]*Shared, error) {
	var stores []*Shared
	places := map[any]int{}
	for _, p := range profiles {
		place, err := placeOf(p, dataDir)
		if err != nil {
			CloseStores(stores)
			return nil, fmt.Errorf("store of profile %s: %w", p.Name, err)
		}
		i, known := places[place.settings]
		if !known {
			store, err := place.open()
			if err != nil {
				CloseStores(stores)
				return nil, fmt.Errorf("store of profile %s: %w", p.Name, err)
			}
			i = len(stores)
			places[place.settings] = i
			stores = append(stores, &Shared{Store: store, Name: place.name, File: place.file})
		}
		stores[i].Profiles = append(stores[i].Profiles, p.Name)
	}
	return stores, nil
}

// CloseStores closes them all.
func CloseStores(stores []*Shared) {
	for _, s := range stores {
		s.Close()
	}
}

// place is where a profile keeps its games. Its settings, which can be compared,
// tell places apart.
type place struct {
	name     string
	file     string
	settings any
	open     func() (Store, error)
}

func placeOf(p *config.Profile, dataDir string) (place, error) {
	if p.Postgres() {
		return postgresPlace(p)
	}
	file := "games.db"
	if p.Store.Isolated {
		file = "games-" + p.Name + ".db"
	}
	path := filepath.Join(dataDir, file)
	o := sqlite.Options{Path: path}
	return place{"SQLite " + path, path, o, func() (Store, error) { return sqlite.Open(o) }}, nil
}

func postgresPlace(p *config.Profile) (place, error) {
	db := p.Database
	password, err := db.Password(os.ReadFile)
	if err != nil {
		return place{}, err
	}
	o := postgres.Options{
		Host: db.Host, Port: db.TCPPort(), User: db.User, Password: password, Name: db.Name, SSLMode: db.SSLMode,
		ConnectTimeout: db.ConnectTimeout, StatementTimeout: db.StatementTimeout, MaxConns: db.PoolSize,
	}
	settings := o
	o.Profile = p.Name // of the first, if they share it
	name := fmt.Sprintf("PostgreSQL %s at %s:%d as %s", db.Name, db.Host, db.TCPPort(), db.User)
	return place{name, "", settings, func() (Store, error) { return postgres.Open(o) }}, nil
}
