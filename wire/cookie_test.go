package wire

import (
	"bytes"
	"testing"
)

func TestSetCookie(t *testing.T) {
	hello, err := Append(nil, Header{Seq: 1}, ClientHello{}, Int(KeyHelloWithoutBoard, 1), NoCookie())
	if err != nil {
		t.Fatal(err)
	}
	cookie := []byte("0123456789abcdef0123456789abcdef")
	var p Packet
	if !SetCookie(hello, cookie) || p.Decode(hello) != nil {
		t.Fatal("the hello has no room for a cookie, or is damaged by it")
	}
	if got := p.Ext.View(KeyHelloCookie); len(got) != CookieSize || !bytes.HasPrefix(got, cookie) {
		t.Errorf("got %q", got)
	}
	if without, _ := p.Ext.Int(KeyHelloWithoutBoard); without != 1 {
		t.Error("another field has changed")
	}
	bare, err := Append(nil, Header{Seq: 1}, ClientHello{})
	if err != nil || SetCookie(bare, cookie) {
		t.Errorf("a hello without the field took a cookie (%v)", err)
	}
}

// FuzzSetCookie: a packet of any bytes that took a cookie is still one and has it, and other
// bytes stay as they are.
func FuzzSetCookie(f *testing.F) {
	hello, _ := Append(nil, Header{Seq: 1}, ClientHello{}, NoCookie())
	f.Add(hello, []byte("abc"))
	f.Add(hello[:40], []byte{})
	f.Fuzz(func(t *testing.T, b, cookie []byte) {
		was := bytes.Clone(b)
		var before, after Packet
		sound := before.Decode(was) == nil
		if !SetCookie(b, cookie) {
			if !bytes.Equal(b, was) {
				t.Error("refused, and changed")
			}
			return
		}
		if sound && after.Decode(b) != nil {
			t.Error("the packet is damaged")
		}
		if !bytes.Contains(b, cookie) {
			t.Error("the cookie is not there")
		}
	})
}
