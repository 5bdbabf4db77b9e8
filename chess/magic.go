package chess

import "math/bits"

// A rook or bishop sees along its lines up to and including the first piece.
// magic maps the pieces that matter for one square to an index without
// collisions that would hurt: multiply, keep the top bits, look up.
type magic struct {
	mask   uint64 // the squares whose occupation matters: the rim is left out
	factor uint64
	base   uint32 // of this square's part of the table
	shift  uint8  // 64 − number of bits in mask
}

var (
	rookMagic   [64]magic
	bishopMagic [64]magic
	rookTable   [102400]uint64
	bishopTable [5248]uint64
)

// rookAttacks returns the squares that a rook on square sees.
func rookAttacks(square int, occupied uint64) uint64 {
	m := &rookMagic[square&63]
	return rookTable[m.base+uint32((occupied&m.mask)*m.factor>>(m.shift&63))]
}

// bishopAttacks returns the squares that a bishop on square sees.
func bishopAttacks(square int, occupied uint64) uint64 {
	m := &bishopMagic[square&63]
	return bishopTable[m.base+uint32((occupied&m.mask)*m.factor>>(m.shift&63))]
}

// fillMagics fills one table. Every square lies on two crossing lines; what
// is seen along one does not depend on the other, so the table is the union
// of two short lists. This takes about a quarter of a millisecond.
func fillMagics(magics *[64]magic, table []uint64, factors *[64]uint64, lines func(square int) (a, b uint64)) {
	base := 0
	for square := range 64 {
		lineA, lineB := lines(square)
		maskA, maskB := inner(square, lineA), inner(square, lineB)
		m := &magics[square]
		*m = magic{
			mask:   maskA | maskB,
			factor: factors[square],
			base:   uint32(base),
			shift:  uint8(64 - bits.OnesCount64(maskA|maskB)),
		}
		part := table[base : base+1<<(64-m.shift)]
		for a := uint64(0); ; {
			seenA := lineAttacks(square, a, lineA)
			for b := uint64(0); ; {
				part[(a|b)*m.factor>>m.shift] = seenA | lineAttacks(square, b, lineB)
				if b = (b - maskB) & maskB; b == 0 {
					break
				}
			}
			if a = (a - maskA) & maskA; a == 0 {
				break
			}
		}
		base += len(part)
	}
}

// lineAttacks returns what is seen from square along one line (a rank, file
// or diagonal without the square itself): subtracting twice the own bit from
// the blockers flips everything up to the first blocker above; the mirrored
// board does the same below.
func lineAttacks(square int, blockers, line uint64) uint64 {
	own := uint64(1) << square
	up := blockers - 2*own
	down := bits.Reverse64(bits.Reverse64(blockers) - 2*bits.Reverse64(own))
	return (up ^ down) & line
}

// inner drops the squares of a line where it leaves the board.
func inner(square int, line uint64) uint64 {
	rim := (rank1|rank8)&^(rank1<<(square&56)) | (fileA|fileH)&^(fileA<<(square&7))
	return line &^ rim
}

var rookMagics = [64]uint64{
	0x0080045080c00020,
	0x0040006000469000,
	0x0680100120008008,
	0x3200180410220040,
	0x4080040180060800,
	0x1100030004000802,
	0x4080020011002180,
	0x2080094100126180,
	0x8000801021804004,
	0x807040004a201000,
	0x1000808060001000,
	0x00010021000c1000,
	0x8231000438001300,
	0x1c90800200840080,
	0x0003000200010004,
	0x0000800051000f80,
	0x900182800722c004,
	0xc090808040002001,
	0x0210410010200502,
	0x2001010010008a22,
	0x9001450008010050,
	0x182a08010420c010,
	0x2068140002300801,
	0x0805420008c52084,
	0x0000c00880008020,
	0x0001600280400280,
	0x90e0100080600082,
	0x0000302200084200,
	0x08080041400c0200,
	0x5000020080040080,
	0x2000410400228810,
	0x00100c0200104183,
	0xc10c400020800881,
	0x8080200080804000,
	0x0028811008802000,
	0x8110022009001300,
	0x0880804800800401,
	0x8009800a00800401,
	0x0020020804001001,
	0x82000422820000c3,
	0x2021004480050020,
	0x002020100040c00b,
	0x8084200041010050,
	0x3100090030010020,
	0x0000840008008080,
	0x0280040002008080,
	0x2001220190440008,
	0x0000440250820001,
	0x8480014014208880,
	0x6008200040028080,
	0x2502a08040120200,
	0x0411002008100100,
	0x8783001066080100,
	0xc140620084008080,
	0x2404011208100400,
	0x0028028104244200,
	0x0000800110204101,
	0x0080400411008221,
	0x0000200040110109,
	0x1081089001002005,
	0x109200a004083006,
	0x2282003405083066,
	0x8010008846100104,
	0x1040008104002042,
}
var bishopMagics = [64]uint64{
	0x0c20200082008029,
	0x0010010805808143,
	0x0408008d02002001,
	0x008c304208000843,
	0x4204042000004000,
	0x000301484000a000,
	0x2404060304600018,
	0x0800a22c02201040,
	0x0102122011430200,
	0x00000c0424040020,
	0x2000080181060401,
	0x2109040400820400,
	0x4200021210000025,
	0x0008320210044000,
	0x0000014210242040,
	0xa102090401214880,
	0x800e001050100100,
	0x200d240a10040100,
	0x013000080040400c,
	0x8014001801212240,
	0x0004000822080100,
	0x100601050080b400,
	0x0004000104095402,
	0x0078420a02122100,
	0x0a8c20808c383020,
	0x045950008c040800,
	0x0201038050040840,
	0x8890040080401021,
	0x0001001001004000,
	0x800a002002009000,
	0x1000820c01095004,
	0x0048404200842402,
	0x0051084800602008,
	0x4104022904029000,
	0x000c022406880040,
	0x1800400860320200,
	0x0082008024060200,
	0x4020040100009882,
	0x0010420bc0060101,
	0x0010908208810100,
	0x0418060b30082080,
	0x0213040104062182,
	0x4009002101011000,
	0x0800112038000101,
	0x020481aa0c088200,
	0x18c1020801100200,
	0x00604400ca000080,
	0x6041060226000040,
	0x0912280128280001,
	0x0004440201100000,
	0x2800010088900401,
	0x0040000142160010,
	0x0101000821030040,
	0x088b210202020088,
	0x010a101002850600,
	0x0020020081010060,
	0x010082430090400e,
	0x0000420210820844,
	0x201000110088044c,
	0x0480020004840400,
	0x8008280040104120,
	0x3011502004500084,
	0x082a102410141450,
	0x0004482a83041100,
}
