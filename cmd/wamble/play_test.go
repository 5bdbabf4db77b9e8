package main

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"wamble"
	"wamble/client/clienttest"
	"wamble/internal/admin"
	"wamble/internal/play"
	"wamble/wire"
)

// TestServerAddress: the addresses of a server that people type are completed.
func TestServerAddress(t *testing.T) {
	for text, want := range map[string]string{
		"ws://localhost:8888/ws":          "ws://localhost:8888/ws",
		"ws://localhost:8888":             "ws://localhost:8888/ws",
		"wss://chess.example.org/other":   "wss://chess.example.org/other",
		"https://chess.example.org/":      "wss://chess.example.org/ws",
		"http://chess.example.org:81":     "ws://chess.example.org:81/ws",
		"udp://[::1]:8888":                "udp://[::1]:8888",
		"localhost":                       "ws://localhost:8888/ws",
		"chess.example.org:443":           "ws://chess.example.org:443/ws",
		"::1":                             "ws://[::1]:8888/ws",
		"chess.example.org:8888/anywhere": "ws://chess.example.org:8888/anywhere",
	} {
		if got, err := serverAddress(text); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
}

// playServer starts a server with two boards that 'wamble play' finds by itself.
func playServer(t *testing.T, more ...string) *served {
	t.Helper()
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	s := startServed(t, filepath.Join(state, "wamble"), append(more, playConf)...)
	s.ready()
	return s
}

const playConf = `(def min-boards 2) (def boards-per-player 1) (def durability "write") (def house-bots 0) (def prediction-mode "streak")
(def rate-limit-ip-requests-per-sec 0) (def rate-limit-requests-per-sec 0)`

// TestPlayThroughPipes: a whole visit in lines, through pipes, on a real server that was
// found by itself. The second visit goes on where the first has ended.
func TestPlayThroughPipes(t *testing.T) {
	s := playServer(t)
	address := "ws://" + s.ready().Profiles[0].HTTP + "/ws"
	var got strings.Builder
	for i, lines := range []string{
		"e9\nNf6\nmoves g1\nNf3\nboard\nlast\npredict d5\npredict e4\nd4\ntrail\nidentity new extra\nscore\n",
		"identity legal winner thank year wave sausage worth useful legal winner thank yellow\nname Ada_L\nscore\ne5\nquit\ne4\n",
	} {
		var out, errOut strings.Builder
		if code := run([]string{"play", "--plain"}, strings.NewReader(lines), &out, &errOut); code != 0 ||
			errOut.Len() > 0 {
			t.Fatalf("visit %d: got %d, %q", i+1, code, errOut.String())
		}
		got.WriteString(strings.ReplaceAll(out.String(), address, "ADDRESS") + "---\n")
	}
	// Totals are as old as the store is behind: the visit is shorter than that.
	visits := regexp.MustCompile(`in [02] games`).ReplaceAllString(got.String(), "in N games")
	golden(t, "testdata/play/visits.golden", nameBoards(visits))
	var out strings.Builder
	if code := run([]string{"play"}, strings.NewReader("identity\nidentity forget\nidentity\n"), &out,
		&out); code != 0 ||
		!strings.Contains(out.String(), "with your identity.") || !strings.Contains(out.String(), "\nlegal winner") ||
		!strings.Contains(out.String(), "\nYou are a guest") {
		t.Errorf("the third visit: got %d\n%s", code, out.String())
	}
	info, err := os.ReadDir(filepath.Join(os.Getenv("XDG_STATE_HOME"), "wamble-play"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range info {
		if f, err := entry.Info(); err != nil || f.Mode().Perm() != 0o600 {
			t.Errorf("%s: got %v, %v, want a file of its owner alone", entry.Name(), f.Mode(), err)
		}
		if entry.Name() == identityFile {
			t.Error("the identity was not forgotten")
		}
	}
}

// certificate writes an untrusted certificate for localhost, with its key, and returns the
// options that name them.
func certificate(t *testing.T) string {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	key, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir, options := t.TempDir(), ""
	for name, block := range map[string]*pem.Block{
		"tls-cert": {Type: "CERTIFICATE", Bytes: s.Certificate().Raw}, "tls-key": {Type: "PRIVATE KEY", Bytes: key},
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		options += fmt.Sprintf("(def %s %q) ", name, file)
	}
	return options
}

// TestPlayEncrypted: a server of this machine with TLS is found, also without UDP, and sends
// the trail the fate of moves.
func TestPlayEncrypted(t *testing.T) {
	s := playServer(t, certificate(t), "(def udp-enabled 0)")
	var out, errOut strings.Builder
	code := run([]string{"play", "--plain"}, strings.NewReader("Nf3\ne4\nNf6\ntrail\n"), &out, &errOut)
	if code != 0 || !strings.Contains(out.String(), "wss://"+s.ready().Profiles[0].HTTP+"/ws") ||
		!strings.Contains(out.String(), ": answered Nf6") {
		t.Errorf("got %d, %s\n%s", code, errOut.String(), out.String())
	}
}

// TestPagesOfDatagrams: the pages of a server that was reached by UDP are found whether they
// are encrypted or not.
func TestPagesOfDatagrams(t *testing.T) {
	for name, start := range map[string]func(http.Handler) *httptest.Server{"plain": httptest.NewServer,
		"encrypted": httptest.NewTLSServer} {
		web := start(http.HandlerFunc(func(w http.ResponseWriter,
			_ *http.Request) {
			io.WriteString(w, `{"moves":[{"uci":"e2e4"}]}`)
		}))
		defer web.Close()
		s := connection{pages: endpointAt("udp://" + web.Listener.Addr().String()).pages, web: web.Client()}
		if r, err := s.page(t.Context(), 7); err != nil || r.Board != 7 || len(r.Moves) != 1 {
			t.Errorf("%s: got %+v, %v", name, r, err)
		}
	}
}

// nameBoards names the two boards A and B, in the order in which the server gave them.
func nameBoards(text string) string {
	a, b := "1", "2"
	if strings.HasPrefix(text[strings.Index(text, "board "):], "board 2") {
		a, b = b, a
	}
	return strings.NewReplacer("oard "+a, "oard A", "oard "+b, "oard B").Replace(text)
}

// golden compares with a file, which UPDATE_SCRIPTS writes anew.
func golden(t *testing.T, name, got string) {
	t.Helper()
	if os.Getenv("UPDATE_SCRIPTS") != "" {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// TestPlayRefusals: the server's refusals and announcements, in lines.
func TestPlayRefusals(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	s := clienttest.NewServer(t,
		clienttest.Expect(wire.CtrlGetPlayerStats).Answer(0, wire.PlayerStatsData{}),
		clienttest.Expect(wire.CtrlPlayerMove).Deny(wamble.MoveRejected, "move rejected (status=2)"),
		clienttest.Expect(wire.CtrlGetPlayerStats).Deny(wamble.AccessDenied, "no\x1b[31m stats"),
		clienttest.Expect(wire.CtrlPlayerMove).Deny(wamble.Internal, "the move was made; no board is available"),
		clienttest.Expect(wire.CtrlClientGoodbye))
	var out, errOut strings.Builder
	if code := run([]string{"play", s.UDP()}, strings.NewReader("e4\nscore\nd4\nc4\n"), &out, &errOut); code != 0 {
		t.Fatalf("got %d, %q", code, errOut.String())
	}
	for _, want := range []string{
		"Your e4 on board 1 was not played: the board is no longer yours.\n",
		"Your score is not shown: no[31m stats.\n",
		"Your d4 stays on board 1.\nEvery board is being played on;",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it did not say %q:\n%s", want, out.String())
		}
	}
}

// TestPlayTwice: a second terminal does not disturb the session of the first.
func TestPlayTwice(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir, err := stateDir("", os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	s := clienttest.NewServer(t)
	first, err := connect(t.Context(), endpointAt(s.UDP()), dir, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.start(play.Keep{}); err != nil {
		t.Fatal(err)
	}
	second, err := connect(t.Context(), endpointAt(s.UDP()), dir, false)
	if err != nil {
		t.Fatal(err)
	}
	if !second.keeper.shared || second.conn.Token() == first.conn.Token() {
		t.Errorf("the second has the session of the first, shared %v", second.keeper.shared)
	}
	for _, s := range []*connection{first, second} {
		s.conn.Close()
		s.leave()
	}
}

// TestServerThatDoesNotServeYet: 'wamble play' and 'wamble bot' say why the server of this machine does not
// serve players.
func TestServerThatDoesNotServeYet(t *testing.T) {
	hearInterrupts(t)
	s := startServed(t, t.TempDir(), "(def disk-reserve-mb 1048576)")
	s.until("it waits for room", func() bool {
		var status admin.Status
		return admin.Ask(t.Context(), s.data, "status", nil, &status) == nil && len(status.Profiles) > 0 &&
			status.Profiles[0].Failures > 0
	})
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"play", "bot"} {
		c := exec.Command(exe, command)
		c.Args[0], c.Env = "wamble", append(os.Environ(), "WAMBLE_DATA="+s.data, "XDG_STATE_HOME="+t.TempDir())
		out, err := c.CombinedOutput()
		said := string(out)
		if err == nil || !strings.Contains(said, "does not serve players yet: default: ") ||
			!strings.Contains(said, "after a failure: ") {
			t.Errorf("wamble %s: %v, %s", command, err, out)
		}
	}
}
