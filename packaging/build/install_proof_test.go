//go:build proof

package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const patience = time.Minute

// apart runs a test again as a child with a mount and a network namespace of its own, in
// which there is nothing but loopback. It reports whether this process is the child.
func apart(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inside) != "" {
		loopbackUp(t)
		if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
			t.Fatal(err)
		}
		return true
	}
	t.Parallel()
	c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	c.Env = append(os.Environ(), inside+"=1")
	c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET,
		Pdeathsig: syscall.SIGKILL}
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v (it needs root and namespaces)\n%s", err, out)
	}
	return false
}

func loopbackUp(t *testing.T) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		t.Fatal(err)
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		t.Fatal(err)
	}
}

// mount mounts something until the test ends.
func mount(t *testing.T, source, target, kind string, flags uintptr, data string) {
	t.Helper()
	if err := syscall.Mount(source, target, kind, flags, data); err != nil {
		t.Fatalf("mount %s: %v", target, err)
	}
	t.Cleanup(func() { syscall.Unmount(target, syscall.MNT_DETACH) })
}

// machine is a copy of this one, whose files can be changed without a trace.
type machine struct {
	t    *testing.T
	root string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	top := t.TempDir()
	mount(t, "tmpfs", top, "tmpfs", 0, "")
	m := &machine{t, filepath.Join(top, "root")}
	for _, dir := range []string{"upper", "work", "root"} {
		if err := os.Mkdir(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	mount(t, "overlay", m.root, "overlay", 0, fmt.Sprintf("lowerdir=/,upperdir=%s/upper,workdir=%[1]s/work", top))
	mount(t, "/dev", m.path("/dev"), "", syscall.MS_BIND|syscall.MS_REC, "")
	mount(t, "/proc", m.path("/proc"), "", syscall.MS_BIND|syscall.MS_REC, "")
	mount(t, "tmpfs", m.path("/run"), "tmpfs", 0, "")
	m.write("/usr/bin/systemctl", systemctl, 0o755)
	if err := os.MkdirAll(m.path("/lib/systemd"), 0o755); err != nil {
		t.Fatal(err)
	}
	m.write("/lib/systemd/systemd-sysctl", "#!/bin/sh\necho sysctl \"$@\" >>/run/asked\n", 0o755)
	if err := os.MkdirAll(m.path("/run/systemd/system"), 0o755); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *machine) path(name string) string { return filepath.Join(m.root, name) }

func (m *machine) command(name string, args ...string) *exec.Cmd {
	c := exec.Command("/usr/bin/env", append([]string{name}, args...)...)
	c.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	c.Dir = "/"
	c.SysProcAttr = &syscall.SysProcAttr{Chroot: m.root, Pdeathsig: syscall.SIGKILL}
	return c
}

// do runs a command in the machine.
func (m *machine) do(name string, args ...string) string {
	m.t.Helper()
	out, err := m.command(name, args...).CombinedOutput()
	if err != nil {
		m.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (m *machine) write(name, text string, mode os.FileMode) {
	m.t.Helper()
	os.Remove(m.path(name))
	if err := os.WriteFile(m.path(name), []byte(text), mode); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) read(name string) string {
	text, err := os.ReadFile(m.path(name))
	if err != nil {
		return ""
	}
	return string(text)
}

// systemctl records the calls of a package's scripts. It carries out a reload and a stop as
// the unit defines them.
const systemctl = `#!/bin/sh
echo "$@" >>/run/asked
case "$1" in
is-active) [ -e /run/wamble.pid ] ;;
is-enabled) [ -e /run/enabled ] ;;
enable) touch /run/enabled ;;
disable) rm -f /run/enabled ;;
reload)
	command=$(sed -n 's/^ExecReload=//p' /lib/systemd/system/wamble.service)
	setpriv --reuid=wamble --regid=wamble --clear-groups $command ;;
stop)
	kill -TERM "$(cat /run/wamble.pid)"
	while [ -e /run/wamble.pid ]; do sleep 0.05; done ;;
esac
`

// sysctl is how the package applies its sizes of buffers.
const sysctl = "sysctl --prefix=/net/core/rmem_max --prefix=/net/core/wmem_max"

// start does what systemd does with the unit: user, state directory, mask, and it waits until
// the service reports that it is ready.
func (m *machine) start() (pid int) {
	m.t.Helper()
	unit := map[string]string{}
	for line := range strings.Lines(m.read("/lib/systemd/system/wamble.service")) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			unit[key] = value
		}
	}
	uid, gid := m.user(unit["User"])
	m.t.Cleanup(func() {
		if m.t.Failed() {
			m.t.Logf("the service said:\n%s", m.read("/run/service.log"))
		}
	})
	os.Remove(m.path("/run/notify"))
	notify, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: m.path("/run/notify"), Net: "unixgram"})
	if err != nil {
		m.t.Fatal(err)
	}
	defer notify.Close()
	os.Chmod(m.path("/run/notify"), 0o777)
	out, err := os.Create(m.path("/run/service.log"))
	if err != nil {
		m.t.Fatal(err)
	}
	defer out.Close()
	words := strings.Fields(unit["ExecStart"])
	c := m.command("sh", append([]string{"-c", "umask " + unit["UMask"] + `; exec "$@"`, "sh"}, words...)...)
	c.Env = append(c.Env, "NOTIFY_SOCKET=/run/notify", "STATE_DIRECTORY=/var/lib/"+unit["StateDirectory"])
	c.SysProcAttr.Credential = &syscall.Credential{Uid: uid, Gid: gid}
	if unit["AmbientCapabilities"] == "CAP_NET_BIND_SERVICE" {
		c.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_NET_BIND_SERVICE}
	}
	c.Stdout, c.Stderr = out, out
	if err := c.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.write("/run/wamble.pid", strconv.Itoa(c.Process.Pid), 0o644)
	ended := make(chan struct{})
	go func() {
		c.Wait()
		os.Remove(m.path("/run/wamble.pid"))
		close(ended)
	}()
	m.t.Cleanup(func() {
		c.Process.Kill()
		<-ended
	})
	notify.SetReadDeadline(time.Now().Add(patience))
	for text := make([]byte, 4096); ; {
		n, err := notify.Read(text)
		if err != nil {
			m.t.Fatalf("the service is not ready: %v", err)
		}
		if strings.Contains(string(text[:n]), "READY=1") {
			return c.Process.Pid
		}
	}
}

