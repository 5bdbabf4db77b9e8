package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version and commit are set by the linker (see the Makefile).
var (
	version = "dev"
	commit  = ""
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, the commit and the Go release of this binary",
		Example: "  wamble version",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "wamble %s\ncommit %s\n%s %s/%s\n",
				version, commitOrBuildInfo(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// commitOrBuildInfo falls back to what the Go tool stamped into a binary that
// was not built by the Makefile.
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
	return "unknown"
}
