package web_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/css"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"wamble/internal/watchtest"
)

const patience = watchtest.Patience

var eventually = watchtest.Until

// shots is where the screenshots go: a folder beside the sources that git
// ignores.
const shots = "../screenshots"

// chromium is the one browser of all tests; every person has a profile of their own in it.
var chromium struct {
	once  sync.Once
	ctx   context.Context
	close func()
	err   error
}

// browser starts Chromium once. Without it the tests fail.
func browser(t testing.TB) context.Context {
	t.Helper()
	chromium.once.Do(func() {
		path := ""
		for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
			if p, err := exec.LookPath(name); err == nil {
				path = p
				break
			}
		}
		if path == "" {
			chromium.err = errors.New("there is no Chromium: scripts/setup installs it")
			return
		}
		dir, err := os.MkdirTemp("", "wamble-browser-")
		if err != nil {
			chromium.err = err
			return
		}
		options := append(chromedp.DefaultExecAllocatorOptions[:],
			chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(dir),
			chromedp.Flag("disable-quic", true),
			// A page that is kept for the back button keeps its process from the next page.
			chromedp.Flag("disable-features", "Translate,BackForwardCache"),
			chromedp.Flag("host-resolver-rules", "MAP plain.example 127.0.0.1"),
			chromedp.Flag("disable-component-update", true),
			chromedp.WSURLReadTimeout(patience),
		)
		alloc, cancelAlloc := chromedp.NewExecAllocator(context.Background(), options...)
		ctx, cancel := chromedp.NewContext(alloc)
		chromium.ctx = ctx
		chromium.close = func() { cancel(); cancelAlloc(); os.RemoveAll(dir) }
		chromium.err = chromedp.Do(ctx)
	})
	if chromium.err != nil {
		t.Fatal(chromium.err)
	}
	return chromium.ctx
}

// person is a user of a browser: a tab in a profile of its own.
type person struct {
	t       testing.TB
	ctx     context.Context
	profile cdp.BrowserContextID
	close   func()
	url     string
	origins map[string]bool // of the pages that were open
	screen  screen

	mu       sync.Mutex
	problems []string
	forgiven []string
}

// screen is the size and the settings of a person's screen.
type screen struct {
	width, height int64
	touch, dark   bool
	motion        bool // without it the system requests reduced motion, which is also faster
}

var (
	desk  = screen{width: 1280, height: 860}
	phone = screen{width: 390, height: 844, touch: true}
)

// tab is a window of Chromium with a profile of its own.
type tab struct {
	id      target.ID
	profile cdp.BrowserContextID
}

// idle are the tabs that no test uses. A tab that has shown pages before shows the next
// one in a third of the time.
var idle struct {
	sync.Mutex
	tabs []tab
}

// meet makes a person whose profile is empty. The test fails at its end if the browser has
// logged an error.
func meet(t testing.TB, s screen) *person {
	t.Helper()
	tab := takeTab(t)
	p := attach(t, s, chromedp.WithTargetID(tab.id), chromedp.WithDetachOnCancel())
	p.profile = tab.profile
	t.Cleanup(func() {
		if t.Failed() || see[string](p, `document.visibilityState`) != "visible" { // hidden for good
			p.close()
			return
		}
		see[bool](p, `(() => { try { sessionStorage.clear(); } catch {} return true; })()`)
		p.open("about:blank")
		for origin := range p.origins {
			call(p, storage.ClearDataForOrigin,
				storage.ClearDataForOriginParams{Origin: origin, StorageTypes: "local_storage"})
		}
		call(p, page.ResetNavigationHistory, cdp.Empty{}) // and with it the pages that could come back
		p.close()
		idle.Lock()
		defer idle.Unlock()
		idle.tabs = append(idle.tabs, tab)
	})
	return p
}

// takeTab takes an idle tab, or opens one.
func takeTab(t testing.TB) tab {
	t.Helper()
	idle.Lock()
	defer idle.Unlock()
	if last := len(idle.tabs) - 1; last >= 0 {
		tab := idle.tabs[last]
		idle.tabs = idle.tabs[:last]
		return tab
	}
	profile, err := chromedp.CallBrowser(browser(t), target.CreateBrowserContext, target.CreateBrowserContextParams{})
	if err != nil {
		t.Fatal(err)
	}
	window := true
	opened, err := chromedp.CallBrowser(browser(t), target.CreateTarget, target.CreateTargetParams{
		URL: "about:blank", BrowserContextID: profile.BrowserContextID, NewWindow: &window,
	})
	if err != nil {
		t.Fatal(err)
	}
	return tab{opened.TargetID, profile.BrowserContextID}
}

// another opens a second tab of the same profile.
func (p *person) another() *person {
	p.t.Helper()
	second := attach(p.t, desk, chromedp.WithExistingBrowserContext(p.profile))
	p.t.Cleanup(second.close)
	return second
}