// user looks up a user of the machine.
func (m *machine) user(name string) (uid, gid uint32) {
	m.t.Helper()
	for line := range strings.Lines(m.read("/etc/passwd")) {
		if f := strings.Split(line, ":"); f[0] == name {
			u, _ := strconv.ParseUint(f[2], 10, 32)
			g, _ := strconv.ParseUint(f[3], 10, 32)
			return uint32(u), uint32(g)
		}
	}
	m.t.Fatal(user.UnknownUserError(name))
	return 0, 0
}

// asked returns what systemctl was asked since the last time.
func (m *machine) asked() string {
	text := strings.ReplaceAll(strings.TrimSpace(m.read("/run/asked")), "\n", "; ")
	os.Remove(m.path("/run/asked"))
	return text
}

func (m *machine) install(n int) {
	m.t.Helper()
	m.do("dpkg", "-i", m.fetchPackage(n, "/run"))
}

// fetchPackage puts the package of the n-th commit into a directory.
func (m *machine) fetchPackage(n int, dir string) (path string) {
	m.t.Helper()
	name := "wamble_" + runtime.GOARCH + ".deb"
	data, err := os.ReadFile(filepath.Join(packages(n), name))
	if err == nil {
		err = os.MkdirAll(m.path(dir), 0o755)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.write(dir+"/"+name, string(data), 0o644)
	return dir + "/" + name
}

func fetch(t *testing.T, url string) string {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, _ := io.ReadAll(r.Body)
	return fmt.Sprintf("%d %s", r.StatusCode, body)
}

// TestInstall: the package is installed, its service starts as its own user, an upgrade
// is a handoff that keeps the process, and after a purge nothing is left.
func TestInstall(t *testing.T) {
	t.Log("needs minutes and root")
	if !apart(t) {
		return
	}
	m := newMachine(t)
	m.install(1)
	if got, want := m.asked(),
		sysctl+"; daemon-reload; is-active --quiet wamble.service; enable wamble.service; start wamble.service"; got != want {
		t.Errorf("an installation asks for %q, want %q", got, want)
	}
	pid := m.start()
	uid, gid := m.user("wamble")
	for name, want := range map[string]struct {
		mode     os.FileMode
		uid, gid uint32
	}{"/var/lib/wamble": {0o700, uid, gid}, "/etc/wamble/wamble.conf": {0o640, 0, gid},
		"/var/lib/wamble/journal": {0o700, uid, gid}} {
		info, err := os.Stat(m.path(name))
		if err != nil {
			t.Fatal(err)
		}
		if s := info.Sys().(*syscall.Stat_t); info.Mode().Perm() != want.mode || s.Uid != want.uid ||
			s.Gid != want.gid {
			t.Errorf("%s: %v of %d:%d, want %v of %d:%d", name, info.Mode(), s.Uid, s.Gid, want.mode, want.uid,
				want.gid)
		}
	}
	if got := fetch(t, "http://127.0.0.1:8888/healthz"); !strings.HasPrefix(got, "200") {
		t.Errorf("got %s", got)
	}
	// The commands of the manual find it by themselves.
	if got := m.do("wamble", "status"); !strings.Contains(got, "/var/lib/wamble") ||
		!strings.Contains(got, "default, ready") {
		t.Errorf("wamble status: %s", got)
	}
	if got := m.do("wamble", "doctor", "--user", "wamble"); !strings.Contains(got,
		"in use, as a server runs on /var/lib/wamble") {
		t.Errorf("wamble doctor: %s", got)
	}
	if got := m.do("dpkg-query", "-W", "-f", "${Conffiles}", "wamble"); strings.TrimSpace(got) != "" {
		t.Errorf("an upgrade may ask about %s", got)
	}
	if n := strings.Count(m.read("/etc/wamble/wamble.conf"), "\n"); n < 5 || n > 20 {
		t.Errorf("the packaged configuration has %d lines", n)
	}
	m.write("/etc/wamble/wamble.conf", `(def shutdown-timeout 5)`, 0o640)

	m.install(2)
	if got, want := m.asked(), sysctl+"; daemon-reload; is-active --quiet wamble.service; reload wamble.service"; got != want {
		t.Errorf("an upgrade asks for %q, want %q", got, want)
	}
	if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err != nil || strings.HasSuffix(exe, "(deleted)") {
		t.Errorf("after an upgrade the process runs %s, %v\n%s", exe, err, m.read("/run/service.log"))
	}
	if got := m.do("wamble", "version"); !strings.Contains(got, "commit 2222") {
		t.Errorf("the new binary is %s", got)
	}
	if got := fetch(t, "http://127.0.0.1:8888/healthz"); !strings.HasPrefix(got, "200") {
		t.Errorf("after an upgrade: %s", got)
	}
	if got := m.read("/etc/wamble/wamble.conf"); got != `(def shutdown-timeout 5)` {
		t.Errorf("an upgrade has changed the configuration: %.100s", got)
	}

	// What root does to a stopped server leaves it to its user.
	const data, journal = "/var/lib/wamble", "/var/lib/wamble/journal"
	m.do("systemctl", "stop", "wamble.service")
	m.do("wamble", "runner", "checkpoint", "--dir", journal, "/run/checkpoint")
	m.do("wamble", "runner", "restore", "--dir", journal, "--overwrite", "/run/checkpoint")
	m.do("wamble", "migrate", "--data", data)
	m.start()
	stranger := m.command("runuser", "-u", "nobody", "--", "wamble", "status", "--data", data)
	if out, err := stranger.CombinedOutput(); err == nil ||
		!strings.Contains(string(out), data+" belongs to wamble: give the command as that user") {
		t.Errorf("status by somebody else: %v\n%s", err, out)
	}
	m.do("install", "-d", "/run/root")
	if out, err := m.command("wamble", "runner", "checkpoint", "/run/root/copy").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "The server makes the copy, as its own user") {
		t.Errorf("a checkpoint where the server may not write: %v\n%s", err, out)
	}
	m.write("/etc/wamble/db-pass", "secret", 0o600)
	m.write("/run/db.conf", `(def db-pass-file "/etc/wamble/db-pass") (def admin-listen "")`, 0o644)
	for user, want := range map[string]string{"root": "ok    db-pass-file of default",
		"wamble": "fail  db-pass-file of default"} {
		out, _ := m.command("wamble", "doctor", "--user", user, "--config", "/run/db.conf", "--data",
			data).CombinedOutput()
		if !strings.Contains(string(out), want) {
			t.Errorf("the doctor as %s does not say %q:\n%s", user, want, out)
		}
	}
	m.asked()

	// A standby has nothing to hand over.
	m.do("systemctl", "stop", "wamble.service")
	const away = `(def journal "postgres") (def db-host "127.0.0.1") (def db-port 1) (def db-name "wamble") (def db-user "wamble")`
	m.configure(away)
	m.start()
	m.asked()
	m.install(2)
	if got, want := m.asked(), sysctl+"; daemon-reload; is-active --quiet wamble.service; restart wamble.service"; got != want {
		t.Errorf("an upgrade of a standby asks for %q, want %q", got, want)
	}

	m.do("dpkg", "--remove", "wamble")
	if got, want := m.asked(),
		"is-enabled --quiet wamble.service; disable wamble.service; stop wamble.service; daemon-reload"; got != want {
		t.Errorf("a removal asks for %q, want %q", got, want)
	}
	if m.read("/run/wamble.pid") != "" || m.read("/etc/wamble/wamble.conf") == "" {
		t.Error("after a removal the server runs, or the configuration is gone")
	}
	m.install(2)
	if got, want := m.asked(),
		sysctl+"; daemon-reload; is-active --quiet wamble.service; enable wamble.service; start wamble.service"; got != want {
		t.Errorf("an installation after a removal asks for %q, want %q", got, want)
	}
	m.do("systemctl", "disable", "wamble.service")
	m.do("dpkg", "--remove", "wamble")
	m.asked()
	m.install(2)
	if got, want := m.asked(), sysctl+"; daemon-reload; is-active --quiet wamble.service"; got != want {
		t.Errorf("of a server that was disabled an installation after a removal asks for %q, want %q", got, want)
	}
	m.do("dpkg", "--purge", "wamble")
	for _, name := range []string{"/var/lib/wamble", "/etc/wamble", "/usr/bin/wamble",
		"/lib/systemd/system/wamble.service"} {
		if _, err := os.Stat(m.path(name)); !os.IsNotExist(err) {
			t.Errorf("after a purge there is %s: %v", name, err)
		}
	}
	if strings.Contains(m.read("/etc/passwd"), "wamble:") {
		t.Error("after a purge there is the user")
	}
}

