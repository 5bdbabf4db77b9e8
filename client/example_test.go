package client_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log"
	"time"

	"wamble"
	"wamble/client"
	"wamble/client/clienttest"
	"wamble/wire"
)

// serve starts a server that plays the far end of an example.
func serve(script ...*clienttest.Step) *clienttest.Server {
	s, err := clienttest.Start(script...)
	if err != nil {
		log.Fatal(err)
	}
	return s
}

// must ends an example that cannot go on.
func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// Play a move: afterwards you are on another board.
func Example() {
	server := serve(clienttest.Expect(wire.CtrlPlayerMove).
		Answer(42, wire.BoardUpdate{FEN: wire.Text("rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w")}))
	defer server.Close()

	ctx := context.Background()
	c, err := client.Dial(ctx, server.UDP()) // "udp://host:8888"
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	fmt.Println("board", c.Board().ID, c.Board().FEN)

	board, err := c.Play(ctx, "e2e4")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("board", board.ID, board.FEN)
	// Output:
	// board 1 rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w
	// board 42 rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w
}

// A session belongs to its token: a client with the token comes back to the same board, also
// over another transport.
func ExampleDialer_Dial_resume() {
	server := serve()
	defer server.Close()
	ctx := context.Background()

	first := must(client.Dial(ctx, server.UDP()))
	token := first.Token()
	first.Close()

	d := client.Dialer{Token: token}
	again := must(d.Dial(ctx, server.WebSocket())) // "ws://host:8888/ws"
	defer again.Close()
	fmt.Println(again.Token() == token, again.Board().ID)
	// Output: true 1
}

// A refusal of the server is a *wamble.Denied.
func ExampleClient_Play_refused() {
	server := serve(clienttest.Expect(wire.CtrlPlayerMove).Deny(wamble.MoveRejected, "move rejected (status=5)"))
	defer server.Close()
	ctx := context.Background()
	c := must(client.Dial(ctx, server.UDP()))
	defer c.Close()

	_, err := c.Play(ctx, "e2e5")
	var denied *wamble.Denied
	if errors.As(err, &denied) {
		fmt.Println(denied.Code, denied.Reason)
	}
	// Output: 1009 move rejected (status=5)
}

func ExampleDeniedCode() {
	server := serve(clienttest.Expect(wire.CtrlPlayerMove).Deny(wamble.MoveRejected, "move rejected (status=5)"))
	defer server.Close()
	ctx := context.Background()
	c := must(client.Dial(ctx, server.UDP()))
	defer c.Close()

	if _, err := c.Play(ctx, "e2e5"); client.DeniedCode(err) == wamble.MoveRejected {
		fmt.Println(err)
	}
	// Output: denied (1009): move rejected (status=5)
}

func ExampleClient_LegalMoves() {
	server := serve(clienttest.Expect(wire.CtrlGetLegalMoves).
		Answer(1, wire.LegalMoves{Square: 12, Moves: []wire.LegalMove{{From: 12, To: 20}, {From: 12, To: 28}}}))
	defer server.Close()
	ctx := context.Background()
	c := must(client.Dial(ctx, server.UDP()))
	defer c.Close()

	const e2 = 12
	for _, m := range must(c.LegalMoves(ctx, c.Board().ID, e2)) {
		fmt.Println(m.From, "→", m.To)
	}
	// Output:
	// 12 → 20
	// 12 → 28
}

// Watch all boards, then one of them.
func ExampleClient_Spectate() {
	state := func(s string) wire.Field { return wire.String(wire.KeySpectateState, s) }
	generation := wire.Int(wire.KeySpectateGeneration, 7)
	server := serve(
		clienttest.Expect(wire.CtrlSpectateGame).
			Answer(0, wire.SpectateUpdate{}, state("summary"), generation).
			Answer(4, wire.SpectateUpdate{FEN: wire.Text("8/8/8/8/8/8/8/8 w")}, state("summary"), generation),
		clienttest.Expect(wire.CtrlSpectateGame).
			Answer(4, wire.SpectateUpdate{FEN: wire.Text("8/8/8/8/8/8/8/8 b")}, state("focus")),
		clienttest.Expect(wire.CtrlSpectateStop).Answer(0, wire.SpectateUpdate{}, state("idle")),
	)
	defer server.Close()
	ctx := context.Background()
	c := must(client.Dial(ctx, server.WebSocket()))
	defer c.Close()

	watch := must(c.Spectate(ctx, client.View{}))
	fmt.Println("new summary:", must(watch.Next(ctx)).Reset)
	seen := must(watch.Next(ctx))
	fmt.Println("board", seen.Board.ID, seen.Board.FEN)

	if err := watch.SetView(ctx, client.View{Board: 4}); err != nil {
		log.Fatal(err)
	}
	seen = must(watch.Next(ctx))
	fmt.Println("board", seen.Board.ID, seen.Board.FEN)

	watch.Stop(ctx)
	_, err := watch.Next(ctx)
	fmt.Println(err)
	// Output:
	// new summary: true
	// board 4 8/8/8/8/8/8/8/8 w
	// board 4 8/8/8/8/8/8/8/8 b
	// watching has ended
}

