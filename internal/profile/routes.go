package profile

import (
	"wamble/internal/access"
	"wamble/wire"
)

// route is the row of one control code that clients send.
type route struct {
	ctrl  wire.Control
	looks looks // where the session of the token is looked up
	must  bool  // without a session the request is refused: 1007
	terms bool  // the request is refused until the session has accepted the terms: 1001
	// needs is the right that the policy is asked for, besides the request itself; none if it has no
	// action.
	needs access.Right
	// writes says that the request can change something: it is refused while the journal has no room.
	writes bool
	// handle decides a request. It gives all answers before it returns done, or queues the request behind a
	// load.
	handle func(*Profile, *request, *Output) verdict
}

// looks is where the session of a request's token is looked up.
type looks uint8

const (
	nowhere    looks = iota // the request does not need the session
	inMemory                // a session outside memory has nothing to lose
	everywhere              // in memory, then in the store
)

// routes is the one table of requests. Before the handler come, in this order: the rate limits (link),
// waiting requests of the same token, bans, the session, the policy, the terms.
var routes = []route{
	{ctrl: wire.CtrlClientHello, looks: everywhere, writes: true, handle: (*Profile).hello},
	{ctrl: wire.CtrlPlayerMove, looks: everywhere, needs: access.Right{Action: "game.move", Resource: "play"}, must: true, terms: true, writes: true, handle: (*Profile).move},
	{ctrl: wire.CtrlGetLegalMoves, looks: everywhere, needs: access.Right{Action: "game.move", Resource: "legal"}, must: true, terms: true, handle: (*Profile).legal},
	{ctrl: wire.CtrlClientGoodbye, looks: inMemory, writes: true, handle: (*Profile).goodbye},
	{ctrl: wire.CtrlListProfiles, looks: everywhere, handle: (*Profile).listProfiles},
	{ctrl: wire.CtrlGetProfileInfo, looks: everywhere, handle: (*Profile).profileInfo},
	{ctrl: wire.CtrlGetProfileTOS, looks: everywhere, handle: (*Profile).readTerms},
	{ctrl: wire.CtrlAcceptProfileTOS, looks: everywhere, writes: true, handle: (*Profile).acceptTerms},
	{ctrl: wire.CtrlLoginRequest, looks: everywhere, writes: true, handle: (*Profile).login},
	{ctrl: wire.CtrlLogout, looks: everywhere, writes: true, handle: (*Profile).logout},
	{ctrl: wire.CtrlGetPlayerStats, looks: everywhere, terms: true, handle: (*Profile).playerStats},
	{ctrl: wire.CtrlGetLeaderboard, looks: everywhere, needs: access.Right{Action: "leaderboard.read", Resource: "global"}, terms: true, handle: (*Profile).leaderboard},
	{ctrl: wire.CtrlGetActiveReservations, looks: everywhere, handle: (*Profile).reservations},
	{ctrl: wire.CtrlGetSessions, looks: everywhere, must: true, handle: (*Profile).listSessions},
	{ctrl: wire.CtrlRevokeSessions, looks: everywhere, must: true, writes: true, handle: (*Profile).revokeSessions},
	{ctrl: wire.CtrlSetName, looks: everywhere, must: true, terms: true, writes: true, handle: (*Profile).setName},
	{ctrl: wire.CtrlSpectateGame, looks: everywhere, must: true, terms: true, handle: (*Profile).spectate},
	{ctrl: wire.CtrlSpectateStop, looks: inMemory, terms: true, handle: (*Profile).stopSpectating},
	{ctrl: wire.CtrlSubmitPrediction, looks: everywhere, must: true, terms: true, writes: true, handle: (*Profile).predict},
	{ctrl: wire.CtrlGetPredictions, looks: everywhere, must: true, terms: true, handle: (*Profile).predictions},
}

// byControl has routes by control code. A code that only servers send is acknowledged and ignored, as in
// the original.
var byControl = func() (rows [256]route) {
	for c := range rows {
		rows[c].handle = func(*Profile, *request, *Output) verdict { return done }
	}
	for _, row := range routes {
		rows[row.ctrl] = row
	}
	return rows
}()
