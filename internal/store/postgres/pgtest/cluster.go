package pgtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"wamble/internal/store/postgres"
)

// Cluster is a private PostgreSQL server.
type Cluster struct {
	bin        string // directory of the binaries
	dir        string // directory with data, log and socket
	port       int
	place      Place
	as         *syscall.Credential // user of the server; nil for the user of the tests
	guard      *exec.Cmd
	guardInput io.Closer // the guard waits while it is open
}

// Place is where a server runs. The zero value is the loopback interface of the tests.
type Place struct {
	Address string                         // listen address; "" for 127.0.0.1
	Within  func(start func() error) error // starts a program in another environment, such as a network namespace; nil for this one
}

// Start starts a cluster that ends with the test. With fsync it survives a crash of the
// machine; without, it is faster.
func Start(t testing.TB, fsync bool) *Cluster {
	t.Helper()
	return StartAt(t, fsync, Place{})
}

// StartAt is Start for a server in another place.
func StartAt(t testing.TB, fsync bool, p Place) *Cluster {
	t.Helper()
	c, err := start(fsync, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.end(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func start(fsync bool, p Place) (*Cluster, error) {
	bin, err := binaries("/usr/lib/postgresql")
	if err != nil {
		return nil, err
	}
	parent := ""
	if !fsync {
		parent = memory()
	}
	dir, err := os.MkdirTemp(parent, "wamble-pg-")
	if err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	c := &Cluster{bin: bin, dir: dir, place: p}
	err = c.dropPrivileges()
	if err == nil {
		err = c.watch()
	}
	if err == nil {
		err = c.initialize()
	}
	if err == nil {
		err = c.configure(fsync)
	}
	if err == nil {
		err = c.first()
	}
	if err != nil {
		return nil, errors.Join(err, c.end())
	}
	return c, nil
}

// initialize copies the data of an empty cluster.
func (c *Cluster) initialize() error {
	from, err := initialized()
	if err != nil {
		return err
	}
	if out, err := c.command("/bin/cp", "-a", from.data(), c.data()).CombinedOutput(); err != nil {
		return fmt.Errorf("copy an empty cluster: %w\n%s", err, out)
	}
	return nil
}

// initialized returns the empty cluster of this process, which is made once, because initdb takes a second of
// processor time. Its guard removes it at the end of the process.
var initialized = sync.OnceValues(func() (*Cluster, error) {
	bin, err := binaries("/usr/lib/postgresql")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(memory(), "wamble-pg-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{bin: bin, dir: dir}
	if err := c.dropPrivileges(); err != nil {
		return nil, errors.Join(err, c.end())
	}
	if err := c.watch(); err != nil {
		return nil, errors.Join(err, c.end())
	}
	if err := c.run("initdb", "-D", c.data(), "-U", "wamble", "-A", "trust", "-E", "UTF8", "--no-locale",
		"--no-sync"); err != nil {
		return nil, errors.Join(err, c.end())
	}
	return c, nil
})

// memory returns a folder in memory for servers that need not survive anything, "" if there
// is none with room for the databases of a package: each of its tests has one of 8 MB, and
// the write-ahead log grows to 512 MB.
func memory() string {
	const folder, room = "/dev/shm", 4 << 30
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil || uint64(s.Bavail)*uint64(s.Bsize) < room {
		return ""
	}
	probe, err := os.MkdirTemp(folder, "wamble-pg-")
	if err != nil {
		return ""
	}
	if err := os.Remove(probe); err != nil {
		return ""
	}
	return folder
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

// binaries returns the directory of the newest server installed under dir in Debian's layout,
// or else of the one in the PATH.
func binaries(dir string) (string, error) {
	found, err := filepath.Glob(filepath.Join(dir, "*/bin/initdb"))
	if err != nil {
		return "", err
	}
	newest, version := "", -1
	for _, path := range found {
		if v, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))); err == nil && v > version {
			newest, version = path, v
		}
	}
	if newest == "" {
		if newest, err = exec.LookPath("initdb"); err != nil {
			return "", errors.New("the tests need PostgreSQL's server binaries (initdb, pg_ctl, postgres); " +
				"install them with: apt-get install -y --no-install-recommends postgresql, or set WAMBLE_TEST_DSN")
		}
	}
	return filepath.Dir(newest), nil
}

// dropPrivileges chooses another user if the tests run as root, which PostgreSQL does not
// allow.
func (c *Cluster) dropPrivileges() error {
	if os.Getuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uerr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gerr := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(uerr, gerr); err != nil {
			return err
		}
		c.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		return os.Chown(c.dir, int(uid), int(gid))
	}
	return errors.New("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")
}

// command returns a command that runs as the cluster's user. It has its own process group, so
// that an interrupt from the keyboard reaches only the tests.
func (c *Cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = c.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.as, Setpgid: true}
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

func (c *Cluster) run(name string, args ...string) error {
	cmd := c.command(filepath.Join(c.bin, name), args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := c.place.start(cmd.Start)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, &out)
	}
	return nil
}

func (p Place) start(start func() error) error {
	if p.Within == nil {
		return start()
	}
	return p.Within(start)
}

func (p Place) address() string {
	if p.Address == "" {
		return "127.0.0.1"
	}
	return p.Address
}

