// Package chess holds wamble/chess against another implementation of the
// rules, github.com/corentings/chess/v2: random games in which both must agree
// after every move, and a benchmark of both in one run. It is a module of its
// own so that the rival is no dependency of the binary. The rival's version 3 was not
// to be had from the module proxy when this was written.
//
//	cd bench/chess && go test ./...                  # the games
//	cd bench/chess && go test -run '^$' -bench .     # the race
//	cd bench/chess && go test -fuzz FuzzAgree        # until stopped
//
// Where both differ on purpose is the list at the function agree.
package chess
