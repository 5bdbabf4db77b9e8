package wamble_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestSetup runs scripts/setup on a machine that is a folder of fake programs.
func TestSetup(t *testing.T) {
	const ok = "#!/bin/sh\nexit 0\n"
	const user = "#!/bin/sh\necho 1000\n"
	const root = "#!/bin/sh\necho 0\n"
	const aptSays = "#!/bin/sh\necho apt-get \"$@\"\n"
	const fails = "#!/bin/sh\necho no network\nexit 100\n"
	const sleepSays = "#!/bin/sh\necho sleep \"$@\"\n"
	const flags = "-o Dpkg::Options::=--force-confold -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3"
	const env = "#!/bin/sh\nwhile case $1 in *=*) true;; *) false;; esac; do shift; done\nexec \"$@\"\n"
	for _, tc := range []struct {
		name     string
		arg      string
		programs map[string]string
		code     int
		want     string // the whole output
	}{
		{
			name: "nothing is missing", arg: "run", code: 0, want: "",
			programs: map[string]string{"go": ok, "node": ok, "npm": ok},
		}, {
			name: "no Go", arg: "run", code: 1,
			want: "scripts/setup: Go is missing. Install Go 1.26 or newer (https://go.dev/doc/install).\n",
		}, {
			name: "not root, no sudo", arg: "run", code: 1,
			programs: map[string]string{"go": ok, "apt-get": aptSays, "id": user},
			want: "scripts/setup: missing: nodejs npm. Type this as root, then try again:\n" +
				"  apt-get update && apt-get install -y --no-install-recommends nodejs npm\n",
		}, {
			name: "no apt", arg: "run", code: 1,
			programs: map[string]string{"go": ok, "node": ok},
			want: "scripts/setup: missing: npm (Debian package names).\n" +
				"This machine has no apt-get; install them in its own way and try again.\n",
		}, {
			name: "root", arg: "run", code: 0,
			programs: map[string]string{"go": ok, "node": ok, "apt-get": aptSays, "id": root, "env": env},
			want: "scripts/setup: installing npm\n" +
				"apt-get " + flags + " update -q\n" +
				"apt-get " + flags + " install -q -y --no-install-recommends npm\n",
		}, {
			name: "root, and never a network", arg: "run", code: 1,
			programs: map[string]string{"go": ok, "node": ok, "apt-get": fails, "id": root, "env": env,
				"sleep": sleepSays},
			want: "scripts/setup: installing npm\n" +
				"no network\nscripts/setup: that did not work; once more in 10 seconds\nsleep 10\n" +
				"no network\nscripts/setup: that did not work; once more in 10 seconds\nsleep 10\n" +
				"no network\nscripts/setup: the installation failed. To see why, type as root:\n" +
				"  apt-get update && apt-get install -y --no-install-recommends npm\n",
		}, {
			name: "a wrong word", arg: "everything", code: 2,
			want: "usage: scripts/setup [run|test]\n",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, script := range tc.programs {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command("/bin/bash", "scripts/setup", tc.arg)
			cmd.Env = []string{"PATH=" + dir}
			out, err := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != tc.code {
				t.Errorf("got exit code %d (%v), want %d", code, err, tc.code)
			}
			if got := string(out); got != tc.want {
				t.Errorf("got output\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}
