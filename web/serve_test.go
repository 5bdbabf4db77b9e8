package web_test

import (
	"bufio"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"wamble/internal/watchtest"
)

// binary is the path of wamble, built once from these sources.
var binary string

func TestMain(m *testing.M) {
	code := 1
	defer func() { os.Exit(code) }()
	if _, err := os.Stat("dist/player/index.html"); err != nil {
		fmt.Println("the browser client is not built: run 'make web' first")
		return
	}
	if newest("src").After(newest("dist")) {
		fmt.Println("the browser client is older than its sources: run 'make web' first")
		return
	}
	dir, err := os.MkdirTemp("", "wamble-web-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "wamble")
	build := exec.Command("go", "build", "-o", binary, "wamble/cmd/wamble")
	build.Stdout, build.Stderr = os.Stdout, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Println("building wamble:", err)
		return
	}
	code = m.Run()
	if chromium.close != nil {
		chromium.close()
	}
}

// newest returns when a file below a directory was last written.
func newest(dir string) (last time.Time) {
	filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
		return err
	})
	return last
}

// host is a server in a process of its own.
type host struct {
	t          testing.TB
	dir, conf  string
	cmd        *exec.Cmd
	log        *watchtest.Log
	url, admin string // of the pages
	udp        string
	ended      chan struct{}
}

// conf is a configuration for tests: loopback, ports that the kernel chooses,
// and no limits that one machine full of players would meet.
func conf(more string) string {
	return `(def listen-address "127.0.0.1") (def port 0) (def admin-listen "127.0.0.1:0") (def disk-reserve-mb 0)
(def rate-limit-ip-requests-per-sec 0) (def new-players-per-ip-per-min 0)
` + more
}

// serve starts a server that stops with the test, and waits until it is ready. prepare gets
// the empty data directory before that.
func serve(t testing.TB, text string, prepare ...func(data string)) *host {
	t.Helper()
	h := prepared(t, text)
	for _, do := range prepare {
		do(filepath.Join(h.dir, "data"))
	}
	h.start()
	return h
}

// prepared is a server that is not started yet, and stops with the test.
func prepared(t testing.TB, text string) *host {
	t.Helper()
	h := &host{t: t, dir: t.TempDir(), log: &watchtest.Log{}}
	h.conf = filepath.Join(h.dir, "wamble.conf")
	h.write(text)
	t.Cleanup(func() {
		h.cmd.Process.Signal(syscall.SIGTERM)
		<-h.ended
		if t.Failed() {
			t.Logf("the log of the server:\n%s", h.log)
		}
	})
	return h
}

// write replaces the configuration.
func (h *host) write(text string) {
	h.t.Helper()
	if err := os.WriteFile(h.conf, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// start starts the process and reads where it listens.
func (h *host) start() {
	h.t.Helper()
	h.ready(h.launch())
}

// launch starts the process, which prints where it listens.
func (h *host) launch() <-chan map[string]string {
	h.t.Helper()
	h.cmd = exec.Command(binary, "serve", "--config", h.conf, "--data", filepath.Join(h.dir, "data"))
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // a test that is killed leaves nothing behind
	h.cmd.Stderr = h.log
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	ready := make(chan map[string]string, 1)
	go func() {
		said := map[string]string{}
		for lines := bufio.NewScanner(out); lines.Scan(); {
			h.log.Write([]byte(lines.Text() + "\n"))
			if word, rest, found := strings.Cut(strings.TrimSpace(lines.Text()), "  "); found {
				if _, again := said[word]; !again {
					said[word] = strings.TrimSpace(rest)
				}
			}
			if strings.HasPrefix(lines.Text(), "Stop it") {
				select {
				case ready <- said:
				default: // the process after a handoff prints it again
				}
				said = map[string]string{}
			}
		}
		close(ready)
	}()
	h.ended = make(chan struct{})
	go func() {
		h.cmd.Wait()
		close(h.ended)
	}()
	return ready
}

// ready waits until the process has said where it listens.
func (h *host) ready(ready <-chan map[string]string) {
	h.t.Helper()
	select {
	case said := <-ready:
		if said["browser"] == "" {
			h.t.Fatalf("the server did not say where it listens:\n%s", h.log)
		}
		h.url, h.udp = strings.TrimSuffix(said["browser"], "/"), said["client"]
		console, _, _ := strings.Cut(said["console"], ",")
		h.admin = strings.TrimSuffix(console, "/")
	case <-time.After(patience):
		h.t.Fatalf("the server is not ready:\n%s", h.log)
	}
}

// handOff hands the server over to another process, and waits until that serves.
func (h *host) handOff() {
	h.t.Helper()
	h.tell("handoff")
}

// tell gives the server a command from the command line.
func (h *host) tell(order string, more ...string) {
	h.t.Helper()
	args := append([]string{order, "--data", filepath.Join(h.dir, "data")}, more...)
	if out, err := exec.Command(binary, args...).CombinedOutput(); err != nil {
		h.t.Fatalf("%s: %v\n%s", order, err, out)
	}
}

// kill ends the process as a crash does.
func (h *host) kill() {
	h.t.Helper()
	if err := h.cmd.Process.Kill(); err != nil {
		h.t.Fatal(err)
	}
	<-h.ended
}

// freeze stops the process where it is: it does not answer, as if its machine had lost power.
func (h *host) freeze() {
	h.t.Helper()
	if err := h.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(h.kill)
}

// freePort returns a port that a server can have again after a restart: one that the kernel
// does not give away by itself.
func freePort(t testing.TB) int {
	t.Helper()
	for range 1000 {
		port := 20000 + rand.IntN(10000)
		address := fmt.Sprintf("127.0.0.1:%d", port)
		tcp, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		tcp.Close()
		udp, err := net.ListenPacket("udp", address)
		if err != nil {
			continue
		}
		udp.Close()
		return port
	}
	t.Fatal("there is no free port")
	return 0
}

// at is a configuration with a port of its own.
func at(port int, text string) string {
	return strings.Replace(text, "(def port 0)", fmt.Sprintf("(def port %d)", port), 1)
}
