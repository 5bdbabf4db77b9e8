package transport

import (
	"fmt"
	"net/http"

	"wamble/internal/guard"
)

// RecoverPanics answers 500 when next panics, and calls report, which may be nil. If the answer has
// begun, the connection is cut instead, so that the client does not take the answer for
// complete.
func RecoverPanics(next http.Handler, report func(error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := &startedWriter{ResponseWriter: w}
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v != http.ErrAbortHandler && report != nil {
				report(guard.New(fmt.Sprintf("the answer to %s %.200q", r.Method, r.URL.Path), v))
			}
			if begun.started || v == http.ErrAbortHandler {
				panic(http.ErrAbortHandler) // net/http cuts the connection
			}
			http.Error(w, "internal error", http.StatusInternalServerError)
		}()
		next.ServeHTTP(begun, r)
	})
}

// startedWriter records whether an answer has begun.
type startedWriter struct {
	http.ResponseWriter
	started bool
}

func (w *startedWriter) WriteHeader(code int) {
	w.started = true
	w.ResponseWriter.WriteHeader(code)
}

func (w *startedWriter) Write(p []byte) (int, error) {
	w.started = true
	return w.ResponseWriter.Write(p)
}

// Unwrap gives http.ResponseController the wrapped writer, so that it can hijack the
// connection.
func (w *startedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
