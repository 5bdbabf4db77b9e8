package wire

// LoginRequest asks for a challenge, or answers one with a signature.
//
//	 0  32  public key
//	32  64  signature; absent when a challenge is asked for
//
// Any other length is refused.
type LoginRequest struct {
	PublicKey Key `json:"public_key"`
	// Signature is nil in a request for a challenge.
	Signature *Signature `json:"signature,omitempty"`

	proof Signature // target of Signature after decoding
}

func (m LoginRequest) append(dst []byte) ([]byte, error) {
	dst = append(dst, m.PublicKey[:]...)
	if m.Signature != nil {
		dst = append(dst, m.Signature[:]...)
	}
	return dst, nil
}

var errLoginLen = invalid("a login request has 32 or 96 bytes")

func (m *LoginRequest) decode(base []byte) ([]byte, error) {
	switch len(base) {
	case 32:
		m.Signature, m.proof = nil, Signature{}
	case 96:
		copy(m.proof[:], base[32:])
		m.Signature = &m.proof
	default:
		return nil, errLoginLen
	}
	copy(m.PublicKey[:], base)
	return nil, nil
}

// LoginChallenge is what a client must sign to prove its key.
//
//	0  32  challenge; any other length is refused
type LoginChallenge struct {
	Challenge Key `json:"challenge"`
}

func (m LoginChallenge) append(dst []byte) ([]byte, error) {
	return append(dst, m.Challenge[:]...), nil
}

var errChallengeLen = invalid("a challenge has 32 bytes")

func (m *LoginChallenge) decode(base []byte) ([]byte, error) {
	if len(base) != len(m.Challenge) {
		return nil, errChallengeLen
	}
	copy(m.Challenge[:], base)
	return nil, nil
}

// LoginSuccess answers a valid signature, with the board the player holds.
//
//	0  n  FEN: placement and side to move; empty without a board
type LoginSuccess struct {
	FEN Text `json:"fen"`
}

func (m LoginSuccess) append(dst []byte) ([]byte, error)   { return appendText(dst, m.FEN) }
func (m *LoginSuccess) decode(base []byte) ([]byte, error) { return decodeText(&m.FEN, base) }

// Logout ends the session and its tie to an identity; the answer is ACK alone.
//
//	0  n  ignored
type Logout struct{ empty }
