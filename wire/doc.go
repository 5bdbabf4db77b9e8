// Package wire encodes and decodes Wamble packets. It has no sockets, no clock and no session
// state.
//
// A packet is a 34-byte header and a payload of at most 1200 bytes:
//
//	 0       1       2       3       4                    20
//	+-------+-------+-------+-------+--------------------+
//	| ctrl  | flags | vers. |   0   | token (16 bytes)   |
//	+-------+-------+-------+-------+---+---------+------+
//	| board (u64)                       | seq u32 | len u16 |
//	+-----------------------------------+---------+---------+
//	20                                  28        32        34
//	| base payload | extension trailer, or one fragment     |
//
// Its nouns, and the files that bear their names:
//
//   - Control is a control code; control.go holds the one table of them.
//   - Flags and Header are the first 34 bytes.
//   - Message is the base payload: one type for each control code, with its
//     byte table in its comment (hello.go, move.go, spectate.go, …).
//   - Field is one typed extension, Ext the ordered list of them (at most 12).
//   - Fragment is one chunk of a payload that is larger than a packet; Transfer
//     cuts such a payload, Reassembler joins it.
//   - Packet is header, message and extensions together, and the scratch space
//     that lets a loop decode without allocating.
//
// Numbers of more than one byte are big-endian, except two fields that the original swapped
// twice, so that all existing clients read them as little-endian: the code of ERROR and
// LOGIN_FAILED, and the score of PLAYER_STATS_DATA.
//
// Invariants: no input makes a decoder panic, or allocate more than a fixed multiple of its
// length; what a decoder accepts, Append encodes to a packet that decodes to the same values,
// if it fits into one; Append computes the flags 0x08 (extensions) and 0x10 (fragment).
//
// Lifetime: byte slices in a decoded packet (Text, chunks, values of fields) are views into the
// input of Packet.Decode. Decode copies the input first.
package wire
