package profile

import "wamble/wire"

// capabilities is what each bit of session.caps needs: requests that are
// allowed and have a handler.
var capabilities = []struct {
	bit   wire.SessionCaps
	needs []wire.Control
}{
	{wire.MayAttachIdentity, []wire.Control{wire.CtrlLoginRequest}},
	{wire.MayLogout, []wire.Control{wire.CtrlLogout}},
	{wire.MayMove, []wire.Control{wire.CtrlGetLegalMoves, wire.CtrlPlayerMove}},
	{wire.MayReadStats, []wire.Control{wire.CtrlGetPlayerStats}},
	{wire.MayReadLeaderboard, []wire.Control{wire.CtrlGetLeaderboard}},
	{wire.MayWatchSummary | wire.MayWatchFocus, []wire.Control{wire.CtrlSpectateGame, wire.CtrlSpectateStop}},
	{wire.MayPredict, []wire.Control{wire.CtrlSubmitPrediction}},
	{wire.MayReadPredictions, []wire.Control{wire.CtrlGetPredictions}},
	{wire.MaySeeGameMode, nil},
}

// caps returns what a session may do that holds a board. It is the same for
// all, and is computed once for each configuration.
func (p *Profile) caps() wire.SessionCaps {
	var caps wire.SessionCaps
	for _, c := range capabilities {
		ok := true
		for _, ctrl := range c.needs {
			ok = ok && p.serves(ctrl)
		}
		if ok {
			caps |= c.bit
		}
	}
	if !p.audience.book.Open() {
		caps &^= wire.MayPredict | wire.MayReadPredictions
	}
	return caps
}
