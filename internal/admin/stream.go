package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// streamed has the commands whose changed answers are sent to consoles, and the number of
// ticks between two checks of each.
var streamed = []struct {
	name  string
	ticks int
}{
	{"status", 1}, {"vitals", 1}, {"log", 1}, {"audit", 1}, {"bans", 1}, {"announcements", 1},
	{"dead-letters", 1}, {"config", 5}, {"cluster", 2},
}

// The times of a stream: between two ticks, for a write, and in all. After streamTime the
// page connects again.
const (
	streamTick  = time.Second
	streamWrite = 10 * time.Second
	streamTime  = 10 * time.Minute
)

// stream returns the handler of server-sent events for consoles. Each event has the name and
// the changed answer of a command. The connection is taken over from HTTP, so that a handoff
// does not wait for its end. A stream ends when its token is revoked.
func (h *Host) stream(who func(token string) (Actor, bool)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			denyJSON(w, http.StatusInternalServerError, "the connection cannot be kept")
			return
		}
		defer conn.Close()
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		ctx, cancel := context.WithTimeout(withActor(h.Serving, actorOf(r.Context())), streamTime)
		defer cancel()
		out := bytes.NewBufferString("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" +
			"Cache-Control: no-store\r\nConnection: close\r\n\r\n")
		sent := map[string][]byte{}
		pause := time.NewTicker(streamTick)
		defer pause.Stop()
		for tick := 0; ctx.Err() == nil; tick++ {
			if _, known := who(token); !known {
				return
			}
			h.writeChanges(ctx, tick, sent, out)
			conn.SetWriteDeadline(time.Now().Add(streamWrite))
			if _, err := conn.Write(out.Bytes()); err != nil {
				return
			}
			out.Reset()
			select {
			case <-pause.C:
			case <-ctx.Done():
			}
		}
	}
}

// writeChanges writes the answers that differ from those sent last, and a keep-alive line.
func (h *Host) writeChanges(ctx context.Context, tick int, sent map[string][]byte, out *bytes.Buffer) {
	for _, s := range streamed {
		c := h.command(s.name)
		if tick%s.ticks != 0 || c == nil || c.allowed(actorOf(ctx)) != nil {
			continue
		}
		result, err := h.do(ctx, c, Call{Args: []byte("{}")})
		if err != nil {
			continue // tried again at the next tick
		}
		text, err := json.Marshal(result)
		if err != nil || bytes.Equal(text, sent[s.name]) {
			continue
		}
		sent[s.name] = text
		fmt.Fprintf(out, "event: %s\ndata: %s\n\n", s.name, text)
	}
	out.WriteString(":\n\n")
}
