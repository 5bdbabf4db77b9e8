package main

import (
	"os"
	"os/signal"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	installAt(os.Getenv("WAMBLE_TEST_INSTALLED"))
	testscript.Main(m, map[string]func(){"wamble": main})
}

// installAt makes commands find an installed server in dir and not on this machine.
func installAt(dir string) {
	installed = storeFlags{config: filepath.Join(dir, "wamble.conf"), data: filepath.Join(dir, "data")}
	if dir == "" {
		installed = storeFlags{config: "/nowhere/wamble.conf", data: "/nowhere/data"}
	}
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
