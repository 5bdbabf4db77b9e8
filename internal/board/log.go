package board

import "math"

// lnTable has ln(1 + i/256).
var lnTable = func() (t [257]float64) {
	for i := range t {
		t[i] = math.Log(1 + float64(i)/256)
	}
	return t
}()

// ln returns the natural logarithm of x ≥ 1, to 2e-6. Assignments take many of
// them, and do not need more.
func ln(x float64) float64 {
	bits := math.Float64bits(x)
	exponent := int(bits>>52) - 1023
	i := bits >> 44 & 255
	rest := float64(bits&(1<<44-1)) / (1 << 44)
	return float64(exponent)*math.Ln2 + lnTable[i] + rest*(lnTable[i+1]-lnTable[i])
}
