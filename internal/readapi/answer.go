package readapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"wamble"
	"wamble/internal/store"
)

// answer is a response body with its lifetime.
type answer struct {
	kind string // content type
	body []byte
	tag  string        // ETag; "" for none
	good time.Duration // lifetime; 0 must not be cached
	own  bool          // it is for this reader alone
	next string        // cursor of the feed; "" for none
	// about is the player whose stats these are; nil for other answers.
	about   *wamble.Player
	session *wamble.Session // for storedSession; the answer has no body
}

// problem is a refusal: a status and a text.
type problem struct {
	status int
	words  string
}

func (p *problem) Error() string { return p.words }

func badf(format string, args ...any) error {
	return &problem{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

var (
	errPath   = &problem{http.StatusNotFound, "there is no such path"}
	errMethod = &problem{http.StatusMethodNotAllowed, "these routes only read: GET or HEAD"}
	errOften  = &problem{http.StatusTooManyRequests, "too many requests from this address"}
	errBusy   = &problem{http.StatusServiceUnavailable, "too many ask at once"}
	errGone   = &problem{http.StatusGone, "the feed no longer has what follows this cursor: begin again without it"}
)

// problemOf returns the refusal for an error. An unexpected error is "internal error", without
// details.
func problemOf(err error) *problem {
	var p *problem
	var denied *wamble.Denied
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &denied):
		words := denied.Reason
		if words == "" {
			words = "this server does not allow it"
		}
		return &problem{http.StatusForbidden, words}
	case errors.Is(err, store.ErrNotFound):
		return &problem{http.StatusNotFound, "not found"}
	case errors.Is(err, store.ErrTransient), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &problem{http.StatusServiceUnavailable, "the database is away"}
	case errors.Is(err, ErrStarting):
		return &problem{http.StatusServiceUnavailable, ErrStarting.Error()}
	}
	return &problem{http.StatusInternalServerError, "internal error"}
}

// inJSON returns an answer in JSON.
func inJSON(v any, good time.Duration) (*answer, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return &answer{kind: jsonType, body: append(body, '\n'), good: good}, nil
}

// write sends an answer, or 304 if the reader has its ETag.
func (a *answer) write(w http.ResponseWriter, r *http.Request) {
	h := head(w, a.kind)
	control := "no-store"
	if a.good > 0 {
		control = "max-age=" + strconv.Itoa(int(a.good/time.Second))
		if a.own {
			control = "private, " + control
		}
	}
	h.Set("Cache-Control", control)
	h.Set("Vary", "Authorization")
	if a.next != "" {
		h.Set("Wamble-Cursor", a.next)
	}
	if a.tag != "" {
		h.Set("ETag", a.tag)
		if matches(r.Header.Get("If-None-Match"), a.tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	h.Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		w.Write(a.body)
	}
}

// matches reports whether a list of ETags has tag or *.
func matches(list, tag string) bool {
	for t := range strings.SplitSeq(list, ",") {
		if t = strings.TrimSpace(t); t == tag || t == "*" {
			return true
		}
	}
	return false
}

func (p *problem) write(w http.ResponseWriter) {
	h := head(w, jsonType)
	h.Set("Cache-Control", "no-store")
	switch p.status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		h.Set("Retry-After", "1")
	case http.StatusMethodNotAllowed:
		h.Set("Allow", "GET, HEAD")
	}
	w.WriteHeader(p.status)
	json.NewEncoder(w).Encode(struct {
		Error string `json:"error"`
	}{p.words})
}

func head(w http.ResponseWriter, kind string) http.Header {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("X-Content-Type-Options", "nosniff")
	allow(h)
	return h
}

// Pages of every origin may read the API: answers never depend on cookies, and a token may be
// used from any page.

// allow sets the headers that let pages of other origins read an answer.
func allow(h http.Header) {
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "ETag, Retry-After, Wamble-Cursor")
}

// preflight answers a CORS preflight request.
func preflight(w http.ResponseWriter) {
	h := w.Header()
	allow(h)
	h.Set("Access-Control-Allow-Methods", "GET, HEAD")
	h.Set("Access-Control-Allow-Headers", "Authorization, If-None-Match, Last-Event-ID")
	h.Set("Access-Control-Max-Age", "86400")
	w.WriteHeader(http.StatusNoContent)
}