func attach(t testing.TB, s screen, to ...chromedp.ContextOption) *person {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser(t), to...)
	p := &person{t: t, ctx: ctx, origins: map[string]bool{}}
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	// chromedp would track every packet and every change of the page.
	call(p, network.Disable, cdp.Empty{})
	call(p, css.Disable, cdp.Empty{})
	call(p, dom.Disable, cdp.Empty{})
	heard := p.listen()
	p.close = func() {
		if t.Failed() {
			p.shot(fmt.Sprintf("failed-%s-%d-%.6s", strings.ReplaceAll(t.Name(), "/", "-"), s.width,
				chromedp.FromContext(ctx).Target.TargetID))
		}
		cancel()
		<-heard
		for _, problem := range p.problems {
			if !p.forgives(problem) {
				t.Errorf("the browser complained: %s", problem)
			}
		}
	}
	p.look(s)
	p.onEveryPage(toasts)
	return p
}

// call sends a command of the protocol to the tab.
func call[P, R any](p *person, command cdp.Command[P, R], params P) R {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	result, err := chromedp.Call(ctx, command, params)
	if err != nil {
		p.t.Fatalf("%s: %v", command.Method, err)
	}
	return result
}

// listen records the errors that the browser logs, until the tab is closed.
func (p *person) listen() <-chan struct{} {
	messages, heard := chromedp.Console(p.ctx), make(chan struct{})
	go func() {
		defer close(heard)
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.Type == chromedp.ConsoleLog || m.Type == "info" || m.Type == "debug" {
				continue
			}
			p.mu.Lock()
			p.problems = append(p.problems, m.String()+" "+m.URL)
			p.mu.Unlock()
		}
	}()
	return heard
}

// look gives the tab the size and settings of a screen.
func (p *person) look(s screen) {
	p.t.Helper()
	p.screen = s
	var options []chromedp.EmulateViewportOption
	if s.touch {
		options = append(options, chromedp.EmulateMobile, chromedp.EmulateTouch)
	}
	media := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "light"}}
	if s.dark {
		media[0].Value = "dark"
	}
	if !s.motion {
		media = append(media, &emulation.MediaFeature{Name: "prefers-reduced-motion", Value: "reduce"})
	}
	p.do(chromedp.EmulateViewport(s.width, s.height, options...))
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: media})
}

// forgive ignores a logged error that the test provokes, like a connection that is refused
// while the server is down.
func (p *person) forgive(part string) { p.forgiven = append(p.forgiven, part) }

func (p *person) forgives(problem string) bool {
	if strings.Contains(problem, "404 (Not Found)") && strings.Contains(problem, "/api/boards/") {
		return true // the store does not have a new board yet: the page asks again
	}
	for _, part := range p.forgiven {
		if strings.Contains(problem, part) {
			return true
		}
	}
	return false
}

func (p *person) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatal(err)
	}
}

// without removes a property from every page that is opened from now on.
func (p *person) without(name string) {
	p.t.Helper()
	object, field, _ := strings.Cut(name, ".")
	p.onEveryPage(fmt.Sprintf("Object.defineProperty(%s, %q, {value: undefined})", object, field))
}

// onEveryPage runs a script before every page that is opened from now on.
func (p *person) onEveryPage(script string) {
	p.t.Helper()
	script = "if (location.href !== 'about:blank') {" + script + "\n}"
	call(p, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
}

// front puts the tab before all others: a hidden tab draws nothing.
func (p *person) front() {
	p.t.Helper()
	call(p, page.BringToFront, cdp.Empty{})
}

// open goes to a page of a site.
func (p *person) open(address string) {
	p.t.Helper()
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		p.origins[u.Scheme+"://"+u.Host] = true
	}
	if went := call(p, page.Navigate, page.NavigateParams{URL: address}); went.ErrorText != "" {
		p.t.Fatalf("%s: %s", address, went.ErrorText)
	}
	p.until(`document.readyState === 'complete'`)
}

