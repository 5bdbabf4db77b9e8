package pgtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Standby starts a standby, for which the cluster waits at every commit from then on.
func (c *Cluster) Standby(t testing.TB) *Cluster {
	t.Helper()
	return c.StandbyAt(t, Place{})
}

// StandbyAt is Standby for a standby in another place.
func (c *Cluster) StandbyAt(t testing.TB, p Place) *Cluster {
	t.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(c.dir), "wamble-pg-")
	if err != nil {
		t.Fatal(err)
	}
	other := &Cluster{bin: c.bin, dir: dir, place: p}
	t.Cleanup(func() {
		if err := other.end(); err != nil {
			t.Error(err)
		}
	})
	if err := errors.Join(other.dropPrivileges(), other.watch(), other.copyOf(c), other.first()); err != nil {
		t.Fatal(err)
	}
	other.AwaitNobody(t) // by the manual: after its promotion it has no standby
	c.Await(t, other)
	return other
}

// Rejoin makes a stopped server the standby of the primary that replaced it.
func (c *Cluster) Rejoin(t testing.TB, primary *Cluster) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(c.data()), c.copyOf(primary),
		c.set("postgresql.conf", fmt.Sprintf("port = %d\n", c.port)), c.up()); err != nil {
		t.Fatal(err)
	}
	c.AwaitNobody(t)
	primary.Await(t, c)
}

// copyOf creates the data of a standby.
func (c *Cluster) copyOf(primary *Cluster) error {
	settings := fmt.Sprintf("unix_socket_directories = '%s'\nlisten_addresses = '%s'\nprimary_conninfo = '%s'\nwal_retrieve_retry_interval = '200ms'\n",
		c.dir, c.place.address(), primary.replication(c.name()))
	signal := filepath.Join(c.data(), "standby.signal")
	err := errors.Join(c.run("pg_basebackup", "-D", c.data(), "-d", primary.replication(""), "-c", "fast", "--no-sync"),
		c.set("postgresql.conf", settings), os.WriteFile(signal, nil, 0o600))
	if err == nil && c.as != nil {
		err = os.Chown(signal, int(c.as.Uid), int(c.as.Gid))
	}
	return err
}

// Await makes a cluster wait for a standby at every commit, and waits until the standby is
// synchronous.
func (c *Cluster) Await(t testing.TB, standby *Cluster) {
	t.Helper()
	Execute(t, c.Server(), fmt.Sprintf(`ALTER SYSTEM SET synchronous_standby_names = '"%s"'`, standby.name()))
	Execute(t, c.Server(), `SELECT pg_reload_conf()`)
	for Query[int](t, c.Server(), `SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'`) == 0 {
		continue
	}
}

// AwaitNobody makes a cluster, or a standby after its promotion, wait for no standby.
func (c *Cluster) AwaitNobody(t testing.TB) {
	t.Helper()
	Execute(t, c.Server(), `ALTER SYSTEM SET synchronous_standby_names = ''`)
	Execute(t, c.Server(), `SELECT pg_reload_conf()`)
}

// name returns the application name of a standby.
func (c *Cluster) name() string { return filepath.Base(c.dir) }

// replication returns the connection string for a standby.
func (c *Cluster) replication(name string) string {
	host := c.dir
	if c.place.Address != "" {
		host = c.place.Address
	}
	s := fmt.Sprintf("host=%s port=%d user=wamble", host, c.port)
	if name != "" {
		s += " application_name=" + name
	}
	return s
}

// Promote makes a standby the primary.
func (c *Cluster) Promote(t testing.TB) {
	t.Helper()
	if err := c.run("pg_ctl", "-D", c.data(), "-w", "-t", startSeconds, "promote"); err != nil {
		t.Fatal(err)
	}
}
