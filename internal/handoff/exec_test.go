package handoff

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The processes of these tests run this test binary, in the mode of a variable.
const asImage = "WAMBLE_TEST_IMAGE"

func TestMain(m *testing.M) {
	switch os.Getenv(asImage) {
	case "":
		os.Exit(m.Run())
	case "first":
		firstImage()
	case "second":
		secondImage()
	case "check":
		Verdict{Version: "v9"}.Print()
	case "refuse":
		fmt.Fprintln(os.Stderr, "the configuration is bad")
		os.Exit(1)
	case "other":
		fmt.Println("hello")
	}
}

// firstImage opens a UDP socket and hands it over: first to a file that is no program, which
// fails, then to secondImage. When the socket is given back, it runs backImage.
func firstImage() {
	if h, err := Inherit(); err != nil {
		panic(err)
	} else if h != nil {
		backImage(h)
		return
	}
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		panic(err)
	}
	raw, _ := conn.SyscallConn()
	h := &Inheritance{Sockets: map[string]int{}, Note: Note{From: "first"}}
	raw.Control(func(fd uintptr) { h.Sockets["club"], _ = syscall.Dup(int(fd)) })
	self, err := Self()
	if err != nil {
		panic(err)
	}
	h.Note.Old = int(self.Fd())
	broken := filepath.Join(os.TempDir(), fmt.Sprintf("wamble-broken-%d", os.Getpid()))
	os.WriteFile(broken, []byte("not a program"), 0o700)
	defer os.Remove(broken)
	err = h.Exec(broken, []string{"x"}, os.Environ())
	lastVersion := make(chan os.Signal, 1)
	signal.Notify(lastVersion, syscall.SIGUSR2)
	syscall.Kill(os.Getpid(), syscall.SIGUSR2)
	fmt.Println("broken:", errors.Is(err, syscall.ENOEXEC), <-lastVersion)
	os.Remove(broken)
	fmt.Println("address:", conn.LocalAddr())
	os.Setenv(asImage, "second")
	panic(h.Exec("/proc/self/exe", os.Args, os.Environ()))
}

// secondImage answers one datagram, then gives back.
func secondImage() {
	h, err := Inherit()
	if err != nil {
		panic(err)
	}
	syscall.Kill(os.Getpid(), syscall.SIGHUP) // as if it came a moment too early
	syscall.Kill(os.Getpid(), syscall.SIGUSR2)
	fmt.Println("second: pid", os.Getpid(), "from", h.Note.From, "left", os.Getenv(HotReload)+os.Getenv(profilesVar))
	answer(h)
	os.Setenv(asImage, "first")
	panic(h.Back(errors.New("cannot adopt"), os.Args, os.Environ()))
}

// backImage is the first image after the socket was given back.
func backImage(h *Inheritance) {
	fmt.Println("back: pid", os.Getpid(), "because", h.Note.Failure)
	answer(h)
}

// answer echoes one datagram on the inherited socket, which stays open.
func answer(h *Inheritance) {
	fd, err := syscall.Dup(h.Sockets["club"])
	if err != nil {
		panic(err)
	}
	f := os.NewFile(uintptr(fd), "club")
	conn, err := net.FilePacketConn(f)
	if err != nil {
		panic(err)
	}
	f.Close()
	defer conn.Close()
	b := make([]byte, 100)
	n, from, err := conn.ReadFrom(b)
	if err != nil {
		panic(err)
	}
	conn.WriteTo(b[:n], from)
}

// TestExec: a socket goes through three programs of one process, one of which is broken and
// one of which gives it back.
func TestExec(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asImage+"=first")
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	out := bufio.NewReader(pipe)
	line := func() string {
		t.Helper()
		text, err := out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(text)
	}
	if got, want := line(), "broken: true user defined signal 2"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	_, address, _ := strings.Cut(line(), " ")
	conn, err := net.Dial("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	pid := cmd.Process.Pid
	for _, want := range []string{
		fmt.Sprintf("second: pid %d from first left", pid),
		fmt.Sprintf("back: pid %d because cannot adopt", pid),
	} {
		if got := line(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if _, err := conn.Write([]byte(want)); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 200)
		if n, err := conn.Read(b); err != nil || string(b[:n]) != want {
			t.Errorf("got %q %v, want %q", b[:n], err, want)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestCheck: a binary's report about itself.
func TestCheck(t *testing.T) {
	for _, tc := range []struct{ image, binary, want string }{
		{"check", os.Args[0], ""},
		{"refuse", os.Args[0], "the new binary refuses: the configuration is bad"},
		{"other", os.Args[0], "is no wamble that can be handed over to"},
		{"check", "/nowhere/wamble", "no such file"},
	} {
		t.Setenv(asImage, tc.image)
		v, err := Check(context.Background(), tc.binary, []string{"wamble"})
		if tc.want == "" && (err != nil || v.Version != "v9") || tc.want != "" &&
			(err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: got %+v, %v; want %q", tc.image, v, err, tc.want)
		}
	}
}

// TestTake: an inherited descriptor that is not taken is closed.
func TestTake(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	fd, err := syscall.Dup(int(w.Fd()))
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	h := &Inheritance{Sockets: map[string]int{"a": fd}}
	if Take(h.Sockets, "b") != nil {
		t.Error("took what is not there")
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		t.Errorf("got %q, %v; want the end", rest, err)
	}
	if Take(h.Sockets, "a") != nil {
		t.Error("took what was closed")
	}
}
