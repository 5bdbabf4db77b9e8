package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"wamble/internal/observe"
	"wamble/web"
)

// The console asks for JSON beside its page:
//
//	GET  /console/api/NAME       one of looks
//	POST /console/api/act/VERB   one of acts, with the arguments of a control verb
//
// The page itself is open to whoever reaches the listener: it has no secrets.
// What it asks for wants the token in a header that no browser sends by itself,
// so that a page of somebody else cannot act in the host's name; passwords that a
// browser remembers (basic authentication) do not count here.

// look is one row of the table of what the console shows.
type look struct {
	name string
	at   func(ctx context.Context, s *Server) (any, error)
}

// looks is the one table of it.
var looks = []look{
	{"status", func(ctx context.Context, s *Server) (any, error) { return s.Status(ctx), nil }},
	{"vitals", func(ctx context.Context, s *Server) (any, error) { return observe.LookAt(ctx, s.runtimes()), nil }},
	{"dead-letters", func(ctx context.Context, s *Server) (any, error) { return listDead(ctx, s, nil) }},
	{"bans", func(_ context.Context, s *Server) (any, error) { return s.bans(), nil }},
	{"log", func(_ context.Context, s *Server) (any, error) { return s.tail(), nil }},
	{"audit", func(_ context.Context, s *Server) (any, error) { return s.deeds() }},
}

// acts are the control verbs that the console may use to change something. Each
// is noted in the audit log before it is done.
var acts = []string{
	"reload", "drain", "brownout", "announce", "kick", "ban", "unban", "erase", "archive",
	"dead-letter-replay", "dead-letter-drop", handoffVerb,
}

// actOf finds an act. A handoff is none of the verbs, because over the control
// socket its answer comes from the next image; here it is "done" when nothing can
// stop it any more.
func actOf(name string) (verb, bool) {
	if name == handoffVerb {
		return verb{name, HandoffTime, func(ctx context.Context, s *Server, _ json.RawMessage) (any, error) {
			return struct{}{}, s.handOff(ctx, "", nil, 1) // this request waits for it
		}}, true
	}
	i := slices.IndexFunc(verbs, func(v verb) bool { return v.name == name })
	if i < 0 || !slices.Contains(acts, name) {
		return verb{}, false
	}
	return verbs[i], true
}

// console serves the console of the host.
func (s *Server) console(knows func(token string) bool) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /console/", web.Console())
	for _, l := range looks {
		mux.Handle("GET /console/api/"+l.name, bearer(knows, func(w http.ResponseWriter, r *http.Request) {
			v, err := l.at(r.Context(), s)
			answerJSON(w, v, err)
		}))
	}
	mux.Handle("POST /console/api/act/{verb}", bearer(knows, s.act))
	return mux
}

// bearer lets through who sends the token as a bearer, from a page of ours.
func bearer(knows func(token string) bool, next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok || !knows(given) {
			refuseJSON(w, http.StatusUnauthorized, "the admin token is wanted, as bearer")
			return
		}
		if origin := r.Header.Get("Origin"); origin != "" {
			if u, err := url.Parse(origin); err != nil || !strings.EqualFold(u.Host, r.Host) {
				refuseJSON(w, http.StatusForbidden, "this is not for other pages")
				return
			}
		}
		next(w, r)
	})
}

// act does what the host says.
func (s *Server) act(w http.ResponseWriter, r *http.Request) {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		refuseJSON(w, http.StatusUnsupportedMediaType, "the arguments are JSON")
		return
	}
	args, err := io.ReadAll(r.Body)
	if err != nil || !json.Valid(args) {
		refuseJSON(w, http.StatusBadRequest, "the arguments are no JSON")
		return
	}
	name := r.PathValue("verb")
	v, ok := actOf(name)
	if !ok {
		refuseJSON(w, http.StatusNotFound, fmt.Sprintf("there is no action %q", name))
		return
	}
	d := deed{From: r.RemoteAddr, Verb: name, Args: args}
	if err := s.note(d); err != nil {
		s.log.Error("an action was refused: it cannot be noted", "err", err)
		answerJSON(w, nil, err)
		return
	}
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(v.patience + quick))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), v.patience)
	defer cancel()
	result, err := v.do(ctx, s, args)
	if err != nil {
		d.Error = err.Error()
		if err := s.note(d); err != nil {
			s.log.Error("the audit log", "err", err)
		}
	}
	answerJSON(w, result, err)
}

func answerJSON(w http.ResponseWriter, v any, err error) {
	if err != nil {
		refuseJSON(w, http.StatusInternalServerError, err.Error())
		return
	}
	text, err := json.Marshal(v)
	if err != nil {
		refuseJSON(w, http.StatusInternalServerError, err.Error())
		return
	}
	writeJSON(w, http.StatusOK, text)
}

func refuseJSON(w http.ResponseWriter, code int, why string) {
	text, _ := json.Marshal(map[string]string{"error": why}) // a string always is JSON
	writeJSON(w, code, text)
}

func writeJSON(w http.ResponseWriter, code int, text []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	w.Write(text)
}
