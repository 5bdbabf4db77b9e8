package wire

import (
	"encoding/hex"
	"fmt"
)

// Control is the control code of a packet: its subject, and the type of its payload.
type Control uint8

// The control codes. Their properties are in controls.
const (
	CtrlClientHello            Control = 0x01
	CtrlServerHello            Control = 0x02
	CtrlPlayerMove             Control = 0x03
	CtrlBoardUpdate            Control = 0x04
	CtrlAck                    Control = 0x05
	CtrlListProfiles           Control = 0x06
	CtrlProfileInfo            Control = 0x07
	CtrlError                  Control = 0x08
	CtrlServerNotification     Control = 0x09
	CtrlClientGoodbye          Control = 0x0A
	CtrlSpectateGame           Control = 0x0B
	CtrlSpectateUpdate         Control = 0x0C
	CtrlLoginRequest           Control = 0x0D
	CtrlLoginChallenge         Control = 0x0E
	CtrlLogout                 Control = 0x0F
	CtrlLoginSuccess           Control = 0x10
	CtrlLoginFailed            Control = 0x11
	CtrlGetPlayerStats         Control = 0x12
	CtrlPlayerStatsData        Control = 0x13
	CtrlGetProfileInfo         Control = 0x14
	CtrlProfilesList           Control = 0x15
	CtrlSpectateStop           Control = 0x16
	CtrlGetLegalMoves          Control = 0x17
	CtrlLegalMoves             Control = 0x18
	CtrlGetLeaderboard         Control = 0x19
	CtrlLeaderboardData        Control = 0x1A
	CtrlSubmitPrediction       Control = 0x1B
	CtrlGetPredictions         Control = 0x1C
	CtrlPredictionData         Control = 0x1D
	CtrlGetProfileTOS          Control = 0x1E
	CtrlProfileTOSData         Control = 0x1F
	CtrlAcceptProfileTOS       Control = 0x20
	CtrlGetActiveReservations  Control = 0x21
	CtrlActiveReservationsData Control = 0x22
	CtrlGetSessions            Control = 0x23
	CtrlSessionsData           Control = 0x24
	CtrlRevokeSessions         Control = 0x25
	CtrlSetName                Control = 0x26
)

// Sender says who sends packets of a control code.
type Sender uint8

// The senders. FromBoth is only ACK.
const (
	FromClient Sender = iota + 1
	FromServer
	FromBoth
)

// Delivery says how a packet of a control code travels.
type Delivery uint8

const (
	// Asked is a request: reliable, unless its sender sets FlagUnreliable.
	Asked Delivery = iota + 1
	// Replayed is a reliable answer that is kept for a while and sent again
	// when its request is repeated.
	Replayed
	// Reliable is sent again until it is acknowledged, but is not kept.
	Reliable
	// Unreliable is sent once, with sequence 0.
	Unreliable
	// Acknowledges is ACK itself: sent once, never acknowledged.
	Acknowledges
)

// Info is the row of one control code.
type Info struct {
	Code     Control
	Name     string // as in the protocol's documents, e.g. PLAYER_MOVE
	From     Sender
	Delivery Delivery
	// Replies are the answers of a request that succeeds, beside ACK; none
	// means ACK alone. A refused request is answered with ERROR (a login with
	// LOGIN_FAILED).
	Replies []Control
	// ZeroToken says that a server accepts the request without a session.
	ZeroToken bool
	// Fragments says that its payload may travel in fragments.
	Fragments bool
	// Plain is the longest payload in bytes that travels without fragments; 0
	// means MaxPayload, and −1 that even an empty one is a fragment.
	Plain   int
	payload func() message // returns an empty message of its type
}

// New returns an empty message of the control code's payload type.
func (i *Info) New() Message { return i.payload() }

