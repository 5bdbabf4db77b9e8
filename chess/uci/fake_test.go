package uci_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestMain runs this binary as an engine if its arguments ask for it.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "engine" {
		os.Exit(fake(os.Args[2], os.Args[3:]))
	}
	os.Setenv("PATH", os.Getenv("PATH")+":/usr/games") // where Debian has Stockfish
	os.Exit(m.Run())
}

// fake is an engine that misbehaves in one way, and is a good one otherwise. It plays e2e4,
// and its score reports whether it was told to play Chess960.
func fake(how string, args []string) int {
	switch how {
	case "deaf":
		time.Sleep(time.Hour) // until it is killed; select {} would be found to be a deadlock
	case "dies at the start":
		fmt.Fprintln(os.Stderr, "first\nno net file")
		return 3
	case "child": // holds a connection to the test until it ends
		c, err := net.Dial("tcp", args[0])
		if err != nil {
			return 1
		}
		io.Copy(io.Discard, c)
		return 0
	case "has a child":
		self, _ := os.Executable()
		if err := exec.Command(self, "engine", "child", args[0]).Start(); err != nil {
			return 1
		}
	}
	in := bufio.NewScanner(os.Stdin)
	chess960, hangs := "0", false
	for in.Scan() {
		words := strings.Fields(in.Text())
		switch words[0] {
		case "uci":
			fmt.Println("id name Fake 1\nid author nobody\nsome noise\noption name Skill Level type spin default 20 min 0 max 20")
			fmt.Println("option name UCI_Chess960 type check default false\noption name Style type combo default Solid var Solid var Very Risky")
			fmt.Println("option name Clear Hash type button\noption name Log File type string default\noption name MultiPV type spin default 1 min 1 max 4")
			fmt.Println("option name \noption type spin\nuciok\r")
			if how == "reads nothing" {
				fmt.Println("readyok")
				time.Sleep(time.Hour) // until it is killed; select {} would be found to be a deadlock
			}
		case "isready":
			fmt.Println("readyok")
		case "setoption":
			if words[2] == "UCI_Chess960" && words[4] == "true" {
				chess960 = "960"
			}
		case "go":
			switch how {
			case "dies":
				return 4
			case "hangs":
				hangs = true
			case "stops":
				continue
			case "floods":
				for line := strings.Repeat("x", 60_000); ; {
					fmt.Println("info string", line)
				}
			case "endless line":
				for {
					fmt.Print(strings.Repeat("x", 4096))
				}
			case "illegal":
				fmt.Println("bestmove e2e5")
			case "nonsense":
				fmt.Println("bestmove")
			default:
				fmt.Printf("info depth 3 multipv 1 score cp %s nodes 5 pv e2e4 e7e5\n", chess960)
				fmt.Println("info depth 3 multipv 2 score mate -2 pv d2d4\ninfo depth 3 multipv 3 pv e2e5\ninfo multipv 99 pv d2d4\ninfo pv")
				fmt.Println("bestmove e2e4 ponder e7e5")
			}
		case "stop":
			if !hangs {
				fmt.Println("bestmove g1f3")
			}
		case "quit":
			return 0
		}
	}
	return 0
}
