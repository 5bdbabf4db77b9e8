package pgtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Follow starts a standby that the cluster waits for at every commit from then on.
func (c *Cluster) Follow(t testing.TB) *Cluster {
	t.Helper()
	dir, err := os.MkdirTemp("", "wamble-pg-")
	if err != nil {
		t.Fatal(err)
	}
	other := &Cluster{bin: c.bin, dir: dir}
	t.Cleanup(func() {
		if err := other.end(); err != nil {
			t.Error(err)
		}
	})
	name := filepath.Base(dir)
	if err := errors.Join(other.dropPrivileges(), other.watch(),
		other.run("pg_basebackup", "-D", other.data(), "-d", c.replication(""), "-c", "fast", "--no-sync"),
		other.set(fmt.Sprintf("unix_socket_directories = '%s'\nprimary_conninfo = '%s'\nwal_retrieve_retry_interval = '200ms'\n", dir, c.replication(name))),
		os.WriteFile(filepath.Join(other.data(), "standby.signal"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if other.as != nil {
		if err := os.Chown(filepath.Join(other.data(), "standby.signal"), int(other.as.Uid), int(other.as.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	if err := other.first(); err != nil {
		t.Fatal(err)
	}
	Execute(t, c.Server(), fmt.Sprintf(`ALTER SYSTEM SET synchronous_standby_names = '"%s"'`, name))
	Execute(t, c.Server(), `SELECT pg_reload_conf()`)
	for Query[int](t, c.Server(), `SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'`) == 0 {
		continue
	}
	return other
}

// replication is the connection string of a standby.
func (c *Cluster) replication(name string) string {
	s := fmt.Sprintf("host=%s port=%d user=wamble", c.dir, c.port)
	if name != "" {
		s += " application_name=" + name
	}
	return s
}

// Promote makes a standby take writes, and wait for no standby of its own.
func (c *Cluster) Promote(t testing.TB) {
	t.Helper()
	Execute(t, c.Server(), `ALTER SYSTEM SET synchronous_standby_names = ''`)
	Execute(t, c.Server(), `SELECT pg_reload_conf()`)
	if err := c.run("pg_ctl", "-D", c.data(), "-w", "-t", startSeconds, "promote"); err != nil {
		t.Fatal(err)
	}
}