// controls is the table of control codes: row n is code n. Row 0 is empty, because there is no
// code 0; the other rows have no gaps.
//
// A new code needs a constant, a row, a payload type with its byte table, and a packet in
// testdata/packets. go generate ./wire writes docs/protocol.md and web/src/wire/codes.gen.ts. A
// request also needs a row in internal/profile's routes and a method of client; tests report
// what is missing.
var controls = [...]Info{
	CtrlClientHello:            {Name: "CLIENT_HELLO", From: FromClient, Delivery: Asked, ZeroToken: true, Replies: []Control{CtrlServerHello}, payload: newOf[ClientHello]},
	CtrlServerHello:            {Name: "SERVER_HELLO", From: FromServer, Delivery: Replayed, Fragments: true, payload: newOf[ServerHello]},
	CtrlPlayerMove:             {Name: "PLAYER_MOVE", From: FromClient, Delivery: Asked, Replies: []Control{CtrlBoardUpdate}, payload: newOf[PlayerMove]},
	CtrlBoardUpdate:            {Name: "BOARD_UPDATE", From: FromServer, Delivery: Replayed, Fragments: true, payload: newOf[BoardUpdate]},
	CtrlAck:                    {Name: "ACK", From: FromBoth, Delivery: Acknowledges, ZeroToken: true, payload: newOf[Ack]},
	CtrlListProfiles:           {Name: "LIST_PROFILES", From: FromClient, Delivery: Asked, ZeroToken: true, Replies: []Control{CtrlProfilesList}, payload: newOf[ListProfiles]},
	CtrlProfileInfo:            {Name: "PROFILE_INFO", From: FromServer, Delivery: Replayed, Fragments: true, payload: newOf[ProfileInfo]},
	CtrlError:                  {Name: "ERROR", From: FromServer, Delivery: Replayed, Fragments: true, payload: newOf[Error]},
	CtrlServerNotification:     {Name: "SERVER_NOTIFICATION", From: FromServer, Delivery: Unreliable, Fragments: true, payload: newOf[ServerNotification]},
	CtrlClientGoodbye:          {Name: "CLIENT_GOODBYE", From: FromClient, Delivery: Asked, payload: newOf[ClientGoodbye]},
	CtrlSpectateGame:           {Name: "SPECTATE_GAME", From: FromClient, Delivery: Asked, Replies: []Control{CtrlSpectateUpdate}, payload: newOf[SpectateGame]},
	CtrlSpectateUpdate:         {Name: "SPECTATE_UPDATE", From: FromServer, Delivery: Reliable, Fragments: true, payload: newOf[SpectateUpdate]},
	CtrlLoginRequest:           {Name: "LOGIN_REQUEST", From: FromClient, Delivery: Asked, Replies: []Control{CtrlLoginChallenge, CtrlLoginSuccess}, payload: newOf[LoginRequest]},
	CtrlLoginChallenge:         {Name: "LOGIN_CHALLENGE", From: FromServer, Delivery: Replayed, Fragments: true, payload: newOf[LoginChallenge]},
	CtrlLogout:                 {Name: "LOGOUT", From: FromClient, Delivery: Asked, payload: newOf[Logout]},
	CtrlLoginSuccess:           {Name: "LOGIN_SUCCESS", From: FromServer, Delivery: Replayed, payload: newOf[LoginSuccess]},
	CtrlLoginFailed:            {Name: "LOGIN_FAILED", From: FromServer, Delivery: Replayed, Fragments: true, payload: newOf[LoginFailed]},
	CtrlGetPlayerStats:         {Name: "GET_PLAYER_STATS", From: FromClient, Delivery: Asked, Replies: []Control{CtrlPlayerStatsData}, payload: newOf[GetPlayerStats]},
	CtrlPlayerStatsData:        {Name: "PLAYER_STATS_DATA", From: FromServer, Delivery: Replayed, Fragments: true, payload: newOf[PlayerStatsData]},
	CtrlGetProfileInfo:         {Name: "GET_PROFILE_INFO", From: FromClient, Delivery: Asked, ZeroToken: true, Replies: []Control{CtrlProfileInfo}, payload: newOf[GetProfileInfo]},
	CtrlProfilesList:           {Name: "PROFILES_LIST", From: FromServer, Delivery: Replayed, Fragments: true, Plain: TextLimit, payload: newOf[ProfilesList]},
	CtrlSpectateStop:           {Name: "SPECTATE_STOP", From: FromClient, Delivery: Asked, Replies: []Control{CtrlSpectateUpdate}, payload: newOf[SpectateStop]},
	CtrlGetLegalMoves:          {Name: "GET_LEGAL_MOVES", From: FromClient, Delivery: Asked, Replies: []Control{CtrlLegalMoves}, payload: newOf[GetLegalMoves]},
	CtrlLegalMoves:             {Name: "LEGAL_MOVES", From: FromServer, Delivery: Replayed, Fragments: true, payload: newOf[LegalMoves]},
	CtrlGetLeaderboard:         {Name: "GET_LEADERBOARD", From: FromClient, Delivery: Asked, Replies: []Control{CtrlLeaderboardData}, payload: newOf[GetLeaderboard]},
	CtrlLeaderboardData:        {Name: "LEADERBOARD_DATA", From: FromServer, Delivery: Replayed, Fragments: true, payload: newOf[LeaderboardData]},
	CtrlSubmitPrediction:       {Name: "SUBMIT_PREDICTION", From: FromClient, Delivery: Asked, Replies: []Control{CtrlPredictionData}, payload: newOf[SubmitPrediction]},
	CtrlGetPredictions:         {Name: "GET_PREDICTIONS", From: FromClient, Delivery: Asked, Replies: []Control{CtrlPredictionData}, payload: newOf[GetPredictions]},
	CtrlPredictionData:         {Name: "PREDICTION_DATA", From: FromServer, Delivery: Replayed, Fragments: true, payload: newOf[PredictionData]},
	CtrlGetProfileTOS:          {Name: "GET_PROFILE_TOS", From: FromClient, Delivery: Asked, Replies: []Control{CtrlProfileTOSData}, payload: newOf[GetProfileTOS]},
	CtrlProfileTOSData:         {Name: "PROFILE_TOS_DATA", From: FromServer, Delivery: Replayed, Fragments: true, Plain: -1, payload: newOf[ProfileTOSData]},
	CtrlAcceptProfileTOS:       {Name: "ACCEPT_PROFILE_TOS", From: FromClient, Delivery: Asked, Replies: []Control{CtrlProfileInfo}, payload: newOf[AcceptProfileTOS]},
	CtrlGetActiveReservations:  {Name: "GET_ACTIVE_RESERVATIONS", From: FromClient, Delivery: Asked, Replies: []Control{CtrlActiveReservationsData}, payload: newOf[GetActiveReservations]},
	CtrlActiveReservationsData: {Name: "ACTIVE_RESERVATIONS_DATA", From: FromServer, Delivery: Replayed, Fragments: true, Plain: -1, payload: newOf[ActiveReservationsData]},
	CtrlGetSessions:            {Name: "GET_SESSIONS", From: FromClient, Delivery: Asked, Replies: []Control{CtrlSessionsData}, payload: newOf[GetSessions]},
	CtrlSessionsData:           {Name: "SESSIONS_DATA", From: FromServer, Delivery: Replayed, Fragments: true, payload: newOf[SessionsData]},
	CtrlRevokeSessions:         {Name: "REVOKE_SESSIONS", From: FromClient, Delivery: Asked, Replies: []Control{CtrlSessionsData}, payload: newOf[RevokeSessions]},
	CtrlSetName:                {Name: "SET_NAME", From: FromClient, Delivery: Asked, Replies: []Control{CtrlPlayerStatsData}, payload: newOf[SetName]},
}

