package wire

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"
)

func TestParseJSONIsLenient(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`{"ctrl":"ACK"}`, "0500010000000000000000000000000000000000000000000000000000000000" + "0000"},
		{`{"ctrl":"ACK","flags":["UNRELIABLE"]}`, "0580010000000000000000000000000000000000000000000000000000000000" + "0000"},
		{`{"ctrl":"ACK","flags_raw":128,"seq":7}`, "0580010000000000000000000000000000000000000000000000000000000007" + "0000"},
		{`{"ctrl":"0x05","board_id":"18446744073709551615"}`, "0500010000000000000000000000000000000000ffffffffffffffff00000000" + "0000"},
		{`{"ctrl":"GET_LEGAL_MOVES","payload":{"square":12},"ext":[]}`, "1700010000000000000000000000000000000000000000000000000000000000" + "00010c"},
	} {
		want, err := hex.DecodeString(tt.want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseJSON([]byte(tt.text))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s\n got %x (%v)\nwant %x", tt.text, got, err, want)
		}
	}
}

func TestParseJSONRefuses(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{``, "EOF"},
		{`[]`, "a JSON array does not fit here"},
		{`{"ctrl":"ACK"} {}`, "something after"},
		{`{}`, `"ctrl", the name of the control code, is missing`},
		{`{"ctrl":"NACK"}`, `no control code "NACK"`},
		{`{"ctrl":"ACK","code":4}`, "ctrl ACK is not code 4"},
		{`{"ctrl":"ACK","flags":["WINDY"]}`, `no flag "WINDY"`},
		{`{"ctrl":"ACK","flags":["UNRELIABLE"],"flags_raw":0}`, "flags_raw is 0x00"},
		{`{"ctrl":"ACK","token":"a0"}`, "32 hexadecimal digits"},
		{`{"ctrl":"ACK","token":"xx"}`, `"xx" is not hexadecimal`},
		{`{"ctrl":"ACK","token":"abc"}`, `"abc" is not hexadecimal`},
		{`{"ctrl":"LOGIN_CHALLENGE","payload":{"challenge":"` + strings.Repeat("zz", 32) + `"}}`, `zz" is not hexadecimal`},
		{`{"ctrl":"ACK","colour":"red"}`, `unknown field "colour"`},
		{`{"ctrl":"ACK","payload":{"square":1}}`, `payload of ACK: json: unknown field "square"`},
		{`{"ctrl":"PLAYER_MOVE","payload":{"uci":"e2e4e2e"}}`, "at most 6 bytes"},
		{`{"ctrl":"LOGIN_CHALLENGE","payload":{"challenge":"80"}}`, "wrong number of hexadecimal digits"},
		{`{"ctrl":"PLAYER_STATS_DATA","payload":{"score":{"hex":"00"}}}`, "wrong number of hexadecimal digits"},
		{`{"ctrl":"ACK","ext":[{"key":"k","type":"colour","value":1}]}`, `ext 0: invalid packet: unknown type "colour"`},
		{`{"ctrl":"ACK","ext":[{"key":"k","type":"int"}]}`, `field "k" has no value`},
		{`{"ctrl":"ACK","ext":[{"key":"k","type":"int","value":1.5}]}`, "1.5 is not a whole number"},
		{`{"ctrl":"ACK","board_id":-1}`, "-1 is not a whole number"},
		{`{"ctrl":"ACK","seq":4294967296}`, "a JSON number 4294967296 does not fit seq"},
		{`{"ctrl":"PLAYER_MOVE","payload":{"uci":7}}`, "a JSON number does not fit"},
		{`{"ctrl":"ACK","ext":[{"key":"","type":"int","value":1}]}`, "1 to 63 bytes"},
		{`{"ctrl":"ACK","fragment":{"chunk_count":1}}`, "does not travel in fragments"},
		{`{"ctrl":"ERROR","fragment":{"chunk_count":0}}`, "not one of its transfer's chunks"},
		{`{"ctrl":"ERROR","fragment":{"version":2,"chunk_count":1}}`, "unknown version"},
		{`{"ctrl":"ERROR","fragment":{"hash_algo":2,"chunk_count":1}}`, "unknown hash"},
		{`{"ctrl":"ERROR","fragment":{"chunk_count":1,"chunk_len":3,"chunk":"00"}}`, "differ in length"},
		{`{"ctrl":"ACK","seq":8,"raw":"0500010000000000000000000000000000000000000000000000000000000007000000"}`, "different packets"},
		{`{"ctrl":"ACK","raw":"05"}`, "raw: invalid packet"},
	} {
		got, err := ParseJSON([]byte(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s\n got %x, %v\nwant an error with %q", tt.text, got, err, tt.want)
		}
	}
}
