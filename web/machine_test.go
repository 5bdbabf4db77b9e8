package web_test

import (
	"fmt"
	"strings"
	"testing"

	"wamble/internal/store/postgres/pgtest"
)

// journalIn starts a database, and returns the configuration with which a node has its
// journal there.
func journalIn(t testing.TB) func(node string) string {
	t.Helper()
	cluster := pgtest.Start(t, false)
	db := cluster.OverTCP(cluster.Server())
	return func(node string) string {
		return fmt.Sprintf("(def journal \"postgres\") (def journal-node %q)\n"+
			"(def db-host %q) (def db-port %d) (def db-user %q) (def db-name %q) (def db-sslmode \"disable\")\n", node,
			db.Host, db.Port, db.User, db.Name)
	}
}

// TestMachines: the console of one machine shows all of the cluster, the partitions of each,
// and that one has gone.
func TestMachines(t *testing.T) {
	t.Parallel()
	inDatabase := journalIn(t)
	text := func(node string) string {
		return conf("(def min-boards 8) (def shards 4) (def cluster-address \"127.0.0.1:0\")\n") + inDatabase(node)
	}
	one, two := serve(t, text("one")), serve(t, text("two"))
	p := meet(t, screen{width: 1440, height: 1000})
	one.console(p)
	p.until(`[...document.querySelectorAll('[data-machine]')].map((m) => m.dataset.machine).join(' ') === 'one two'`)
	p.until(`[...document.querySelectorAll('[data-machine]')].every((m) => /^\d \d$/.test(m.cells[3].textContent) && m.cells[1].textContent === 'serves')`)
	p.reads(`[data-machine="one"]`, "this one")
	p.audit("console with machines")
	two.kill()
	p.until(`!document.querySelector('[data-machine="two"]')?.cells[3].textContent`) // a single machine is not shown as a table
}

// TestOtherMachine: the machine that has sent the page crashes, or is silent, and another one
// goes on: the page finds it, the move that was made meanwhile is played, views that were not
// open yet open, and lists are read there.
func TestOtherMachine(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*host){"dies": (*host).kill, "falls silent": (*host).freeze} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			goOnElsewhere(t, lose)
		})
	}
}

func goOnElsewhere(t *testing.T, lose func(*host)) {
	inDatabase := journalIn(t)
	port := freePort(t)
	text := func(ip, node string) string {
		text := strings.Replace(at(port, conf("(def min-boards 8)")), "127.0.0.1", ip, 1)
		return text + "(def cluster-endpoints \"127.0.0.41 127.0.0.42\")\n" + inDatabase(node)
	}
	one, two := serve(t, text("127.0.0.41", "one")), prepared(t, text("127.0.0.42", "two"))
	up := two.launch()
	p := meet(t, desk)
	p.outage()
	p.sit(one.url)
	p.until(`document.documentElement.dataset.loaded`)
	p.move(byClick, "e2", "e4")
	board := p.board()
	lose(one)
	byClick(p, "d2", "d4")
	two.ready(up)
	p.until(`document.querySelector('[data-number="moves"]').textContent === '2'`)
	p.until(`!document.querySelector('.banner')`)
	p.ready()
	if p.board() == board {
		t.Errorf("the player is still on board %s after the move", board)
	}
	p.press(`.tools a[href^="/board/"]`)
	p.until(`document.querySelector('a[download]')`)
}
