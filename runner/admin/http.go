package admin

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"wamble/runner"
)

// Loopback allows requests from the same machine to an IP address or localhost that did not
// come through a proxy. It trusts every user of the machine.
func Loopback(r *http.Request, _ bool) bool {
	if r.Header.Get("Forwarded") != "" || r.Header.Get("X-Forwarded-For") != "" {
		return false
	}
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	to, err2 := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && from.Addr().Unmap().IsLoopback() &&
		(strings.EqualFold(host, "localhost") || err2 == nil && to.IsLoopback())
}

// policy is the content security policy: the page may use its own style and send its own forms,
// nothing else.
const policy = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// maxBody bounds the arguments of a request in bytes.
const maxBody = 64 << 10

//go:embed style.css
var style []byte

func (h *Handler) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", h.page)
	mux.HandleFunc("GET /style.css", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		w.Write(style)
	})
	for i := range Verbs {
		v := &Verbs[i]
		if !v.Changes {
			mux.HandleFunc("GET /api/"+v.Name, func(w http.ResponseWriter, r *http.Request) {
				a, err := queryArgs(r.URL.Query())
				if err != nil {
					refuseJSON(w, err)
					return
				}
				result, err := h.Do(r.Context(), v.Name, a)
				answerJSON(w, result, err)
			})
			continue
		}
		mux.HandleFunc("POST /api/"+v.Name, func(w http.ResponseWriter, r *http.Request) { h.actJSON(w, r, v.Name) })
		mux.HandleFunc("POST /act/"+v.Name, func(w http.ResponseWriter, r *http.Request) { h.actForm(w, r, v.Name) })
	}
	// Pages of other sites cannot act with the permissions of the user.
	return h.allowed(http.NewCrossOriginProtection().Handler(http.MaxBytesHandler(mux, maxBody)))
}

// allowed asks Options.Allow before every request.
func (h *Handler) allowed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Content-Security-Policy", policy)
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Referrer-Policy", "same-origin")
		head.Set("Cache-Control", "no-store")
		changes := r.Method != http.MethodGet && r.Method != http.MethodHead
		if h.o.Allow == nil || !h.o.Allow(r, changes) {
			http.Error(w, "you may not do that here", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// act executes a change that came by HTTP.
func (h *Handler) act(r *http.Request, verb string, a Args) (any, error) {
	do := func(ctx context.Context) (any, error) { return h.Do(ctx, verb, a) }
	if h.o.Around != nil {
		return h.o.Around(r, verb, a, do)
	}
	return do(r.Context())
}

func (h *Handler) actJSON(w http.ResponseWriter, r *http.Request, verb string) {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		writeJSON(w, http.StatusUnsupportedMediaType, map[string]string{"error": "the arguments are JSON"})
		return
	}
	var a Args
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &a)
	}
	if err != nil {
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": "not the arguments of a change: " + err.Error()})
		return
	}
	result, err := h.act(r, verb, a)
	answerJSON(w, result, err)
}

// actForm answers a form of the page with a redirect to the list or page that it was on.
func (h *Handler) actForm(w http.ResponseWriter, r *http.Request, verb string) {
	a, err := Args{}, r.ParseForm()
	if err == nil {
		a, err = queryArgs(r.PostForm)
	}
	if err == nil {
		_, err = h.act(r, verb, a)
	}
	if err != nil {
		h.render(w, codeOf(err), &view{Problem: err.Error(), Queue: a.Queue})
		return
	}
	back := url.Values{"did": {verb}}
	if r.PostForm.Get("home") == "" {
		back.Set("queue", a.Queue)
		if a.State != "" {
			back.Set("state", a.State)
		}
		if a.Find != "" {
			back.Set("find", a.Find)
		}
	}
	// The page is above /act/VERB, wherever it is mounted.
	w.Header().Set("Location", "../?"+back.Encode())
	w.WriteHeader(http.StatusSeeOther)
}

// queryArgs reads arguments from a query or a form.
func queryArgs(q url.Values) (Args, error) {
	a := Args{Queue: q.Get("queue"), ID: q.Get("id"), State: q.Get("state"), All: q.Get("all") == "true",
		Find: q.Get("find"), Schedule: q.Get("schedule")}
	var errs []error
	number := func(name string, bits int) uint64 {
		if q.Get(name) == "" {
			return 0
		}
		n, err := strconv.ParseUint(q.Get(name), 10, bits)
		if err != nil {
			errs = append(errs, errors.Join(runner.ErrInvalid, err))
		}
		return n
	}
	a.Number, a.From, a.Limit = number("number", 64), number("from", 64), int(number("limit", 31))
	return a, errors.Join(errs...)
}

// codeOf returns the HTTP status of an error.
func codeOf(err error) int {
	switch {
	case errors.Is(err, runner.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, runner.ErrInvalid), errors.Is(err, runner.ErrFormat):
		return http.StatusBadRequest
	case errors.Is(err, runner.ErrLeased), errors.Is(err, runner.ErrConflict):
		return http.StatusConflict
	case errors.Is(err, ErrRefused):
		return http.StatusForbidden
	}
	return http.StatusInternalServerError
}

// ErrRefused is for Options.Refuse: an error that wraps it is answered 403.
var ErrRefused = errors.New("not here")

func answerJSON(w http.ResponseWriter, result any, err error) {
	if err != nil {
		refuseJSON(w, err)
		return
	}
	writeJSON(w, http.StatusOK, result)
}

func refuseJSON(w http.ResponseWriter, err error) {
	writeJSON(w, codeOf(err), map[string]string{"error": err.Error()})
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		code, text = http.StatusInternalServerError, []byte(`{"error":"no JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	w.Write(append(text, '\n'))
}
