package space

import (
	"fmt"
	"slices"
	"strings"
)

// Space is a checked set of parameters and constraints. It is not changed after New.
type Space struct {
	params []Parameter // as given
	order  []int       // parents of conditions before their children
	parent []int       // index of the condition's parameter, or -1
	where  []*Constraint
	at     map[string]int
}

// Parse reads the texts of all `--param` and `--where` of a sweep. The error is an *Error that
// says which text and which column.
func Parse(params, wheres []string) (*Space, error) {
	var list []Parameter
	for i, text := range params {
		p, f := parameter(text)
		if f != nil {
			return nil, f.within(Param, i, text)
		}
		list = append(list, p)
	}
	return build(list, params, wheres)
}

// New is Parse for parameters that are values already. They are written as text and read again, so
// they pass the same checks, and params stays the caller's.
func New(params []Parameter, wheres []string) (*Space, error) {
	var texts []string
	for _, p := range params {
		texts = append(texts, p.String())
	}
	return Parse(texts, wheres)
}

// build checks what no parameter can check alone: names, conditions, constraints, and whether any
// point is left. texts[i] is the text of list[i], for the columns of errors. Two names collide if
// their variables do: lr and LR, or model.lr and model_lr, are one name in the environment.
func build(list []Parameter, texts, wheres []string) (*Space, error) {
	s := &Space{params: list, at: map[string]int{}}
	if len(list) == 0 {
		return nil, wrong(0, NothingGiven, "a sweep has at least one parameter; %s", forms).within(Param, 0, "")
	}
	// variables are the first parameter of each variable, for the error about the second.
	variables := map[string]int{}
	for i, p := range list {
		if i == MaxParameters {
			return nil, wrong(0, TooLarge, "more than %d parameters", MaxParameters).within(Param, i, texts[i])
		}
		if j, taken := variables[p.Variable()]; taken {
			f := wrong(indent(texts[i]), Twice, "the parameter %s is given twice; leave one out, or give it another name", p.Name)
			if other := list[j].Name; other != p.Name {
				f = wrong(indent(texts[i]), Twice, "%s and %s would both be %s in the environment; rename one of them", other, p.Name, p.Variable())
			}
			return nil, f.within(Param, i, texts[i])
		}
		variables[p.Variable()], s.at[p.Name] = i, i
	}
	if err := s.link(texts); err != nil {
		return nil, err
	}
	if len(wheres) > MaxParameters {
		return nil, wrong(0, TooLarge, "more than %d constraints", MaxParameters).within(Where, MaxParameters, wheres[MaxParameters])
	}
	for i, text := range wheres {
		c, f := s.constraint(text)
		if f != nil {
			if f.problem == NoSuchName {
				f.said += s.called()
			}
			return nil, f.within(Where, i, text)
		}
		s.where = append(s.where, c)
	}
	return s, s.satisfiable(wheres)
}

// called lists the names that there are, for an error about one that is not.
func (s *Space) called() string {
	const most = 20
	var names []string
	for _, p := range s.params[:min(len(s.params), most)] {
		names = append(names, p.Name)
	}
	if n := len(s.params) - len(names); n > 0 {
		names = append(names, fmt.Sprintf("%d more", n))
	}
	return "; there are " + strings.Join(names, ", ")
}

// link finds the parameters that conditions name, and an order in which parents come first.
// Conditions may name parameters given later. Each pass below orders at least one more parameter
// unless the rest is a circle, so as many passes as parameters are enough (MaxParameters squared).
func (s *Space) link(texts []string) error {
	s.parent = make([]int, len(s.params))
	for i, p := range s.params {
		s.parent[i] = -1
		if p.If == nil {
			continue
		}
		at := strings.Index(texts[i], " if ") + len(" if ")
		j, found := s.at[p.If.Name]
		if !found {
			return wrong(at, NoSuchName, "no parameter is called %s%s", p.If.Name, s.called()).within(Param, i, texts[i])
		}
		for _, text := range p.If.Values {
			if !s.params[j].has(spelled(text)) {
				return wrong(at, OutOfRange, "%s is never %s: it is %s", p.If.Name, text, s.params[j]).within(Param, i, texts[i])
			}
		}
		s.parent[i] = j
	}
	// s.order: a parameter is done once its parent is, and goes behind it.
	done := make([]bool, len(s.params))
	for range s.params {
		for i := range s.params {
			if !done[i] && (s.parent[i] < 0 || done[s.parent[i]]) {
				done[i] = true
				s.order = append(s.order, i)
			}
		}
	}
	if i := slices.Index(done, false); i >= 0 {
		return wrong(0, Circle, "the condition of %s depends on %s itself", s.params[i].Name, s.params[i].Name).within(Param, i, texts[i])
	}
	return nil
}

// Parameters are those of the space, in the order in which they were given. The slice is the
// caller's; Choices and If are shared with the space and MUST NOT be changed.
func (s *Space) Parameters() []Parameter { return slices.Clone(s.params) }

// Wheres are the texts of the constraints. They are in the order given; nil if there are none.
func (s *Space) Wheres() []string {
	var texts []string
	for _, c := range s.where {
		texts = append(texts, c.text)
	}
	return texts
}

// Index is the position of the parameter in Parameters.
func (s *Space) Index(name string) (int, bool) {
	i, found := s.at[name]
	return i, found
}

// Parent is the index of the parameter that the condition of parameter i names; -1 without one.
func (s *Space) Parent(i int) int { return s.parent[i] }

// Order lists the indexes of the parameters so that Parent(i) comes before i.
func (s *Space) Order() []int { return slices.Clone(s.order) }

// Size is the number of points; +Inf if a parameter is a range without steps. Constraints and
// conditions may leave fewer. It is an upper bound: a parameter with a condition counts as if every
// point had it.
func (s *Space) Size() float64 {
	n := 1.
	for _, p := range s.params {
		n *= p.Count()
	}
	return n
}