// TestImage: the program of the image runs as its own user without anything else, reports its
// health, and stops at its signal.
func TestImage(t *testing.T) {
	t.Log("needs minutes and root")
	if !apart(t) {
		return
	}
	root := t.TempDir()
	image := unpackImage(t, filepath.Join(packages(1), "wamble-image-"+runtime.GOARCH+".tar"), root).Config
	if _, volume := image.Volumes["/data"]; !volume || image.User != fmt.Sprintf("%d:%[1]d", imageUser) ||
		image.StopSignal != "SIGTERM" {
		t.Errorf("got %+v", image)
	}
	if err := os.Mkdir(filepath.Join(root, "proc"), 0o755); err != nil { // mounted by the container runtime
		t.Fatal(err)
	}
	mount(t, "/proc", filepath.Join(root, "proc"), "", syscall.MS_BIND|syscall.MS_REC, "")
	command := func(args ...string) *exec.Cmd {
		c := exec.Command(args[0], args[1:]...)
		c.Env, c.Dir = image.Env, "/"
		c.SysProcAttr = &syscall.SysProcAttr{Chroot: root,
			Credential: &syscall.Credential{Uid: imageUser, Gid: imageUser}}
		return c
	}
	var log strings.Builder
	c := command(append(image.Entrypoint, image.Cmd...)...)
	c.Stdout, c.Stderr = &log, &log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var out []byte
	err := fmt.Errorf("not tried")
	for end := time.Now().Add(patience); err != nil && time.Now().Before(end); {
		out, err = command(image.Healthcheck.Test[1:]...).CombinedOutput()
	}
	if err != nil {
		t.Errorf("it is not well: %v\n%s", err, out)
	} else if got := fetch(t, "http://127.0.0.1:8888/"); !strings.HasPrefix(got, "200") {
		t.Errorf("got %.100s", got)
	}
	c.Process.Signal(syscall.SIGTERM)
	if err := c.Wait(); err != nil {
		t.Errorf("it ended with %v\n%s", err, log.String())
	}
	if out, err := command(image.Healthcheck.Test[1:]...).CombinedOutput(); err == nil {
		t.Errorf("when it has ended it is well: %s", out)
	}
}
