package main

import "github.com/spf13/cobra"

// run measures with each number of clients. All are checked before the first is
// loaded.
func (f *benchFlags) run(cmd *cobra.Command) error {
	var benches []*bench
	for _, clients := range append([]int{f.clients}, f.also...) {
		own := *f
		own.clients = clients
		b, err := own.bench(cmd)
		if err != nil {
			return err
		}
		benches = append(benches, b)
	}
	for _, b := range benches {
		if err := b.run(cmd.Context()); err != nil {
			return err
		}
	}
	return nil
}
