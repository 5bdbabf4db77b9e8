package lisp

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// language returns the forms of the language.
func language() map[string]Form {
	return map[string]Form{
		"def":      formDef,
		"defn":     formDefn,
		"defmacro": formDefmacro,
		"do":       func(c *Call) (Value, error) { return c.body(c.Args, c.Pos, c.Env) },
		"quote":    formQuote,
		"let":      formLet,
		"if":       formIf,
		"when":     formWhen,
		"and":      formAnd,
		"or":       formOr,
		"not":      formNot,
		"+":        formAdd,
		"-":        formSubtract,
		"*":        formMultiply,
		"/":        formDivide,
		"=":        formEqual,
		"<":        comparison(func(order int) bool { return order < 0 }),
		">":        comparison(func(order int) bool { return order > 0 }),
		"<=":       comparison(func(order int) bool { return order <= 0 }),
		">=":       comparison(func(order int) bool { return order >= 0 }),
		"str":      formStr,
		"int":      formInt,
		"getenv":   formGetenv,
	}
}

// Names returns the names of the forms of the language, sorted.
func Names() []string { return slices.Sorted(maps.Keys(language())) }

func count(n int, noun string) string {
	if n == 1 {
		return "one " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// want returns an error unless the number of arguments is between low and high; high of -1 is
// no bound.
func (c *Call) want(low, high int, usage string) error {
	if len(c.Args) < low || high >= 0 && len(c.Args) > high {
		return c.Pos.Errorf("`%s` is written %s", c.Name, usage)
	}
	return nil
}

func formDef(c *Call) (Value, error) {
	if err := c.want(2, 2, "(def name value)"); err != nil {
		return Value{}, err
	}
	name := c.Args[0]
	if name.Kind != Symbol {
		return Value{}, name.Pos.Errorf("`def` needs a name, this is %s", name.Kind)
	}
	v, err := c.Eval(1)
	if err != nil {
		return Value{}, err
	}
	if v.Kind == Func && v.Func.form != nil {
		return Value{}, c.Args[1].Pos.Errorf("`%s` is a form of the language and no value", v.Func.Name)
	}
	return c.bind(name, v, c.Args[1].Pos)
}

// bind defines name in the scope of the call. It warns if that replaces a definition that was
// never read, or if a predefined name is redefined in a local scope.
func (c *Call) bind(name, v Value, valueAt Pos) (Value, error) {
	if err := c.alloc(name.Pos, valueSize); err != nil {
		return Value{}, err
	}
	if old := c.Env.Own(name.Text); old != nil && !old.Used && !old.NameAt.IsZero() && !c.Quiet(old.NameAt) {
		_, line, _ := name.Pos.Place()
		c.Warn(old.NameAt.Errorf("`%s` is defined again in line %d, this value is never used", name.Text, line))
	}
	if preset := c.Global.parent.Own(name.Text); preset != nil && preset.Value.Kind != Func && c.Env.local &&
		!c.Quiet(name.Pos) {
		c.Warn(name.Pos.Errorf("`%s` is defined inside a function or let and has no effect outside of it", name.Text))
	}
	c.Env.Define(name.Text, v, name.Pos, valueAt)
	return nilAt(c.Pos), nil
}

func formDefn(c *Call) (Value, error) { return c.define(false, "(defn name (parameters) body…)") }
func formDefmacro(c *Call) (Value, error) {
	return c.define(true, "(defmacro name (parameters) body…)")
}

func (c *Call) define(macro bool, usage string) (Value, error) {
	if err := c.want(2, -1, usage); err != nil {
		return Value{}, err
	}
	name, params := c.Args[0], c.Args[1]
	if name.Kind != Symbol {
		return Value{}, name.Pos.Errorf("`%s` needs a name, this is %s", c.Name, name.Kind)
	}
	if params.Kind != List && params.Kind != Nil {
		return Value{}, params.Pos.Errorf("`%s` is written %s", c.Name, usage)
	}
	fn := &Function{Name: name.Text, macro: macro, body: c.Args[2:], env: c.Env}
	for _, p := range params.Items {
		if p.Kind != Symbol {
			return Value{}, p.Pos.Errorf("a parameter is a name, this is %s", p.Kind)
		}
		if slices.Contains(fn.params, p.Text) {
			return Value{}, p.Pos.Errorf("the parameter `%s` is named twice", p.Text)
		}
		fn.params = append(fn.params, p.Text)
	}
	return c.bind(name, functionAt(c.Pos, fn), c.Pos)
}

func formQuote(c *Call) (Value, error) {
	if err := c.want(0, 1, "(quote value)"); err != nil || len(c.Args) == 0 {
		return Value{}, err
	}
	return c.Args[0], nil
}

// formLet is (let ((name value) …) body…); each value can use the names before it.
func formLet(c *Call) (Value, error) {
	const usage = "(let ((name value) …) body…)"
	if err := c.want(1, -1, usage); err != nil {
		return Value{}, err
	}
	if err := c.alloc(c.Pos, envSize+valueSize*len(c.Args[0].Items)); err != nil {
		return Value{}, err
	}
	local := newLocal(c.Env)
	if k := c.Args[0].Kind; k != List && k != Nil {
		return Value{}, c.Args[0].Pos.Errorf("`let` is written %s", usage)
	}
	for _, pair := range c.Args[0].Items {
		if pair.Kind != List || len(pair.Items) != 2 || pair.Items[0].Kind != Symbol {
			return Value{}, pair.Pos.Errorf("`let` is written %s", usage)
		}
		v, err := c.Evaluate(pair.Items[1], local)
		if err != nil {
			return Value{}, err
		}
		local.Define(pair.Items[0].Text, v, pair.Items[0].Pos, pair.Items[1].Pos)
	}
	return c.body(c.Args[1:], c.Pos, local)
}

func formIf(c *Call) (Value, error) {
	if err := c.want(2, 3, "(if condition then else)"); err != nil {
		return Value{}, err
	}
	cond, err := c.Eval(0)
	switch {
	case err != nil:
		return Value{}, err
	case cond.True():
		return c.Eval(1)
	case len(c.Args) == 3:
		return c.Eval(2)
	}
	return Value{}, nil
}

func formWhen(c *Call) (Value, error) {
	if err := c.want(1, -1, "(when condition body…)"); err != nil {
		return Value{}, err
	}
	cond, err := c.Eval(0)
	if err != nil || !cond.True() {
		return Value{}, err
	}
	return c.body(c.Args[1:], c.Pos, c.Env)
}

// formAnd returns the first value that is false, or the last value.
func formAnd(c *Call) (Value, error) { return c.until(false, intAt(c.Pos, 1)) }

// formOr returns the first value that is true, or the last value: (or (getenv "PORT") "8888").
func formOr(c *Call) (Value, error) { return c.until(true, intAt(c.Pos, 0)) }

func (c *Call) until(stop bool, last Value) (Value, error) {
	for i := range c.Args {
		var err error
		if last, err = c.Eval(i); err != nil || last.True() == stop {
			return last, err
		}
	}
	return last, nil
}

func formNot(c *Call) (Value, error) {
	if err := c.want(1, 1, "(not value)"); err != nil {
		return Value{}, err
	}
	v, err := c.Eval(0)
	return truth(c.Pos, !v.True()), err
}

// formStr joins strings and numbers.
func formStr(c *Call) (Value, error) {
	var b strings.Builder
	for i := range c.Args {
		v, err := c.Eval(i)
		if err != nil {
			return Value{}, err
		}
		var text string
		switch v.Kind {
		case String, Symbol:
			text = v.Text
		case Int, Float:
			text = v.String()
		case Nil:
		default:
			return Value{}, c.Args[i].Pos.Errorf("`str` joins strings and numbers, this is %s", v.Kind)
		}
		if err := c.alloc(c.Pos, len(text)); err != nil {
			return Value{}, err
		}
		b.WriteString(text)
	}
	return stringAt(c.Pos, b.String()), nil
}

// formInt converts a string or an integral float to a whole number, so that ports can come from
// the environment.
func formInt(c *Call) (Value, error) {
	if err := c.want(1, 1, "(int value)"); err != nil {
		return Value{}, err
	}
	v, err := c.Eval(0)
	if err != nil {
		return Value{}, err
	}
	switch v.Kind {
	case Int:
		return v, nil
	case Float:
		if n, ok := Integral(v.Float); ok {
			return intAt(c.Pos, n), nil
		}
	case String:
		if n, err := strconv.ParseInt(strings.TrimSpace(v.Text), 10, 64); err == nil {
			return intAt(c.Pos, n), nil
		}
	}
	return Value{}, c.Args[0].Pos.Errorf("this is not a whole number")
}

// Integral returns f as an integer if it is one.
func Integral(f float64) (int64, bool) {
	const limit = 1 << 63
	if f != math.Trunc(f) || f < -limit || f >= limit {
		return 0, false
	}
	return int64(f), true
}

func formGetenv(c *Call) (Value, error) {
	if err := c.want(1, 1, `(getenv "NAME")`); err != nil {
		return Value{}, err
	}
	v, err := c.Eval(0)
	if err != nil {
		return Value{}, err
	}
	if v.Kind != String {
		return Value{}, c.Args[0].Pos.Errorf(`the name of an environment variable is a string, this is %s`, v.Kind)
	}
	text := strings.ToValidUTF8(c.getenv(v.Text), "\ufffd")
	return stringAt(c.Pos, text), c.alloc(c.Pos, len(text))
}
