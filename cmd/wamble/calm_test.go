package main

import "fmt"

// calmly is a command of the scripts: it becomes calm, and says how late its
// timers may be, and what is left in its environment.
func calmly() {
	calm()
	fmt.Println("slack", calmness())
}
