package main

import (
	"os"
	"os/signal"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"wamble": main})
}

// TestScripts runs every command line of testdata/script against the real
// binary; the scripts are the specification of the command line.
func TestScripts(t *testing.T) {
	hearInterrupts(t)
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	})
}

// hearInterrupts lets children receive SIGINT, which scripts send. A shell starts background
// processes with SIGINT ignored, and that is inherited.
func hearInterrupts(t *testing.T) {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	t.Cleanup(func() {
		signal.Stop(interrupts)
		close(interrupts)
	})
	go func() {
		if _, meant := <-interrupts; meant {
			os.Exit(130)
		}
	}()
}
