package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"wamble/web"
)

// The console is a page and JSON routes:
//
//	GET  /console/api/NAME       a command that changes nothing
//	POST /console/api/act/NAME   one that changes something, with its arguments
//	GET  /console/api/stream     the answers of several, as they change
//
// The page has no secrets and needs no token. The routes need the token in a header that
// browsers do not send by themselves, which prevents cross-site requests. For the same
// reason they do not accept basic authentication.

// Console returns the handler of the console. Who returns the actor of a token; a command
// also needs the actor's role to suffice.
func (h *Host) Console(who func(token string) (Actor, bool)) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /console/", web.Console())
	for i := range h.commands {
		c := &h.commands[i]
		if c.Channels&Console == 0 {
			continue
		}
		handler := h.handleRead(c)
		if c.Changes {
			handler = h.handleChange(c)
		}
		mux.Handle(c.Route(), requireBearer(who, c.requireRole(handler)))
	}
	mux.Handle("GET /console/api/stream", requireBearer(who, h.stream(who)))
	runner := requirePassword(who, h.journalAdminPages())
	mux.Handle("GET "+journalAdminPath+"/", runner)
	mux.Handle("POST "+journalAdminPath+"/", runner)
	mux.Handle("POST /console/api/act/{name}", requireBearer(who, func(w http.ResponseWriter, r *http.Request) {
		denyJSON(w, http.StatusNotFound, fmt.Sprintf("there is no action %q", r.PathValue("name")))
	}))
	return mux
}

// requireRole passes on requests of actors whose role suffices for the command.
func (c *Command) requireRole(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := c.allowed(actorOf(r.Context())); err != nil {
			denyJSON(w, http.StatusForbidden, err.Error())
			return
		}
		next(w, r)
	}
}

// requireBearer passes on requests with a valid bearer token. Requests with the Origin of another
// host are refused.
func requireBearer(who func(token string) (Actor, bool), next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		actor, known := who(given)
		if !ok || !known {
			denyJSON(w, http.StatusUnauthorized, "the admin token is wanted, as bearer")
			return
		}
		if origin := r.Header.Get("Origin"); origin != "" {
			if u, err := url.Parse(origin); err != nil || !strings.EqualFold(u.Host, r.Host) {
				denyJSON(w, http.StatusForbidden, "this is not for other pages")
				return
			}
		}
		next(w, r.WithContext(withActor(r.Context(), actor)))
	})
}

// requirePassword passes on requests with a valid token, as bearer or as the password of basic
// authentication. It is for the runner's pages, which have no script to send a header, and
// whose handler refuses cross-site requests.
func requirePassword(who func(token string) (Actor, bool), next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !bearer {
			_, given, _ = r.BasicAuth()
		}
		actor, known := who(given)
		if !known {
			w.Header().Set("WWW-Authenticate", `Basic realm="wamble", charset="UTF-8"`)
			denyJSON(w, http.StatusUnauthorized, "the admin token is wanted, as bearer or as password")
			return
		}
		next.ServeHTTP(w, r.WithContext(withActor(r.Context(), actor)))
	})
}

// handleRead returns the handler of a command that changes nothing. Its arguments are in the query.
func (h *Host) handleRead(c *Command) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		given := map[string]string{}
		for i := range c.Args {
			if name := c.Args[i].Name; name != "" && r.URL.Query().Has(name) {
				given[name] = r.URL.Query().Get(name)
			}
		}
		args, _ := json.Marshal(given) // texts always are JSON
		actor := actorOf(r.Context())
		if err := c.allowedWith(actor, args); err != nil {
			denyJSON(w, http.StatusForbidden, err.Error())
			return
		}
		result, err := h.doAudited(r.Context(), c, Call{Args: args}, actor.from(r.RemoteAddr))
		answerJSON(w, result, err)
	}
}

// handleChange returns the handler of a command that changes something. Its arguments are the body.
func (h *Host) handleChange(c *Command) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
			denyJSON(w, http.StatusUnsupportedMediaType, "the arguments are JSON")
			return
		}
		args, err := io.ReadAll(r.Body)
		if err != nil || !json.Valid(args) {
			denyJSON(w, http.StatusBadRequest, "the arguments are no JSON")
			return
		}
		http.NewResponseController(w).SetWriteDeadline(time.Now().Add(c.Patience + quick))
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), c.Patience)
		defer cancel()
		call := Call{Args: args, Key: r.Header.Get("Idempotency-Key")}
		call.Key = call.Key[:min(len(call.Key), maxKey)]
		if c.TakesConn {
			if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
				defer conn.Close()
				call.Web = conn
				result, err := h.doAudited(ctx, c, call, actorOf(r.Context()).from(r.RemoteAddr))
				AnswerWeb(conn, result, err)
				return
			}
		}
		result, err := h.doAudited(ctx, c, call, actorOf(r.Context()).from(r.RemoteAddr))
		answerJSON(w, result, err)
	}
}

// maxKey bounds an idempotency key, in bytes; the rest is ignored.
const maxKey = 64

// AnswerWeb writes the answer to a request of the console to a connection that was taken
// over from HTTP. The caller closes the connection.
func AnswerWeb(w io.Writer, result any, err error) {
	rec := &responseRecorder{header: http.Header{}}
	answerJSON(rec, result, err)
	rec.header.Set("Connection", "close")
	rec.header.Set("Content-Length", strconv.Itoa(len(rec.body)))
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", rec.code, http.StatusText(rec.code))
	rec.header.Write(&b)
	b.WriteString("\r\n")
	b.Write(rec.body)
	w.Write(b.Bytes())
}

// responseRecorder is a http.ResponseWriter that stores an answer.
type responseRecorder struct {
	header http.Header
	code   int
	body   []byte
}

func (r *responseRecorder) Header() http.Header  { return r.header }
func (r *responseRecorder) WriteHeader(code int) { r.code = code }
func (r *responseRecorder) Write(p []byte) (int, error) {
	r.body = append(r.body, p...)
	return len(p), nil
}

// form describes a command for the console's page.
type form struct {
	Name    string  `json:"name"`
	Form    string  `json:"form"` // commands of one form share its fields
	Title   string  `json:"title"`
	Confirm string  `json:"confirm"` // {name} is replaced by a field
	Fields  []field `json:"fields"`
}

// field is an argument in a form.
type field struct {
	Name     string `json:"name"`
	Kind     Kind   `json:"kind"`
	Label    string `json:"label"`
	Max      int    `json:"max,omitempty"` // characters
	Required bool   `json:"required,omitempty"`
}

// forms returns the commands that the console offers in forms.
func (h *Host) forms() []form {
	list := []form{}
	for _, c := range h.commands {
		if c.Page.Form == "" || c.Page.Form == Own {
			continue
		}
		f := form{Name: c.Name, Form: c.Page.Form, Title: c.Page.Title, Confirm: c.Page.Confirm, Fields: []field{}}
		for _, a := range c.Args {
			if a.Kind != Object {
				f.Fields = append(f.Fields, field{
					Name: a.Name, Kind: a.Kind, Label: a.Label, Max: a.Max, Required: a.Word != "",
				})
			}
		}
		list = append(list, f)
	}
	return list
}

func answerJSON(w http.ResponseWriter, v any, err error) {
	if err != nil {
		denyJSON(w, http.StatusInternalServerError, err.Error())
		return
	}
	text, err := json.Marshal(v)
	if err != nil {
		denyJSON(w, http.StatusInternalServerError, err.Error())
		return
	}
	writeJSON(w, http.StatusOK, text)
}

func denyJSON(w http.ResponseWriter, code int, why string) {
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