// Control returns the control code of each type of payload.
func (ClientHello) Control() Control            { return CtrlClientHello }
func (ServerHello) Control() Control            { return CtrlServerHello }
func (PlayerMove) Control() Control             { return CtrlPlayerMove }
func (BoardUpdate) Control() Control            { return CtrlBoardUpdate }
func (Ack) Control() Control                    { return CtrlAck }
func (ListProfiles) Control() Control           { return CtrlListProfiles }
func (ProfileInfo) Control() Control            { return CtrlProfileInfo }
func (Error) Control() Control                  { return CtrlError }
func (ServerNotification) Control() Control     { return CtrlServerNotification }
func (ClientGoodbye) Control() Control          { return CtrlClientGoodbye }
func (SpectateGame) Control() Control           { return CtrlSpectateGame }
func (SpectateUpdate) Control() Control         { return CtrlSpectateUpdate }
func (LoginRequest) Control() Control           { return CtrlLoginRequest }
func (LoginChallenge) Control() Control         { return CtrlLoginChallenge }
func (Logout) Control() Control                 { return CtrlLogout }
func (LoginSuccess) Control() Control           { return CtrlLoginSuccess }
func (LoginFailed) Control() Control            { return CtrlLoginFailed }
func (GetPlayerStats) Control() Control         { return CtrlGetPlayerStats }
func (PlayerStatsData) Control() Control        { return CtrlPlayerStatsData }
func (GetProfileInfo) Control() Control         { return CtrlGetProfileInfo }
func (ProfilesList) Control() Control           { return CtrlProfilesList }
func (SpectateStop) Control() Control           { return CtrlSpectateStop }
func (GetLegalMoves) Control() Control          { return CtrlGetLegalMoves }
func (LegalMoves) Control() Control             { return CtrlLegalMoves }
func (GetLeaderboard) Control() Control         { return CtrlGetLeaderboard }
func (LeaderboardData) Control() Control        { return CtrlLeaderboardData }
func (SubmitPrediction) Control() Control       { return CtrlSubmitPrediction }
func (GetPredictions) Control() Control         { return CtrlGetPredictions }
func (PredictionData) Control() Control         { return CtrlPredictionData }
func (GetProfileTOS) Control() Control          { return CtrlGetProfileTOS }
func (ProfileTOSData) Control() Control         { return CtrlProfileTOSData }
func (AcceptProfileTOS) Control() Control       { return CtrlAcceptProfileTOS }
func (GetActiveReservations) Control() Control  { return CtrlGetActiveReservations }
func (ActiveReservationsData) Control() Control { return CtrlActiveReservationsData }
func (GetSessions) Control() Control            { return CtrlGetSessions }
func (SessionsData) Control() Control           { return CtrlSessionsData }
func (RevokeSessions) Control() Control         { return CtrlRevokeSessions }
func (SetName) Control() Control                { return CtrlSetName }

