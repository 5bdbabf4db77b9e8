package server

import (
	"path/filepath"
	"strings"
	"testing"

	"wamble/internal/config"
)

func TestDataDir(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, flag, configured string
		env                    map[string]string
		want                   string
	}{
		{"flag", "/a", "/b", map[string]string{"XDG_STATE_HOME": "/x"}, "/a"},
		{"configuration", "", "/b", map[string]string{"XDG_STATE_HOME": "/x"}, "/b"},
		{"state directory", "", "", map[string]string{"XDG_STATE_HOME": "/x", "HOME": "/h"}, "/x/wamble"},
		{"relative state directory is ignored", "", "", map[string]string{"XDG_STATE_HOME": "x", "HOME": "/h"}, "/h/.local/state/wamble"},
		{"home", "", "", map[string]string{"HOME": "/h"}, "/h/.local/state/wamble"},
		{"nowhere", "", "", nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := DataDir(tc.flag, tc.configured, func(k string) string { return tc.env[k] })
			if got != tc.want || (err != nil) != (tc.want == "") {
				t.Errorf("got %q, %v, want %q", got, err, tc.want)
			}
		})
	}
}

// TestStoresAreShared: equal settings are one store, and isolation is not.
func TestStoresAreShared(t *testing.T) {
	t.Parallel()
	c, err := config.Load("test.conf", `
		(defprofile a ((def port 9001) (def advertise 1)))
		(defprofile b ((def port 9002) (def advertise 1)))
		(defprofile c ((def port 9003) (def advertise 1) (def db-isolated 1)))
		(defprofile d ((def port 9004) (def advertise 1) (def db-name "one")))
		(defprofile e ((def port 9005) (def advertise 1) (def db-name "two")))
		(defprofile f ((def port 9006) (def advertise 1) (def db-name "one")))
		(defprofile g ((def port 9007) (def advertise 1) (def db-name "one") (def db-sslmode "verify-full")))`, config.Params{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	stores, err := OpenStores(c.Running(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer CloseStores(stores)
	var got []string
	for _, s := range stores {
		got = append(got, strings.Join(s.Profiles, "+")+" in "+strings.ReplaceAll(s.Name,
			dir+string(filepath.Separator), ""))
	}
	want := []string{
		"a+b in SQLite games.db",
		"c in SQLite games-c.db",
		"d+f in PostgreSQL one at localhost:5432 as wamble",
		"e in PostgreSQL two at localhost:5432 as wamble",
		"g in PostgreSQL one at localhost:5432 as wamble",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestStoreWithoutItsPassword(t *testing.T) {
	t.Parallel()
	c, err := config.Load("test.conf", `(def db-pass-file "/nonexistent/secret")`, config.Params{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = OpenStores(c.Running(), t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "store of profile default") ||
		!strings.Contains(err.Error(), "/nonexistent/secret") {
		t.Errorf("got %v, want the profile and the file named", err)
	}
}