// Tie the session to a key; every session with the key belongs to the same player.
func ExampleClient_Login() {
	server := serve(
		clienttest.Expect(wire.CtrlLoginRequest).Answer(0, wire.LoginChallenge{Challenge: wire.Key{1, 2, 3}}),
		clienttest.Expect(wire.CtrlLoginRequest).Answer(9, wire.LoginSuccess{FEN: wire.Text("8/8/8/8/8/8/8/8 w")}),
	)
	defer server.Close()
	ctx := context.Background()
	c := must(client.Dial(ctx, server.UDP()))
	defer c.Close()

	_, key := must2(ed25519.GenerateKey(nil))
	board := must(c.Login(ctx, key))
	fmt.Println("on board", board.ID)
	// Output: on board 9
}

func must2[A, B any](a A, b B, err error) (A, B) {
	if err != nil {
		log.Fatal(err)
	}
	return a, b
}

func ExampleClient_Leaderboard() {
	server := serve(clienttest.Expect(wire.CtrlGetLeaderboard).
		Answer(0, wire.LeaderboardData{Order: wire.ByScore, SelfRank: 2, Rows: []wire.LeaderboardRow{
			{Rank: 1, Score: 12.5, Handle: wire.Text("h_ann")}, {Rank: 2, Score: 9, Handle: wire.Text("h_bob")}}}))
	defer server.Close()
	ctx := context.Background()
	c := must(client.Dial(ctx, server.UDP()))
	defer c.Close()

	page := must(c.Leaderboard(ctx, client.LeaderboardPage{Size: 2}))
	for _, r := range page.Rows {
		fmt.Println(r.Rank, r.Handle, r.Score)
	}
	// Output:
	// 1 h_ann 12.5
	// 2 h_bob 9
}

func ExampleClient_Predict() {
	uci := must(wire.MakeUCI("e7e5"))
	server := serve(clienttest.Expect(wire.CtrlSubmitPrediction).
		Answer(1, wire.PredictionData{Rows: []wire.Prediction{{ID: 77, UCI: uci}}},
			wire.Int(wire.KeyPredictionSubmitStatus, 1)))
	defer server.Close()
	ctx := context.Background()
	c := must(client.Dial(ctx, server.UDP()))
	defer c.Close()

	answer := must(c.Predict(ctx, c.Board().ID, "e7e5", 0))
	fmt.Println(answer.Status == client.SubmitCreated, answer.Prediction.ID)
	// Output: true 77
}

func ExampleClient_PredictableMoves() {
	server := serve(clienttest.Expect(wire.CtrlGetLegalMoves).
		Answer(1, wire.LegalMoves{Square: 52, Moves: []wire.LegalMove{{From: 52, To: 36}}}))
	defer server.Close()
	ctx := context.Background()
	c := must(client.Dial(ctx, server.UDP()))
	defer c.Close()

	const e7 = 52
	fmt.Println(must(c.PredictableMoves(ctx, c.Board().ID, e7))[0].To)
	// Output: 36
}

// Look at a server's profiles without becoming a player.
func ExampleClient_Profiles() {
	server := serve(
		clienttest.Expect(wire.CtrlListProfiles).Answer(0, wire.ProfilesList{Names: wire.Text("blitz,open")}),
		clienttest.Expect(wire.CtrlGetProfileInfo).Answer(0, wire.ProfileInfo{Info: wire.Text("open;8888;1;0")}),
	)
	defer server.Close()
	ctx := context.Background()
	d := client.Dialer{NoSession: true}
	c := must(d.Dial(ctx, server.UDP()))
	defer c.Close()

	fmt.Println(must(c.Profiles(ctx)))
	fmt.Println("port", must(c.Profile(ctx, "open")).Port)
	// Output:
	// [blitz open]
	// port 8888
}

