package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"wamble/internal/config"
	"wamble/internal/lisp"
)

func configOptionsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "options [NAME...]",
		Short: "Explain options; without a name, list all of them",
		Example: `  wamble config options
  wamble config options buffer-size durability`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return config.Names(), cobra.ShellCompDirectiveNoFileComp
		},
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			w := cmd.OutOrStdout()
			if len(args) == 0 {
				return listOptions(w)
			}
			for _, name := range args {
				o := config.Find(name)
				if why := config.Retired(name); why != "" {
					if _, err := fmt.Fprintf(w, "`%s` is accepted and has no effect: %s\n", name, why); err != nil {
						return err
					}
					continue
				}
				if o == nil {
					return lisp.Pos{}.Errorf("there is no option %q", name).Suggest(name, config.Names())
				}
				if err := explain(w, o); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func listOptions(w io.Writer) error {
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, family := range config.Families() {
		fmt.Fprintf(columns, "%s\n", family)
		for _, o := range config.Of(family) {
			fmt.Fprintf(columns, "  %s\t%s\n", o.Name, o.Brief())
		}
	}
	return columns.Flush()
}

func explain(w io.Writer, o *config.Option) error {
	scope := "top level or profile"
	switch {
	case o.Server:
		scope = "top level only: it is for the whole server"
	case o.OwnOnly:
		scope = "profile only: it is not inherited"
	}
	unit := ""
	if o.Unit != "" {
		unit = ", in " + o.Unit
	}
	_, err := fmt.Fprintf(w, "%s\n  takes      %s%s\n  default    %s\n  set at     %s\n  on reload  %s\n  read by    %s\n",
		o.Doc(), o.Expects(), unit, o.Text(o.Default), scope, o.Reload, o.Room)
	return err
}
