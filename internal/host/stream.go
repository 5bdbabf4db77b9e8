package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// streamed are the commands whose answers a console is sent when they have changed, and
// after how many ticks each is looked at again.
var streamed = []struct {
	name  string
	ticks int
}{
	{"status", 1}, {"vitals", 1}, {"log", 1}, {"audit", 1}, {"bans", 1}, {"announcements", 1}, {"dead-letters", 1}, {"config", 5}, {"cluster", 2},
}

// The times of a stream. It ends after streamTime, so that the page asks again, with a
// token that is still good.
const (
	streamTick  = time.Second
	streamWrite = 10 * time.Second
	streamTime  = 10 * time.Minute
)

// stream sends a console what has changed, as server-sent events: each is named like a
// command that changes nothing, and has its answer. HTTP gives the connection away, so
// that a handoff does not wait for its end.
func (h *Host) stream(who func(token string) (Actor, bool)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			refuseJSON(w, http.StatusInternalServerError, "the connection cannot be kept")
			return
		}
		defer conn.Close()
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		ctx, cancel := context.WithTimeout(withActor(h.Serving, actorOf(r.Context())), streamTime)
		defer cancel()
		out := bytes.NewBufferString("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n")
		sent := map[string][]byte{}
		pause := time.NewTicker(streamTick)
		defer pause.Stop()
		for tick := 0; ctx.Err() == nil; tick++ {
			if _, known := who(token); !known {
				return
			}
			h.news(ctx, tick, sent, out)
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

// news writes the answers that are others than those that were sent last, and a sign of
// life.
func (h *Host) news(ctx context.Context, tick int, sent map[string][]byte, out *bytes.Buffer) {
	for _, s := range streamed {
		c := h.command(s.name)
		if tick%s.ticks != 0 || c == nil || c.allowed(actorOf(ctx)) != nil {
			continue
		}
		result, err := h.do(ctx, c, Call{Args: []byte("{}")})
		if err != nil {
			continue // it is looked at again
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