// A profile may ask for its terms to be accepted before one plays.
func ExampleClient_AcceptTerms() {
	server := serve(
		clienttest.Expect(wire.CtrlGetProfileTOS).Answer(0, wire.ProfileTOSData{Terms: wire.Text("Be nice.")}),
		clienttest.Expect(wire.CtrlAcceptProfileTOS).
			Answer(1, wire.ProfileInfo{Info: wire.Text("open;8888;1;0")}, wire.Int(wire.KeyProfileTOSAccepted, 1)),
	)
	defer server.Close()
	ctx := context.Background()
	c := must(client.Dial(ctx, server.UDP()))
	defer c.Close()

	fmt.Println(must(c.Terms(ctx, "")))
	fmt.Println(must(c.AcceptTerms(ctx, "")).TermsAccepted)
	// Output:
	// Be nice.
	// true
}

// What happens without having been asked for arrives as events.
func ExampleClient_Event() {
	server := serve()
	defer server.Close()
	ctx := context.Background()
	c := must(client.Dial(ctx, server.WebSocket()))
	defer c.Close()

	server.Push(c.Token(), wire.Header{Board: 6}, wire.BoardUpdate{FEN: wire.Text("8/8/8/8/8/8/8/8 w")})
	e := must(c.Event(ctx))
	fmt.Println(e.Kind == client.BoardChanged, e.Board.ID)

	server.Disconnect(1001) // the server restarts: the client is back at once
	fmt.Println(must(c.Event(ctx)).Kind == client.Disconnected)
	fmt.Println(must(c.Event(ctx)).Kind == client.Resumed)
	// Output:
	// true 6
	// true
	// true
}

// A script lists the requests and their answers; faults make the network bad. In a test,
// NewServer(t, …) does the same and fails the test.
func Example_clienttest() {
	server, err := clienttest.Start(
		clienttest.Expect(wire.CtrlPlayerMove).Answer(8, wire.BoardUpdate{FEN: wire.Text("8/8/8/8/8/8/8/8 b")}),
		clienttest.Expect(wire.CtrlPlayerMove).Deny(wamble.MoveRejected, "not your turn"),
	)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	d := client.Dialer{Repeat: 10 * time.Millisecond}
	c, err := d.Dial(ctx, server.UDP())
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	server.Lose(wire.CtrlPlayerMove, 1) // the client sends it again
	board, err := c.Play(ctx, "e2e4")
	fmt.Println(board.ID, err)

	_, err = c.Play(ctx, "e2e4")
	fmt.Println(err)

	fmt.Println(server.Close())
	// Output:
	// 8 <nil>
	// denied (1009): not your turn
	// <nil>
}

func ExampleClient_Stats() {
	server := serve(clienttest.Expect(wire.CtrlGetPlayerStats).
		Answer(0, wire.PlayerStatsData{Score: 42.5, Games: 18}, wire.String(wire.KeyStatsTargetHandle, "h_ann")))
	defer server.Close()
	ctx := context.Background()
	c := must(client.Dial(ctx, server.UDP()))
	defer c.Close()

	stats := must(c.Stats(ctx, client.StatsOf{Handle: "h_ann"})) // StatsOf{} is oneself
	fmt.Println(stats.Handle, stats.Score, stats.Games)
	// Output: h_ann 42.5 18
}

// The boards that wait for you, in all profiles of the server.
func ExampleClient_Reservations() {
	server := serve(clienttest.Expect(wire.CtrlGetActiveReservations).
		Answer(0, wire.ActiveReservationsData{Rows: []wire.Reservation{
			{Board: 7, ReservedAt: 1700000000, ExpiresAt: 1700000300, Available: true, Profile: wire.Text("open")}}}))
	defer server.Close()
	ctx := context.Background()
	c := must(client.Dial(ctx, server.UDP()))
	defer c.Close()

	for _, r := range must(c.Reservations(ctx)) {
		fmt.Println("board", r.Board, "of", r.Profile, "for", r.Expires.Sub(r.ReservedAt))
	}
	// Output: board 7 of open for 5m0s
}

// Logging out ends the session; the client goes on with a new one.
func ExampleClient_Logout() {
	server := serve(clienttest.Expect(wire.CtrlLogout))
	defer server.Close()
	ctx := context.Background()
	c := must(client.Dial(ctx, server.UDP()))
	defer c.Close()

	session := must(c.Logout(ctx))
	fmt.Println("on board", session.Board.ID)
	// Output: on board 1
}
