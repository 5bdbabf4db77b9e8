package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// release is the version of this source, the newest that CHANGELOG.md names.
const release = "0.9.0"

// commit is set by the linker (see the Makefile).
var commit = ""

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, the commit and the Go release of this binary",
		Example: "  wamble version",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "wamble %s\ncommit %s\n%s %s/%s\n",
				release, commitOrBuildInfo(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// buildVersion returns the release, with the first digits of the commit if it is known.
func buildVersion() string {
	if c := commitOrBuildInfo(); len(c) >= 7 && c != unknownCommit {
		return release + "+" + c[:7]
	}
	return release
}

const unknownCommit = "unknown"

// commitOrBuildInfo returns the commit, in a binary that was not built by the Makefile from
// the build information of the Go tool.
func commitOrBuildInfo() string {
	if commit != "" {
		return commit
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return unknownCommit
}
