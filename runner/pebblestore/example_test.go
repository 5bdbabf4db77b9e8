package pebblestore_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"wamble/runner"
	"wamble/runner/pebblestore"
)

// A runner on disk takes two lines: choose its directory, and open it. Posted messages are
// there when it is opened again.
func Example() {
	dir, err := os.MkdirTemp("", "shop")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	store := pebblestore.At(filepath.Join(dir, "orders"), pebblestore.Options{})
	for range 2 {
		r, err := runner.Open(store, runner.Options{Create: true})
		if err != nil {
			log.Fatal(err)
		}
		row, err := r.Post(context.Background(), &runner.Message{To: 1, ID: []byte("42")})
		fmt.Println("start", r.Stats().Epoch, "row", row.Seq, err)
		if err := r.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// start 1 row 1 <nil>
	// start 2 row 2 <nil>
}
