package transport

import (
	"testing"

	"wamble/wire"
)

// TestJSONReadsAllFields: every request of a JSON client has a key that the original lacks, so that link does not
// shorten its answers; a hello is granted the same capabilities as without.
func TestJSONReadsAllFields(t *testing.T) {
	for _, text := range []string{
		`{"ctrl":"CLIENT_HELLO"}`,
		`{"ctrl":"CLIENT_HELLO","ext":{"hello.bot":1}}`,
		`{"ctrl":"LIST_PROFILES","ext":{"stats.request_id":3}}`,
	} {
		j := newJSONSide()
		o, err := wire.ParseObject([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		asked := o.Flags.Negotiate()
		if len(o.Ext) > 0 {
			asked = (o.Flags | wire.FlagExt).Negotiate()
		}
		if err := j.request(&o); err != nil {
			t.Fatal(err)
		}
		var p wire.Packet
		if err := p.Decode(j.packet); err != nil || !p.Ext.HasOurs() {
			t.Errorf("%s: %v, %v", text, p.Ext, err)
		}
		if got := p.Flags.Negotiate(); o.Ctrl == wire.CtrlClientHello && got != asked {
			t.Errorf("%s is granted %#x, want %#x", text, uint8(got), uint8(asked))
		}
	}
}
