package config_test

import (
	"fmt"

	"wamble/internal/config"
)

// A server asks for the profiles to run, and each of them for its options.
func ExampleLoad() {
	c, err := config.Load("wamble.conf", `
		(def max-boards 500)
		(defprofile blitz ((def port 8890) (def advertise 1) (def inactivity-timeout (* 2 60))))
	`, config.Params{})
	if err != nil {
		fmt.Println(err) // every error, one line each
		return
	}
	for _, p := range c.Running() {
		fmt.Println(p.Name, p.Network.Port, p.Boards.MaxBoards, p.Boards.InactivityTimeout, p.Storage())
	}
	// Output: blitz 8890 500 2m0s SQLite
}

// A reload compares the new configuration with the running one.
func ExampleDiff() {
	running, _ := config.Load("wamble.conf", "(def port 8888)", config.Params{})
	next, _ := config.Load("wamble.conf", "(def port 9000) (def durability \"write\")", config.Params{})
	changes := config.Diff(running, next)
	for _, change := range changes {
		fmt.Println(change)
	}
	fmt.Println("refused by a reload:", config.Strongest(changes, "*") >= config.NeedsHandoff)
	// Output:
	// server: durability "fsync" → "write" (handoff)
	// default: port 8888 → 9000 (listener)
	// refused by a reload: true
}
