package lisp

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"
)

// numbers evaluates all arguments of an operator, which must be numbers. whole says that all
// are integers.
func (c *Call) numbers() (args []Value, whole bool, err error) {
	whole = true
	args = make([]Value, len(c.Args))
	for i := range c.Args {
		v, err := c.Eval(i)
		if err != nil {
			return nil, false, err
		}
		if v.Kind != Int && v.Kind != Float {
			return nil, false, c.notNumber(i, v)
		}
		whole = whole && v.Kind == Int
		args[i] = v
	}
	return args, whole, nil
}

func (c *Call) notNumber(i int, v Value) error {
	e := c.Args[i].Pos.Errorf("`%s` needs numbers, this is %s", c.Name, v.Kind)
	if v.Kind == String {
		e.WithHint("(int …) makes a number of a string")
	}
	return e
}

// fold combines numbers from the left: exactly if all are integers, else as floats.
func (c *Call) fold(args []Value, whole bool, exact func(a, b int64) (int64, bool),
	approx func(a, b float64) float64) (Value, error) {
	acc := args[0]
	for _, arg := range args[1:] {
		if whole {
			n, ok := exact(acc.Int, arg.Int)
			if !ok {
				return Value{}, c.overflow()
			}
			acc = intAt(c.Pos, n)
			continue
		}
		a, _ := acc.Number()
		b, _ := arg.Number()
		acc = Value{Kind: Float, Pos: c.Pos, Float: approx(a, b)}
		if math.IsInf(acc.Float, 0) || math.IsNaN(acc.Float) {
			return Value{}, c.overflow()
		}
	}
	return acc, nil
}

func (c *Call) overflow() error {
	return c.Pos.Errorf("the result of `%s` is too large", c.Name)
}

func formAdd(c *Call) (Value, error) {
	return c.sum(0, addExact, func(a, b float64) float64 { return a + b })
}

func formMultiply(c *Call) (Value, error) {
	return c.sum(1, multiplyExact, func(a, b float64) float64 { return a * b })
}

// sum folds the arguments onto a neutral element, so that (+) is 0 and (*) is 1.
func (c *Call) sum(neutral int64, exact func(a, b int64) (int64, bool), approx func(a, b float64) float64) (Value,
	error) {
	args, whole, err := c.numbers()
	if err != nil {
		return Value{}, err
	}
	return c.fold(append([]Value{intAt(c.Pos, neutral)}, args...), whole, exact, approx)
}

// formSubtract subtracts from the first argument; it negates a single one.
func formSubtract(c *Call) (Value, error) {
	if err := c.want(1, -1, "(- number …)"); err != nil {
		return Value{}, err
	}
	args, whole, err := c.numbers()
	if err != nil {
		return Value{}, err
	}
	if len(args) == 1 {
		args = []Value{intAt(c.Pos, 0), args[0]}
	}
	return c.fold(args, whole, subtractExact, func(a, b float64) float64 { return a - b })
}

// formDivide is exact if the integers divide: (/ 250000 1000) is 250 and (/ 7 2) is 3.5.
func formDivide(c *Call) (Value, error) {
	if err := c.want(1, -1, "(/ number …)"); err != nil {
		return Value{}, err
	}
	args, _, err := c.numbers()
	if err != nil {
		return Value{}, err
	}
	acc := args[0]
	for i, arg := range args[1:] {
		if d, _ := arg.Number(); d == 0 {
			return Value{}, c.Args[i+1].Pos.Errorf("division by zero")
		}
		whole := acc.Kind == Int && arg.Kind == Int && acc.Int%arg.Int == 0
		if acc, err = c.fold([]Value{acc, arg}, whole, divideExact,
			func(a, b float64) float64 { return a / b }); err != nil {
			return Value{}, err
		}
	}
	return acc, nil
}

func addExact(a, b int64) (int64, bool) {
	sum := a + b
	return sum, (sum > a) == (b > 0)
}

func subtractExact(a, b int64) (int64, bool) {
	diff := a - b
	return diff, (diff < a) == (b > 0)
}

func multiplyExact(a, b int64) (int64, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	product := a * b
	negative := (a < 0) != (b < 0)
	if negative {
		return product, hi == 0 && lo <= 1<<63
	}
	return product, hi == 0 && lo < 1<<63
}

func divideExact(a, b int64) (int64, bool) { return a / b, a != math.MinInt64 || b != -1 }

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// formEqual compares numbers with numbers, strings with strings, names with names and nil with
// nil; all other pairs are unequal. Floats are equal within 1e-9.
func formEqual(c *Call) (Value, error) {
	if err := c.want(2, -1, "(= value value …)"); err != nil {
		return Value{}, err
	}
	first, err := c.Eval(0)
	if err != nil {
		return Value{}, err
	}
	equal := true
	for i := 1; i < len(c.Args); i++ {
		v, err := c.Eval(i)
		if err != nil {
			return Value{}, err
		}
		equal = equal && same(first, v)
	}
	return truth(c.Pos, equal), nil
}

func same(a, b Value) bool {
	_, aNumber := a.Number()
	_, bNumber := b.Number()
	switch {
	case a.Kind == Float && b.Kind == Float:
		return math.Abs(a.Float-b.Float) <= 1e-9
	case aNumber && bNumber:
		return order(a, b) == 0
	case a.Kind == b.Kind && (a.Kind == String || a.Kind == Symbol):
		return a.Text == b.Text
	}
	return a.Kind == Nil && b.Kind == Nil
}

// order compares two numbers exactly, of any kinds.
func order(a, b Value) int {
	if a.Kind == Int && b.Kind == Int {
		return cmp.Compare(a.Int, b.Int)
	}
	return rational(a).Cmp(rational(b))
}

func rational(v Value) *big.Float {
	f := new(big.Float).SetPrec(1100)
	if v.Kind == Int {
		return f.SetInt64(v.Int)
	}
	return f.SetFloat64(v.Float)
}

// comparison returns a form that is 1 if holds is true for every pair of neighbours: (< 1 2 3).
func comparison(holds func(order int) bool) Form {
	return func(c *Call) (Value, error) {
		if err := c.want(2, -1, "("+c.Name+" number number …)"); err != nil {
			return Value{}, err
		}
		args, _, err := c.numbers()
		if err != nil {
			return Value{}, err
		}
		for i := range args[1:] {
			if !holds(order(args[i], args[i+1])) {
				return truth(c.Pos, false), nil
			}
		}
		return truth(c.Pos, true), nil
	}
}
