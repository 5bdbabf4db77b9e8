package pgtest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"wamble/internal/store/postgres"
)

// shared is the server of this process: a cluster, or the server of WAMBLE_TEST_DSN.
var shared struct {
	once     sync.Once
	cluster  *Cluster // nil with WAMBLE_TEST_DSN
	server   postgres.Options
	template string // name of a migrated database
	err      error
}

// Main runs the tests of a package and stops the shared server. A package that uses it has:
// func TestMain(m *testing.M) { pgtest.Main(m) }
func Main(m *testing.M) {
	code := m.Run()
	if shared.cluster == nil && shared.template != "" {
		if err := execute(context.Background(), shared.server, "DROP DATABASE "+shared.template); err != nil {
			fmt.Fprintln(os.Stderr, "pgtest:", err)
			code = 1
		}
	}
	if shared.cluster != nil {
		if err := shared.cluster.end(); err != nil {
			fmt.Fprintln(os.Stderr, "pgtest:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// Server returns the options of the shared server's default database.
func Server(t testing.TB) postgres.Options {
	t.Helper()
	shared.once.Do(func() { shared.err = startShared() })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server
}

func startShared() error {
	if dsn := os.Getenv("WAMBLE_TEST_DSN"); dsn != "" {
		cfg, err := pgx.ParseConfig(dsn)
		if err != nil {
			return fmt.Errorf("WAMBLE_TEST_DSN: %w", err)
		}
		shared.server = postgres.Options{Host: cfg.Host, Port: int(cfg.Port), User: cfg.User, Password: cfg.Password,
			Name: cfg.Database}
	} else {
		c, err := start(false, Place{})
		if err != nil {
			return err
		}
		shared.cluster, shared.server = c, c.Server()
	}
	name := fmt.Sprintf("wamble_template_%d", os.Getpid())
	if err := execute(context.Background(), shared.server, "CREATE DATABASE "+name); err != nil {
		return err
	}
	shared.template = name
	o := shared.server
	o.Name = name
	return migrate(o)
}

func migrate(o postgres.Options) error {
	s, err := postgres.Open(o)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	return s.Migrate(context.Background(), nil)
}

var numbers atomic.Int64

// Empty returns a new database without any table on the shared server.
func Empty(t testing.TB) postgres.Options {
	t.Helper()
	return create(t, Server(t), "")
}

// Migrated returns a new database with the newest schema on the shared server.
func Migrated(t testing.TB) postgres.Options {
	t.Helper()
	server := Server(t)
	return create(t, server, " TEMPLATE "+shared.template)
}

// Migrated returns a new database with the newest schema.
func (c *Cluster) Migrated(t testing.TB) postgres.Options {
	t.Helper()
	o := create(t, c.Server(), "")
	if err := migrate(o); err != nil {
		t.Fatal(err)
	}
	return o
}

// create creates a database. It is removed with its cluster, because DROP DATABASE would cost a
// checkpoint. On the server of WAMBLE_TEST_DSN it is dropped after the test.
func create(t testing.TB, server postgres.Options, template string) postgres.Options {
	t.Helper()
	name := fmt.Sprintf("wamble_test_%d_%d", os.Getpid(), numbers.Add(1))
	if err := execute(t.Context(), server, "CREATE DATABASE "+name+template); err != nil {
		t.Fatal(err)
	}
	if shared.cluster == nil && server == shared.server {
		t.Cleanup(func() {
			if err := execute(context.Background(), server, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
				t.Error(err)
			}
		})
	}
	made := server
	made.Name = name
	return made
}

// Execute runs one or more SQL statements on a new connection.
func Execute(t testing.TB, o postgres.Options, sql string) {
	t.Helper()
	if err := execute(t.Context(), o, sql); err != nil {
		t.Fatal(err)
	}
}

func execute(ctx context.Context, o postgres.Options, sql string) error {
	conn, err := connect(ctx, o)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err = conn.Exec(ctx, sql); err != nil {
		return fmt.Errorf("%.60s: %w", sql, err)
	}
	return nil
}

// connect also connects to a server that refuses writes.
func connect(ctx context.Context, o postgres.Options) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig(o.DSN())
	if err != nil {
		return nil, err
	}
	cfg.ValidateConnect = nil
	return pgx.ConnectConfig(ctx, cfg)
}

// Query runs a query that returns one value.
func Query[T any](t testing.TB, o postgres.Options, sql string, args ...any) T {
	t.Helper()
	var value T
	conn, err := connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&value); err != nil {
		t.Fatalf("%.60s: %v", sql, err)
	}
	return value
}

// Lock runs SQL on a connection that stays open, with its locks, until the returned function is
// called.
func Lock(t testing.TB, o postgres.Options, sql string) (release func()) {
	t.Helper()
	conn, err := connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
	return func() { _ = conn.Close(context.Background()) }
}

// Forget drops a role and its privileges, if the server outlives the tests.
func Forget(t testing.TB, o postgres.Options, role string) {
	t.Helper()
	if shared.cluster != nil {
		return
	}
	if err := execute(context.Background(), o, "DROP OWNED BY "+role+"; DROP ROLE "+role); err != nil {
		t.Error(err)
	}
}
