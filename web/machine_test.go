package web_test

import (
	"fmt"
	"strings"
	"testing"

	"wamble/internal/store/postgres/pgtest"
)

// TestOtherMachine: the machine that has sent the page dies, and another one goes on: the
// page finds it, the move that was made meanwhile is played, views that were not open
// yet open, and lists are read there.
func TestOtherMachine(t *testing.T) {
	cluster := pgtest.Start(t, false)
	db := cluster.OverTCP(cluster.Server())
	port := freePort(t)
	text := func(ip, node string) string {
		text := strings.Replace(at(port, conf("(def min-boards 8)")), "127.0.0.1", ip, 1)
		return text + fmt.Sprintf("(def cluster-endpoints \"127.0.0.41 127.0.0.42\") (def journal \"postgres\") (def journal-node %q)\n"+
			"(def db-host %q) (def db-port %d) (def db-user %q) (def db-name %q) (def db-sslmode \"disable\")\n", node, db.Host, db.Port, db.User, db.Name)
	}
	one, two := serve(t, text("127.0.0.41", "one")), prepared(t, text("127.0.0.42", "two"))
	up := two.launch()
	p := meet(t, desk)
	p.outage()
	p.sit(one.url)
	p.until(`document.documentElement.dataset.loaded`)
	p.move(byClick, "e2", "e4")
	board := p.board()
	one.kill()
	p.until(`document.querySelector('.banner.bad')`)
	byClick(p, "d2", "d4")
	two.ready(up)
	p.until(`!document.querySelector('.banner')`)
	p.ready()
	if p.board() == board {
		t.Errorf("the move on board %s was not sent", board)
	}
	if n := see[int](p, `+document.querySelector('[data-number="moves"]').textContent`); n != 2 {
		t.Errorf("the panel counts %d moves, want 2", n)
	}
	p.press(`.tools a[href^="/board/"]`)
	p.until(`document.querySelector('a[download]')`)
}
