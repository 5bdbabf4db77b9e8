package journal

import (
	"wamble"
	"wamble/internal/intent"
)

// intent codes the fields of each kind. Fields are only ever added at the end.
func (c *coder) intent(in intent.Intent) {
	switch in := in.(type) {
	case *intent.CreateSession:
		c.session(&in.Session)
		c.bytes(in.Token[:])
		c.player(&in.Player)
		c.time(&in.At)
	case *intent.LinkSession:
		c.session(&in.Session)
		c.bytes(in.Key[:])
		c.player(&in.Player)
		c.text(&in.Handle)
		c.float(&in.Rating)
		c.time(&in.At)
	case *intent.UnlinkSession:
		c.session(&in.Session)
		c.time(&in.At)
	case *intent.RecordTermsAcceptance:
		c.session(&in.Session)
		c.text(&in.Profile)
		c.bytes(in.Hash[:])
		c.text(&in.Text)
		c.time(&in.At)
	case *intent.ErasePlayer:
		c.bytes(in.Key[:])
		c.time(&in.At)
	case *intent.PurgeSessions:
		c.time(&in.Before)
		c.time(&in.At)
	case *intent.UpdateSessionLastSeen:
		c.session(&in.Session)
		c.time(&in.At)
	case *intent.RecordPrediction:
		c.prediction(&in.ID)
		c.board(&in.Board)
		c.session(&in.Session)
		c.prediction(&in.Parent)
		c.text(&in.UCI)
		c.small(&in.Ply)
		c.small(&in.Streak)
		c.time(&in.At)
	case *intent.ResolvePrediction:
		c.prediction(&in.ID)
		c.session(&in.Session)
		octet(c, &in.Status)
		c.float(&in.Points)
		c.time(&in.At)
	default:
		c.boardIntent(in)
	}
}

// boardIntent codes the kinds that begin with a board.
func (c *coder) boardIntent(in intent.Intent) {
	switch in := in.(type) {
	case *intent.CreateBoard:
		c.board(&in.Board)
		c.text(&in.FEN)
		octet(c, &in.Status)
		c.variant(&in.Variant)
		c.time(&in.At)
	case *intent.UpdateBoard:
		c.board(&in.Board)
		c.text(&in.FEN)
		octet(c, &in.Status)
		c.uint(&in.Version)
		c.time(&in.At)
	case *intent.UpdateBoardAssignmentTime:
		c.board(&in.Board)
		c.time(&in.At)
	case *intent.RecordMove:
		c.board(&in.Board)
		c.session(&in.Session)
		c.text(&in.UCI)
		c.small(&in.Ply)
		c.bool(&in.First)
		c.time(&in.At)
	case *intent.RecordGameResult:
		c.board(&in.Board)
		octet(c, &in.Result)
		c.small(&in.Plies)
		c.int((*int64)(&in.Duration))
		c.text(&in.Reason)
		c.time(&in.At)
	case *intent.RecordPayout:
		c.board(&in.Board)
		c.session(&in.Session)
		c.float(&in.Points)
		c.float(&in.Canonical)
		c.time(&in.At)
	case *intent.RecordRating:
		c.board(&in.Board)
		c.session(&in.Session)
		c.bytes(in.Key[:])
		c.float(&in.Delta)
		c.time(&in.At)
	case *intent.CreateReservation:
		c.board(&in.Board)
		c.session(&in.Session)
		c.bool(&in.White)
		c.time(&in.At)
		c.time(&in.Expires)
	case *intent.RemoveReservation:
		c.board(&in.Board)
		c.time(&in.At)
	case *intent.RecordLastMoveShown:
		c.board(&in.Board)
		c.session(&in.Session)
		c.text(&in.UCI)
		c.time(&in.At)
	}
}

func (c *coder) variant(v *int16) {
	x := int(*v)
	c.small(&x)
	*v = int16(x)
	c.bad = c.bad || int(*v) != x
}

func (c *coder) board(v *wamble.BoardID)           { c.uint((*uint64)(v)) }
func (c *coder) session(v *wamble.SessionID)       { c.int((*int64)(v)) }
func (c *coder) player(v *wamble.PlayerID)         { c.int((*int64)(v)) }
func (c *coder) prediction(v *wamble.PredictionID) { c.int((*int64)(v)) }
