package readapi

import "net/http"

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
