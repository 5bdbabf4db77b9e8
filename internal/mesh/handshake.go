package mesh

import (
	"bytes"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Key is the secret that all nodes of a cluster share.
type Key [32]byte

// hello is the first message of each end.
type hello struct {
	from, to string
	instance [8]byte // of the process
	public   [32]byte
}

// Sizes of the handshake.
const (
	magic    = "WMSH\x01\x00\x00\x00"
	nameSize = 1 + MaxName
	helloLen = len(magic) + 2*nameSize + 8 + 32
	helloMAC = helloLen + sha256.Size
)

// The roles for which MACs and keys are derived from the cluster's key.
const (
	asDialler  = "wamble mesh: whoever dials  "
	asListener = "wamble mesh: whoever listens"
)

// ErrUnauthenticated is returned when the other end has not proven that it has the key, or is
// another node than the one that was dialled.
var ErrUnauthenticated = errors.New("it is no node of this installation, or not the one that was meant")

// mac returns the HMAC of messages of a role.
func (k *Key) mac(role string, messages ...[]byte) []byte {
	h := hmac.New(sha256.New, k[:])
	io.WriteString(h, role)
	for _, m := range messages {
		h.Write(m)
	}
	return h.Sum(nil)
}

// append appends the bytes of a hello, without its MAC.
func (h *hello) append(b []byte) []byte {
	b = append(b, magic...)
	for _, name := range []string{h.from, h.to} {
		b = append(append(b, byte(len(name))), name...)
		b = append(b, make([]byte, MaxName-len(name))...)
	}
	b = append(b, h.instance[:]...)
	return append(b, h.public[:]...)
}

// readHello decodes a hello whose MAC was checked.
func readHello(b []byte) (h hello, ok bool) {
	rest, ok := bytes.CutPrefix(b[:helloLen], []byte(magic))
	if !ok || rest[0] > MaxName || rest[nameSize] > MaxName {
		return h, false
	}
	h.from = string(rest[1 : 1+rest[0]])
	h.to = string(rest[nameSize+1 : nameSize+1+int(rest[nameSize])])
	rest = rest[2*nameSize:]
	copy(h.instance[:], rest)
	copy(h.public[:], rest[8:])
	return h, true
}

// secrets has the sealers of the two directions of a connection.
type secrets struct{ out, in *sealer }

// handshake does the handshakes of one node.
type handshake struct {
	key      Key
	name     string
	instance [8]byte
}

// dial does the handshake of the dialling end with the node named to.
func (s *handshake) dial(c io.ReadWriter, to string) (hello, secrets, error) {
	own, private, err := s.hello(to)
	if err != nil {
		return hello{}, secrets{}, err
	}
	said := own.append(make([]byte, 0, helloMAC))
	if _, err := c.Write(append(said, s.key.mac(asDialler, said)...)); err != nil {
		return hello{}, secrets{}, err
	}
	var received [helloMAC]byte
	if _, err := io.ReadFull(c, received[:]); err != nil {
		return hello{}, secrets{}, fmt.Errorf("%w (%w)", ErrUnauthenticated, err)
	}
	other, err := s.check(received[:], s.key.mac(asListener, said, received[:helloLen]))
	if err != nil || other.from != to {
		return hello{}, secrets{}, ErrUnauthenticated
	}
	k, err := s.secrets(private, other, said, received[:helloLen])
	if err != nil {
		return hello{}, secrets{}, err
	}
	// The empty record proves to the other end that this one is no replay.
	_, err = c.Write(k.out.seal(nil, nil))
	return other, k, err
}

// listen does the handshake of the listening end.
func (s *handshake) listen(c io.ReadWriter) (hello, secrets, error) {
	var received [helloMAC]byte
	if _, err := io.ReadFull(c, received[:]); err != nil {
		return hello{}, secrets{}, err
	}
	other, err := s.check(received[:], s.key.mac(asDialler, received[:helloLen]))
	if err != nil {
		return hello{}, secrets{}, err
	}
	own, private, err := s.hello(other.from)
	if err != nil {
		return hello{}, secrets{}, err
	}
	said := own.append(make([]byte, 0, helloMAC))
	if _, err := c.Write(append(said, s.key.mac(asListener, received[:helloLen], said)...)); err != nil {
		return hello{}, secrets{}, err
	}
	k, err := s.secrets(private, other, received[:helloLen], said)
	if err != nil {
		return hello{}, secrets{}, err
	}
	k.out, k.in = k.in, k.out
	var proof [recordHeader + 16]byte
	if _, err := io.ReadFull(c, proof[:]); err != nil {
		return hello{}, secrets{}, err
	}
	if n, err := k.in.sizeOf(proof[:recordHeader]); err != nil || n != len(proof)-recordHeader {
		return hello{}, secrets{}, ErrUnauthenticated
	}
	if _, err := k.in.open(proof[:recordHeader], proof[recordHeader:]); err != nil {
		return hello{}, secrets{}, ErrUnauthenticated
	}
	return other, k, nil
}

// hello makes a hello to a node, with a fresh key.
func (s *handshake) hello(to string) (hello, *ecdh.PrivateKey, error) {
	private, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return hello{}, nil, err
	}
	return hello{s.name, to, s.instance, [32]byte(private.PublicKey().Bytes())}, private, nil
}

// check decodes a hello. It returns ErrUnauthenticated if the MAC is wrong, or it is not from
// another node to this one.
func (s *handshake) check(received, mac []byte) (hello, error) {
	if !hmac.Equal(received[helloLen:], mac) {
		return hello{}, ErrUnauthenticated
	}
	h, ok := readHello(received)
	if !ok || h.to != s.name || h.from == s.name || h.from == "" {
		return hello{}, ErrUnauthenticated
	}
	return h, nil
}

// secrets derives the keys of both directions. Out is that of the dialling end.
func (s *handshake) secrets(private *ecdh.PrivateKey, other hello, dialler, listener []byte) (k secrets, err error) {
	public, err := ecdh.X25519().NewPublicKey(other.public[:])
	if err != nil {
		return k, err
	}
	shared, err := private.ECDH(public)
	if err != nil {
		return k, err
	}
	said := sha256.Sum256(slices.Concat(dialler, listener))
	for _, d := range []struct {
		sealer **sealer
		role   string
	}{{&k.out, asDialler}, {&k.in, asListener}} {
		key, err := hkdf.Key(sha256.New, slices.Concat(s.key[:], shared), said[:], d.role, 32)
		if err != nil {
			return k, err
		}
		*d.sealer = newSealer(key)
	}
	return k, nil
}
