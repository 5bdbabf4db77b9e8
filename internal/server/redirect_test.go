package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"wamble/internal/admin"
)

// TestRedirectAtEachAddress: profiles with a domain on different addresses have plain HTTP at
// each of these, also after a handoff; after a reload only at those still configured.
func TestRedirectAtEachAddress(t *testing.T) {
	t.Parallel()
	ports := freePorts(t, 3)
	red := fmt.Sprintf(`(defprofile red ((def port %d) (def domain "red.example.org")))`, ports[0])
	blue := fmt.Sprintf(`(defprofile blue ((def port %d) (def domain "blue.example.org") (def listen-address "127.0.0.2")))`, ports[1])
	common := conf(fmt.Sprintf(`(def advertise 1) (def redirect-port %d) (def acme-directory "https://127.0.0.1:1/")`,
		ports[2]))
	i := spawnImage(t, common+red+blue)
	browser := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	sent := func(ip, name string) (to string, err error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://%s:%d/", ip, ports[2]),
			nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = name
		answer, err := browser.Do(r)
		if err != nil {
			return "", err
		}
		answer.Body.Close()
		return answer.Header.Get("Location"), nil
	}
	both := func(when string) {
		t.Helper()
		for ip, name := range map[string]string{"127.0.0.1": "red.example.org", "127.0.0.2": "blue.example.org"} {
			if to, err := sent(ip, name); err != nil || !strings.HasPrefix(to, "https://"+name) {
				t.Errorf("%s, %s at %s is sent to %q, %v", when, name, ip, to, err)
			}
		}
	}
	both("at first")
	if _, err := i.handOff(""); err != nil {
		t.Fatal(err)
	}
	both("after a handoff")
	i.write("test.conf", common+red+strings.Replace(blue, `(def domain "blue.example.org")`, "", 1))
	var done admin.Reloaded
	if err := admin.Ask(t.Context(), i.dir, "reload", nil, &done); err != nil {
		t.Fatal(err)
	}
	if to, err := sent("127.0.0.1", "red.example.org"); err != nil || to == "" {
		t.Errorf("after a reload the first is sent to %q, %v", to, err)
	}
	if to, err := sent("127.0.0.2", "blue.example.org"); err == nil {
		t.Errorf("after a reload the second is still sent to %q", to)
	}
}
