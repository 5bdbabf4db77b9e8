package link
import ("testing";"fmt";"os")
func trace(n *network, f string, a ...any){ if os.Getenv("TRACE")!="" { fmt.Printf("%8.3f "+f+"\n", append([]any{n.now.Seconds()},a...)...) } }
func TestZZ(t *testing.T){}
