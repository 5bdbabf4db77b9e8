package lisp

// apply calls a function of the program: arguments are evaluated here, the
// body where the function was defined.
func (in *Interp) apply(fn *Function, at Pos, args []Value, env *Env) (Value, error) {
	if err := in.alloc(at, envSize+valueSize*len(fn.params)); err != nil {
		return Value{}, err
	}
	in.checkArity(fn, at, len(args))
	local := newLocal(fn.env)
	for i, param := range fn.params {
		v := nilAt(at)
		if i < len(args) {
			var err error
			if v, err = in.Evaluate(args[i], env); err != nil {
				return Value{}, err
			}
		}
		local.Define(param, v, Pos{}, v.Pos)
	}
	return in.body(fn.body, at, local)
}

// body evaluates forms in order and returns the last value.
func (in *Interp) body(forms []Value, at Pos, env *Env) (last Value, err error) {
	last = nilAt(at)
	for _, form := range forms {
		if last, err = in.Evaluate(form, env); err != nil {
			return Value{}, err
		}
	}
	return last, nil
}

// expand replaces the parameters in the macro's body by the unevaluated
// arguments and evaluates the result where the macro is used. If that gives
// a program (a quoted list), it is evaluated once more, as in the original.
func (in *Interp) expand(fn *Function, at Pos, args []Value, env *Env) (Value, error) {
	in.checkArity(fn, at, len(args))
	actual := make(map[string]Value, len(fn.params))
	for i, param := range fn.params {
		actual[param] = nilAt(at)
		if i < len(args) {
			actual[param] = args[i]
		}
	}
	body := make([]Value, len(fn.body))
	for i, form := range fn.body {
		var err error
		if body[i], err = in.substitute(form, actual, 0); err != nil {
			return Value{}, err
		}
	}
	v, err := in.body(body, at, env)
	if err != nil || v.Kind != List && v.Kind != Symbol {
		return v, err
	}
	return in.Evaluate(v, env)
}

func (in *Interp) substitute(v Value, actual map[string]Value, depth int) (Value, error) {
	if err := in.Step(v.Pos, 1); err != nil {
		return Value{}, err
	}
	switch {
	case v.Kind == Symbol:
		if a, ok := actual[v.Text]; ok {
			return a, nil
		}
	case v.Kind == List && depth >= in.limits.Depth:
		return Value{}, in.bound(v.Pos, "a macro makes lists more than %d deep", in.limits.Depth)
	case v.Kind == List:
		if err := in.alloc(v.Pos, valueSize*len(v.Items)); err != nil {
			return Value{}, err
		}
		items := make([]Value, len(v.Items))
		for i, item := range v.Items {
			var err error
			if items[i], err = in.substitute(item, actual, depth+1); err != nil {
				return Value{}, err
			}
		}
		v.Items = items
	}
	return v, nil
}

// checkArity warns: the original takes missing arguments as nil and ignores
// surplus ones.
func (in *Interp) checkArity(fn *Function, at Pos, got int) {
	if want := len(fn.params); got != want && !in.Quiet(at) {
		in.Warn(at.Errorf("`%s` takes %s, here are %d", fn.Name, count(want, "argument"), got))
	}
}
