//go:build proof

package server

import (
	"testing"

	"wamble/internal/prooftest"
)

// TestInterruptionsEverywhere runs each interruption in each topology, and with four shards
// also with the games in PostgreSQL, one after another.
func TestInterruptionsEverywhere(t *testing.T) {
	prooftest.Needs(t, "minutes")
	for _, i := range interruptions {
		for _, tp := range []*topology{oneLoop, fourShards, withStandby, twoMachines} {
			t.Run(i.name+" "+tp.name, func(t *testing.T) { tp.start(t, false, oneDies).interrupt(i.scenario) })
		}
		t.Run(i.name+" four shards with PostgreSQL",
			func(t *testing.T) { fourShards.start(t, true, oneDies).interrupt(i.scenario) })
	}
}

// TestBehavioursInPostgres runs each behaviour in the topologies of one server, with the games
// in PostgreSQL.
func TestBehavioursInPostgres(t *testing.T) {
	prooftest.Needs(t, "minutes")
	for _, tp := range []*topology{twoProfiles, fourShards} {
		t.Run(tp.name, func(t *testing.T) { tp.deploy(t, true, "(def retention-days 30)\n").runBehaviours() })
	}
}
