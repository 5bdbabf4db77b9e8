package web_test

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	endian "encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/web"
	"wamble/wire"
)

// A world is a server that only shows boards, as many and as fast as a test wants: to see how
// a browser displays them, without players.
type world struct {
	url  string
	size int
	pace time.Duration // between two moves anywhere
	all  sync.WaitGroup
}

// show serves n boards on which a move is made every pace.
func show(t testing.TB, n int, pace time.Duration) *world {
	t.Helper()
	w := &world{size: n, pace: pace}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ws", w.watch)
	mux.HandleFunc("GET /api/live", func(rw http.ResponseWriter, _ *http.Request) {
		io.WriteString(rw, `{"players":0,"watchers":1,"boards":{}}`)
	})
	mux.HandleFunc("GET /api/", func(rw http.ResponseWriter, _ *http.Request) { io.WriteString(rw, "{}") })
	mux.HandleFunc("GET /api/boards/{id}", func(rw http.ResponseWriter, r *http.Request) {
		io.WriteString(rw, `{"board":`+r.PathValue("id")+`,"status":"RESERVED","version":1,"fen":"`+chess.StartFEN+`","moves":[]}`)
	})
	mux.Handle("/", web.Player("/ws", noOthers))
	s := httptest.NewServer(mux)
	t.Cleanup(func() {
		s.Close()
		w.all.Wait()
	})
	w.url = s.URL
	return w
}

// watch serves one browser: it greets it, and shows it every board and every move.
func (w *world) watch(rw http.ResponseWriter, r *http.Request) {
	w.all.Add(1)
	defer w.all.Done()
	conn, in, err := http.NewResponseController(rw).Hijack()
	if err != nil {
		return
	}
	sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "+
		base64.StdEncoding.EncodeToString(sum[:])+"\r\n\r\n")
	out := &showing{conn: conn, ended: make(chan struct{})}
	defer func() {
		close(out.ended)
		conn.Close()
		out.all.Wait()
	}()
	for {
		p, err := readFrame(in.Reader)
		if err != nil {
			return
		}
		h, err := wire.Peek(p)
		if err != nil || h.Ctrl == wire.CtrlAck {
			continue
		}
		out.tell(wire.Header{Seq: h.Seq}, wire.Ack{})
		switch h.Ctrl {
		case wire.CtrlClientHello:
			out.tell(wire.Header{Seq: 1}, wire.ServerHello{}, wire.Int(wire.KeySessionCaps, 0x3ff))
		case wire.CtrlGetPlayerStats: // the browser asks one thing at a time
			out.tell(wire.Header{Seq: 1}, wire.PlayerStatsData{})
		case wire.CtrlSpectateGame:
			mine := out.generation.Add(1)
			out.all.Go(func() { out.play(w.size, w.pace, mine) })
		}
	}
}

// showing is one connection of a world.
type showing struct {
	mu         sync.Mutex
	conn       net.Conn
	ended      chan struct{}
	all        sync.WaitGroup
	generation atomic.Int64 // of the last requested summary
}

// play shows n boards, then a move every pace until the connection ends, or another
// summary is asked for.
func (s *showing) play(n int, pace time.Duration, mine int64) {
	boards := make([]chess.Position, n)
	for i := range boards {
		boards[i], _ = chess.ParseFEN(chess.StartFEN)
		s.tellBoard(i, &boards[i], 0, mine)
	}
	r := rand.New(rand.NewPCG(5, 5))
	var moves []chess.Move
	tick := time.NewTicker(max(pace, 10*time.Millisecond))
	defer tick.Stop()
	for s.generation.Load() == mine {
		select {
		case <-s.ended:
			return
		case <-tick.C:
		}
		for range max(1, int(10*time.Millisecond/pace)) {
			i := r.IntN(n)
			moves = boards[i].LegalMoves(moves[:0])
			if len(moves) == 0 {
				boards[i], _ = chess.ParseFEN(chess.StartFEN)
				continue
			}
			m := moves[r.IntN(len(moves))]
			boards[i].Apply(m)
			s.tellBoard(i, &boards[i], m, mine)
		}
	}
}

func (s *showing) tellBoard(i int, p *chess.Position, m chess.Move, generation int64) {
	ext := []wire.Field{
		wire.String(wire.KeySpectateState, wire.SpectateSummary), wire.Int(wire.KeySpectateGeneration, generation),
		wire.Int(wire.KeyBoardPly, int64(p.Ply())), wire.Int(wire.KeyBoardVersion, int64(p.Ply())+1),
	}
	if m != 0 {
		ext = append(ext, wire.Int(wire.KeyLastMoveFrom, int64(m.From())), wire.Int(wire.KeyLastMoveTo, int64(m.To())))
	}
	fen := wire.ShortFEN([]byte(p.FEN()))
	s.tell(wire.Header{Board: wamble.BoardID(i + 1), Seq: 1}, wire.SpectateUpdate{FEN: wire.Text(fen)}, ext...)
}

// tell sends a packet as one binary frame.
func (s *showing) tell(h wire.Header, m wire.Message, ext ...wire.Field) {
	h.Token = wamble.Token{7}
	p, err := wire.Append(nil, h, m, ext...)
	if err != nil {
		panic(err)
	}
	frame := []byte{0x82, byte(len(p))}
	if len(p) > 125 {
		frame = endian.BigEndian.AppendUint16([]byte{0x82, 126}, uint16(len(p)))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn.Write(append(frame, p...))
}

// readFrame reads a short binary frame of a browser.
func readFrame(r *bufio.Reader) ([]byte, error) {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := int(head[1] & 0x7f)
	if n == 126 {
		var long [2]byte
		if _, err := io.ReadFull(r, long[:]); err != nil {
			return nil, err
		}
		n = int(endian.BigEndian.Uint16(long[:]))
	}
	p := make([]byte, 4+n)
	if _, err := io.ReadFull(r, p); err != nil {
		return nil, err
	}
	if head[0] != 0x82 {
		return nil, io.EOF
	}
	for i := range p[4:] {
		p[4+i] ^= p[i&3]
	}
	return p[4:], nil
}
