package web_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// restless is a page with a button that moves away under the mouse twice, and moves about for
// a second.
const restless = `<!doctype html><link rel="icon" href="data:,"><body style="height: 800px">
<button style="position: absolute">here</button>
<script>
window.hits = window.beside = 0;
const button = document.querySelector('button');
const jump = () => { button.style.left = (Math.random() * 900) + 'px'; };
let jumps = 2;
button.onpointerdown = () => { if (jumps-- > 0) jump(); };
button.onclick = (e) => { e.stopPropagation(); hits++; };
document.body.onclick = () => beside++;
const restless = setInterval(jump, 70);
setTimeout(() => clearInterval(restless), 1000);
</script>`

// TestPress: every press reaches the button once, and no other element.
func TestPress(t *testing.T) {
	t.Parallel()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		w.Write([]byte(restless))
	}))
	t.Cleanup(page.Close)
	p := meet(t, desk)
	p.open(page.URL)
	for range 6 {
		p.press("button")
	}
	if hits, beside := see[int](p, "hits"), see[int](p, "beside"); hits != 6 || beside != 0 {
		t.Errorf("6 presses reached the button %d times and something else %d times", hits, beside)
	}
}