// see evaluates an expression in the page.
func see[T any](p *person, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// await evaluates an expression that is a promise.
func await[T any](p *person, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// obtain waits until an expression of the page has a value that is not null.
func obtain[T any](p *person, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	for pause := 4 * time.Millisecond; ; pause = min(2*pause, 64*time.Millisecond) {
		value, err := chromedp.Run(ctx, chromedp.Evaluate[*T](expression))
		if err == nil && value != nil {
			return *value
		}
		select {
		case <-ctx.Done():
			p.t.Fatalf("in vain: %s (%v)", expression, err)
		case <-time.After(pause):
		}
	}
}

// until waits until an expression of the page is true.
func (p *person) until(expression string) {
	p.t.Helper()
	obtain[bool](p, "Boolean("+expression+") || null")
}

// grows waits until a number of the page has grown to to, as long as it grows.
func (p *person) grows(number string, to int) {
	p.t.Helper()
	for n := -1; n < to; n = see[int](p, number) {
		p.until(fmt.Sprintf("%s > %d", number, n))
	}
}

// untilPromise waits until a promise of the page resolves to true, evaluating it now and
// then.
func (p *person) untilPromise(expression string) {
	p.t.Helper()
	eventually(p.t, expression, func() bool {
		p.do(chromedp.Sleep(500 * time.Millisecond)) // the routes have limits
		return await[bool](p, expression)
	})
}

// reads waits until an element contains a text.
func (p *person) reads(selector, text string) {
	p.t.Helper()
	p.until(fmt.Sprintf("[...document.querySelectorAll(%q)].some(e => e.textContent.includes(%q))", selector, text))
}

// told waits until a message with these texts has been on the page, also if it has gone
// again: a few seconds are short on a busy machine.
func (p *person) told(texts ...string) {
	p.t.Helper()
	p.until(saying(texts...))
}

// saying is true when a message with these texts has been on the page.
func saying(texts ...string) string {
	holds := "told.some(x => true"
	for _, text := range texts {
		holds += fmt.Sprintf(" && x.includes(%q)", text)
	}
	return "(" + holds + "))"
}

// toasts records the messages of a page, with their kinds.
const toasts = `window.told = [];
new MutationObserver((changes) => {
	for (const c of changes) for (const n of [c.target, ...c.addedNodes]) {
		const e = n.nodeType === 1 ? n : n.parentElement;
		for (const toast of [e?.closest('.toast'), ...(n === c.target ? [] : (e?.querySelectorAll('.toast') ?? []))])
			if (toast) told.push(toast.className + ': ' + toast.textContent);
	}
}).observe(document, {childList: true, subtree: true, characterData: true});`

// press clicks on an element when it has come to rest: a page that is still being drawn may
// move it away under the mouse. A click that misses it all the same is kept from other
// elements, and tried again.
func (p *person) press(selector string) {
	p.t.Helper()
	eventually(p.t, "a click on "+selector, func() bool {
		p.t.Helper()
		at := obtain[[]float64](p, fmt.Sprintf(aim, selector))
		p.do(chromedp.MouseClickXY(at[0], at[1]))
		hit, err := p.hit()
		for err != nil && p.ctx.Err() == nil { // the click leads to another page
			hit, err = p.hit()
		}
		return hit
	})
}

// hit reports whether the element that was aimed at got the click.
func (p *person) hit() (bool, error) {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[bool]("!window.aim || window.aim.end()"))
}

// aim returns the place of an element, null while it moves. window.aim.end() reports whether
// it got the next mouse event; a page that was left by the click has no window.aim.
const aim = `((selector) => {
	const element = document.querySelector(selector);
	element?.scrollIntoViewIfNeeded();
	const box = element?.getClientRects()[0];
	const place = JSON.stringify(box), rests = box?.width && element.restedAt === place;
	if (element) element.restedAt = place;
	if (!rests) return null;
	const kinds = ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'gotpointercapture'];
	let began = false, hit = false;
	const hear = (e) => {
		const inside = e.composedPath().includes(element);
		if (e.type === 'pointerdown') began = inside;
		if (e.type === 'gotpointercapture' || (e.type === 'click' && inside)) hit = began;
		if (hit || (began && e.type !== 'click')) return;
		e.stopImmediatePropagation();
		e.preventDefault();
	};
	kinds.forEach((kind) => addEventListener(kind, hear, true));
	window.aim = { end() {
		kinds.forEach((kind) => removeEventListener(kind, hear, true));
		delete window.aim;
		return hit;
	} };
	return [box.x + box.width / 2, box.y + box.height / 2];
})(%q)`

// types writes into an element, key by key.
func (p *person) types(selector, text string) {
	p.t.Helper()
	p.focus(selector)
	p.keys(text)
}

// pastes writes a long text into an element.
func (p *person) pastes(selector, text string) {
	p.t.Helper()
	p.focus(selector)
	call(p, input.InsertText, input.InsertTextParams{Text: text})
}

// retypes replaces the text of an element.
func (p *person) retypes(selector, text string) {
	p.t.Helper()
	p.focus(selector)
	see[bool](p, "(document.activeElement.select(), true)")
	p.keys(text)
}

// focus focuses an element when it exists.
func (p *person) focus(selector string) {
	p.t.Helper()
	p.until(fmt.Sprintf("(e => e && (e.focus(), document.activeElement === e))(document.querySelector(%q))", selector))
}

// keys presses keys, one after the other.
func (p *person) keys(keys ...string) {
	p.t.Helper()
	for _, k := range keys {
		p.do(chromedp.KeyEvent(k))
	}
}

// middle returns the middle of an element on the screen.
func (p *person) middle(selector string) (x, y float64) {
	p.t.Helper()
	at := see[[]float64](p, fmt.Sprintf(
		"(() => { const e = document.querySelector(%q); e.scrollIntoView({block: 'nearest'}); const b = e.getBoundingClientRect(); return [b.x + b.width/2, b.y + b.height/2]; })()", selector))
	return at[0], at[1]
}

func (p *person) mouse(kind input.DispatchMouseEventType, x, y float64) {
	p.t.Helper()
	p.do(chromedp.MouseEvent(kind, x, y, chromedp.ButtonLeft))
}

// shot writes a screenshot of the person's screen.
func (p *person) shot(name string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.MkdirAll(shots, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(shots, name+".png"), png, 0o644)
	}
	if err != nil {
		p.t.Errorf("the screenshot %s: %v", name, err)
	}
}
