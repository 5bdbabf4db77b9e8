package server

import (
	"io"
	"net"
	"strings"
	"testing"
)

// TestStopBesideHalfARequest: a request that is never completed does not keep a server from
// ending.
func TestStopBesideHalfARequest(t *testing.T) {
	t.Parallel()
	c := spawn(t, t.TempDir(), conf("(def shutdown-timeout 3600)"))
	slow, err := net.Dial("tcp", "127.0.0.1:"+c.port)
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	if _, err := io.WriteString(slow, "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Half: "); err != nil {
		t.Fatal(err)
	}
	// The server has accepted it when it has answered another one that came later.
	if got := fetch(t, "http://127.0.0.1:"+c.port+"/healthz"); got != "200 alive" {
		t.Fatalf("got %q", got)
	}
	c.end() // or the test's own time runs out
	rest, _ := io.ReadAll(slow)
	if strings.Contains(string(rest), "200 OK") {
		t.Errorf("half a request was answered: %s", rest)
	}
}
