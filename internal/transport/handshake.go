package transport

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha1"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"wamble"
)

// refusal is the answer to a failed handshake.
type refusal struct {
	status int
	text   string
}

// checkHandshake checks a request to open a WebSocket, in the order of the original server. It
// returns the client's key, and whether the connection carries JSON.
func checkHandshake(r *http.Request, o GatewayOptions) (key string, speaksJSON bool, no *refusal) {
	h := r.Header
	target, _, _ := strings.Cut(r.RequestURI, "?")
	speaksJSON = target == o.Path+jsonPath
	switch {
	case r.Method != http.MethodGet:
		return "", false, &refusal{http.StatusMethodNotAllowed, "GET required"}
	case o.Off || target != o.Path && !speaksJSON:
		return "", false, &refusal{http.StatusNotFound, "not found"}
	case !has(h, "Upgrade") || !has(h, "Connection") || !has(h, "Sec-Websocket-Key") ||
		!has(h, "Sec-Websocket-Version"):
		return "", false, &refusal{http.StatusBadRequest, "missing websocket headers"}
	case h.Get("Sec-Websocket-Version") != "13":
		return "", false, &refusal{http.StatusUpgradeRequired, ""}
	case !strings.EqualFold(h.Get("Upgrade"), "websocket") || !listHas(h["Connection"], "upgrade"):
		return "", false, &refusal{http.StatusBadRequest, "invalid websocket headers"}
	}
	key = h.Get("Sec-Websocket-Key")
	if b, err := base64.StdEncoding.DecodeString(key); err != nil || len(b) != 16 {
		return "", false, &refusal{http.StatusBadRequest, "invalid websocket key"}
	}
	return key, speaksJSON, nil
}

// originalKey is the fixed Sec-WebSocket-Key that every original client sends.
const originalKey = "dGhlIHNhbXBsZSBub25jZQ=="

// answersPings reports whether a client surely answers pings by itself: browsers do, and they
// send an Origin. The original C client answers one ping and then waits for a packet forever;
// other programs are unknown and are watched by TCP keep-alive.
func answersPings(r *http.Request, key string) bool {
	return key != originalKey && r.Header.Get("Origin") != ""
}

func has(h http.Header, name string) bool { return len(h[name]) > 0 }

// listHas reports whether the comma-separated values of a header contain a word.
func listHas(values []string, word string) bool {
	for _, v := range values {
		for item := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(item), word) {
				return true
			}
		}
	}
	return false
}

// write sends the refusal as the answer.
func (no *refusal) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Connection", "close")
	h.Set("Content-Type", "text/plain")
	h.Set("Content-Length", fmt.Sprint(len(no.text)))
	switch no.status {
	case http.StatusUpgradeRequired:
		h["Sec-WebSocket-Version"] = []string{"13"}
	case http.StatusMethodNotAllowed:
		h.Set("Allow", http.MethodGet)
	}
	w.WriteHeader(no.status)
	w.Write([]byte(no.text))
}

// acceptKey returns the Sec-WebSocket-Accept of a client's key (RFC 6455 §4.2.2).
func acceptKey(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// switching returns the answer to a successful handshake. The original client compares these
// header lines byte by byte, so net/http, which writes "Sec-Websocket-Accept", cannot write
// them.
func switching(key string) []byte {
	return []byte("HTTP/1.1 101 Switching Protocols\r\n" +
		"Upgrade: websocket\r\n" +
		"Connection: Upgrade\r\n" +
		"Sec-WebSocket-Accept: " + acceptKey(key) + "\r\n\r\n")
}

// DialWebSocket opens a connection to a ws:// or wss:// URL. The context and Timing.Handshake
// bound only the opening. The owner must read the connection with Next and end it with Finish.
func DialWebSocket(ctx context.Context, u *url.URL, config *tls.Config, t Timing) (*Conn, error) {
	return dialWebSocket(ctx, u, config, t, opBinary)
}

// DialText is DialWebSocket for a connection that carries JSON: Send and Next handle whole text
// messages of at most MaxMessage bytes.
func DialText(ctx context.Context, u *url.URL, config *tls.Config, t Timing) (*Conn, error) {
	return dialWebSocket(ctx, u, config, t, opText)
}

func dialWebSocket(ctx context.Context, u *url.URL, config *tls.Config, t Timing, data opcode) (*Conn, error) {
	t = t.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, t.Handshake)
	defer cancel()
	nc, err := dialTCP(ctx, u, config)
	if err != nil {
		return nil, err
	}
	// An expired deadline ends the handshake when the context ends.
	stop := context.AfterFunc(ctx, func() { nc.SetDeadline(longAgo) })
	br, err := requestUpgrade(nc, u)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		nc.Close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("open %s: %w", u.Redacted(), err)
	}
	nc.SetDeadline(time.Time{})
	f := newFrameReader(br, false)
	f.data = data
	return startConn(nc, wamble.Peer{Addr: remoteAddr(nc), Route: nextRoute()}, t, true, true, f, nil), nil
}

func dialTCP(ctx context.Context, u *url.URL, config *tls.Config) (net.Conn, error) {
	host := u.Host
	switch u.Scheme {
	case "ws":
		if u.Port() == "" {
			host = net.JoinHostPort(u.Hostname(), "80")
		}
		return (&net.Dialer{}).DialContext(ctx, "tcp", host)
	case "wss":
		if u.Port() == "" {
			host = net.JoinHostPort(u.Hostname(), "443")
		}
		return (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", host)
	}
	return nil, fmt.Errorf("%q is not a scheme of WebSocket", u.Scheme)
}

// requestUpgrade does the client's half of the handshake.
func requestUpgrade(nc net.Conn, u *url.URL) (*bufio.Reader, error) {
	var nonce [16]byte
	rand.Read(nonce[:])
	key := base64.StdEncoding.EncodeToString(nonce[:])
	_, err := fmt.Fprintf(nc, "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\n\r\n", u.RequestURI(), u.Host, key)
	if err != nil {
		return nil, err
	}
	br := bufio.NewReaderSize(nc, MaxMessage)
	resp, err := http.ReadResponse(br, nil)
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	switch h := resp.Header; {
	case resp.StatusCode != http.StatusSwitchingProtocols:
		return nil, fmt.Errorf("the server answers %s", resp.Status)
	case !strings.EqualFold(h.Get("Upgrade"), "websocket") || !listHas(h["Connection"], "upgrade"),
		h.Get("Sec-Websocket-Accept") != acceptKey(key):
		return nil, fmt.Errorf("the server's handshake is not WebSocket")
	}
	return br, nil
}

// remoteAddr returns the far end of a TCP connection, unmapped; the zero AddrPort for any other
// kind of connection.
func remoteAddr(nc net.Conn) netip.AddrPort {
	a, ok := nc.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	ap := a.AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}