// watch starts the guard: a shell that reads from a pipe of this process. When the pipe is
// closed, by end or because this process is gone, it stops the server and removes the
// directory.
func (c *Cluster) watch() error {
	const script = `cat >/dev/null; "$1"/pg_ctl -D "$2"/data -m immediate -w stop >/dev/null 2>&1; cd /; rm -rf "$2"`
	c.guard = c.command("/bin/sh", "-c", script, "guard", c.bin, c.dir)
	guardInput, err := c.guard.StdinPipe()
	if err != nil {
		return err
	}
	c.guardInput = guardInput
	return c.guard.Start()
}

// end stops the server at once and waits until its directory is removed.
func (c *Cluster) end() error {
	if c.guard == nil || c.guard.Process == nil {
		return os.RemoveAll(c.dir)
	}
	if err := c.guardInput.Close(); err != nil {
		return err
	}
	if err := c.guard.Wait(); err != nil {
		return fmt.Errorf("end PostgreSQL: %w", err)
	}
	return os.RemoveAll(c.dir) // the guard may not remove a directory from /tmp, which has the sticky bit
}

func (c *Cluster) configure(fsync bool) error {
	settings := fmt.Sprintf("unix_socket_directories = '%s'\nlisten_addresses = '%s'\nmax_connections = 200\n"+
		"max_wal_size = '512MB'\nshared_buffers = '128MB'\n", c.dir, c.place.address())
	if !fsync {
		settings += "fsync = off\nfull_page_writes = off\n"
	}
	err := c.set("postgresql.conf", settings)
	if err == nil && c.place.Address != "" { // only tests reach the address
		err = c.set("pg_hba.conf", "host all all all trust\nhost replication all all trust\n")
	}
	return err
}

// set appends lines to a configuration file; they apply from the next start.
func (c *Cluster) set(file, settings string) error {
	f, err := os.OpenFile(filepath.Join(c.data(), file), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(settings)
	return errors.Join(err, f.Close())
}

// first starts the server for the first time, on a port that it keeps. Ports this low are never
// ephemeral, so no client takes it while the server is down; if another cluster has it, another
// port is tried.
func (c *Cluster) first() (err error) {
	for range 5 {
		c.port = 10000 + rand.IntN(20000)
		if err = c.set("postgresql.conf", fmt.Sprintf("port = %d\n", c.port)); err != nil {
			return err
		}
		if err = c.up(); err == nil {
			return nil
		}
	}
	return err
}

func (c *Cluster) up() error {
	return c.run("pg_ctl", "-D", c.data(), "-l", filepath.Join(c.dir, "log"), "-w", "-t", startSeconds, "start")
}

// startSeconds bounds a start on a busy machine.
const startSeconds = "180"

// Up starts a stopped server.
func (c *Cluster) Up(t testing.TB) {
	t.Helper()
	if err := c.up(); err != nil {
		t.Fatal(err)
	}
}

// Down stops the server at once, as a crash does.
func (c *Cluster) Down(t testing.TB) {
	t.Helper()
	if err := c.run("pg_ctl", "-D", c.data(), "-m", "immediate", "-w", "stop"); err != nil {
		t.Fatal(err)
	}
}

// Clone starts another server on a copy of the data of a stopped one, as a standby would have
// them.
func (c *Cluster) Clone(t testing.TB) *Cluster {
	t.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(c.dir), "wamble-pg-")
	if err != nil {
		t.Fatal(err)
	}
	other := &Cluster{bin: c.bin, dir: dir}
	t.Cleanup(func() {
		if err := other.end(); err != nil {
			t.Error(err)
		}
	})
	if err := other.dropPrivileges(); err != nil {
		t.Fatal(err)
	}
	if out, err := other.command("/bin/cp", "-a", c.data(), other.data()).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := errors.Join(other.watch(),
		other.set("postgresql.conf", fmt.Sprintf("unix_socket_directories = '%s'\n", dir)), other.first()); err != nil {
		t.Fatal(err)
	}
	return other
}

// Remember copies the data of a stopped server, like a standby that no longer receives
// anything.
func (c *Cluster) Remember(t testing.TB) {
	t.Helper()
	if out, err := c.command("/bin/cp", "-a", c.data(), c.data()+"-remembered").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// GoBack replaces the data of a stopped server by the copy of Remember.
func (c *Cluster) GoBack(t testing.TB) {
	t.Helper()
	out, err := c.command("/bin/sh", "-c", `rm -r "$1" && mv "$1-remembered" "$1"`, "sh", c.data()).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// Restart crashes the server and starts it again.
func (c *Cluster) Restart(t testing.TB) {
	t.Helper()
	if err := c.restart(); err != nil {
		t.Fatal(err)
	}
}

func (c *Cluster) restart() error {
	return c.run("pg_ctl", "-D", c.data(), "-l", filepath.Join(c.dir, "log"), "-m", "immediate", "-w", "-t",
		startSeconds, "restart")
}

// AskPassword restarts the server, which requires the password of a role from then on.
func (c *Cluster) AskPassword(t testing.TB, role string) {
	t.Helper()
	file := filepath.Join(c.data(), "pg_hba.conf")
	rest, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, fmt.Appendf(nil,
			"local all %[1]s scram-sha-256\nhost all %[1]s all scram-sha-256\n%[2]s", role, rest), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.Restart(t)
}

// Server returns the options of the cluster's default database, over its unix socket.
func (c *Cluster) Server() postgres.Options {
	return postgres.Options{Host: c.dir, Port: c.port, User: "wamble", Name: "postgres", SSLMode: "disable"}
}

// OverTCP returns options with the server's address instead of the socket.
func (c *Cluster) OverTCP(o postgres.Options) postgres.Options {
	o.Host = c.place.address()
	return o
}
