package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// TestFindDenied: a user who may not read the installed configuration is told so, and not that
// the defaults are fine. That user may start a server of their own.
func TestFindDenied(t *testing.T) {
	installServer(t)
	writeFile(t, installed.config, "")
	find := func(f storeFlags) (err error) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			withoutRights(t)
			err = f.find(t.Context())
		}()
		<-done
		return err
	}
	err := find(storeFlags{})
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), installed.config) ||
		!strings.Contains(err.Error(), "--config or --data") {
		t.Errorf("nothing is named: %v", err)
	}
	for name, f := range map[string]storeFlags{
		"a start": {starts: true}, "a directory is named": {data: "/elsewhere"},
		"its directory is named": {data: installed.data},
	} {
		if err := find(f); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// withoutRights takes from the goroutine the right to read what its user may not. Its thread
// ends with it.
func withoutRights(t *testing.T) {
	runtime.LockOSThread()
	if os.Geteuid() != 0 {
		if err := os.Chmod(installed.config, 0); err != nil {
			t.Error(err)
		}
		return
	}
	if _, _, err := syscall.RawSyscall(syscall.SYS_SETFSUID, 65534, 0, 0); err != 0 {
		t.Error(err)
	}
}

// TestDoctorDenied: the doctor says of a directory that its user may not write what is to be
// done, and not that it is fine.
func TestDoctorDenied(t *testing.T) {
	installServer(t)
	writeFile(t, installed.config, "")
	locked := t.TempDir()
	if err := os.Chmod(locked, 0o500); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	done := make(chan struct{})
	go func() {
		defer close(done)
		withoutRights(t)
		run([]string{"doctor", "--config", "/dev/null", "--data", locked}, strings.NewReader(""), &out, io.Discard)
	}()
	<-done
	for _, want := range []string{"fail  data directory", "→ as root: chown -R "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
}