// newOf returns an empty T.
func newOf[T any, P interface {
	*T
	message
}]() message {
	return P(new(T))
}

func init() {
	for c := range controls {
		controls[c].Code = Control(c)
	}
}

// Info returns the row of c. A code outside the table has none; a server drops
// such a packet silently.
func (c Control) Info() (*Info, bool) {
	if !c.Known() {
		return nil, false
	}
	return &controls[c], true
}

// Known reports whether c is in the table.
func (c Control) Known() bool { return c != 0 && int(c) < len(controls) }

// Request reports whether c is a request of clients. ACK is not a request.
func (c Control) Request() bool { return c.Known() && controls[c].From == FromClient }

// MayFragment reports whether the payload of c may travel in fragments.
func (c Control) MayFragment() bool { return c.Known() && controls[c].Fragments }

// MustFragment reports whether a payload of n bytes, with its extension trailer,
// must travel in fragments.
func (c Control) MustFragment(n int) bool {
	plain := MaxPayload
	if c.Known() && controls[c].Plain != 0 {
		plain = controls[c].Plain
	}
	return n > plain
}

// String returns the name of c, or its code in hexadecimal when it has none.
func (c Control) String() string {
	if c.Known() {
		return controls[c].Name
	}
	return fmt.Sprintf("0x%02X", uint8(c))
}

// ParseControl reads a name as Control.String writes it.
func ParseControl(s string) (Control, error) {
	for _, c := range Controls() {
		if c.String() == s {
			return c, nil
		}
	}
	if len(s) == 4 && s[:2] == "0x" {
		if b, err := hex.DecodeString(s[2:]); err == nil {
			return Control(b[0]), nil
		}
	}
	return 0, fmt.Errorf("%w: there is no control code %q", ErrInvalid, s)
}

// Controls returns all control codes in ascending order.
func Controls() []Control {
	all := make([]Control, len(controls)-1)
	for i := range all {
		all[i] = Control(i + 1)
	}
	return all
}
