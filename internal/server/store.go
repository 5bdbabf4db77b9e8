package server

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

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
// whose settings are equal share one. Nothing is connected yet: that is left to
// the first call.
func OpenStores(profiles []*config.Profile, dataDir string) ([]*Shared, error) {
	var stores []*Shared
	for _, p := range profiles {
		place, err := placeOf(p, dataDir)
		if err != nil {
			CloseStores(stores)
			return nil, fmt.Errorf("store of profile %s: %w", p.Name, err)
		}
		i := slices.IndexFunc(stores, func(s *Shared) bool { return s.Name == place.name })
		if i < 0 {
			store, err := place.open()
			if err != nil {
				CloseStores(stores)
				return nil, fmt.Errorf("store of profile %s: %w", p.Name, err)
			}
			i = len(stores)
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

// place is where a profile keeps its games. Its name tells places apart.
type place struct {
	name string
	file string
	open func() (Store, error)
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
	return place{"SQLite " + path, path, func() (Store, error) { return sqlite.Open(sqlite.Options{Path: path}) }}, nil
}

func postgresPlace(p *config.Profile) (place, error) {
	db := p.Database
	password, err := db.Password(os.ReadFile)
	if err != nil {
		return place{}, err
	}
	o := postgres.Options{
		Host: db.Host, Port: db.TCPPort(), User: db.User, Password: password, Name: db.Name, SSLMode: db.SSLMode,
		ConnectTimeout: db.ConnectTimeout, StatementTimeout: db.StatementTimeout, MaxConns: db.PoolSize, Profile: p.Name,
	}
	name := fmt.Sprintf("PostgreSQL %s at %s:%d as %s", db.Name, db.Host, db.TCPPort(), db.User)
	return place{name, "", func() (Store, error) { return postgres.Open(o) }}, nil
}
