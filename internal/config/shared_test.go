package config

import (
	"reflect"
	"testing"
	"time"
)

// TestHouse: every profile has the policy, and the profiles that run beside it.
func TestHouse(t *testing.T) {
	c, err := Load("t", `
(def reservation-timeout 60)
(defprofile zoo ((def port 1003) (def advertise 1) (def websocket-enabled 0) (def policy-default "deny")))
(defprofile base ((def abstract 1) (def advertise 1)))
(defprofile ark ((def port 1001) (def advertise 1) (def visibility 5) (def profile-group "g") (def tos-text "be kind") (def websocket-path "/w")))
(defprofile cellar ((def port 1002)))
(policy-tag "id:7" "member")
(policy-allow "tag:member" "trust.tier" "*" 5)
`, testParams)
	if err != nil {
		t.Fatal(err)
	}
	want := []Neighbour{
		{Name: "ark", Group: "g", Port: 1001, Advertise: true, Visibility: 5, Open: true, Terms: "be kind", WebSocketPort: 1001, WebSocketPath: "/w", Reservation: time.Minute},
		{Name: "zoo", Port: 1003, Advertise: true, Reservation: time.Minute},
	}
	shared := c.Profile("cellar").Shared
	if !reflect.DeepEqual(shared.Profiles, want) {
		t.Errorf("got %+v, want %+v", shared.Profiles, want)
	}
	if len(shared.Rules) != 1 || len(shared.Tags) != 1 || c.Default.Shared != shared {
		t.Errorf("got %+v", shared)
	}
	// Without profiles the default profile is there for everybody.
	c = Defaults()
	if got := c.Default.Shared.Profiles; len(got) != 1 || got[0].Name != DefaultName || !got[0].Advertise {
		t.Errorf("got %+v, want the default profile", got)
	}
}

func TestDiffOfTags(t *testing.T) {
	load := func(text string) *Config {
		c, err := Load("t", text, testParams)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if got := Diff(load(""), load(`(policy-tag "id:7" "member")`)); len(got) != 1 || got[0].What != "policy" {
		t.Errorf("got %v, want a change of the policy", got)
	}
}
