package knapsack

// Budget is the number of steps that Choose takes at most in its search unless Solver.Budget is
// set: about 0.1 s. A step evaluates one option for one weight, and takes up to 2 bytes of
// memory.
const Budget = 20_000_000

// Answer is the result of Choose.
type Answer struct {
	OK     bool    // false if no choice fits; the other fields are then zero
	Choice []int   // the option taken of each class, valid until the Solver's next call
	Weight int     // of the choice
	Value  float64 // of the choice
	Bound  float64 // upper bound of the value of every choice that fits, up to rounding
	Gap    float64 // Bound less Value: 0 if the choice is proven optimal
	Price  float64 // value of one more unit of capacity in the linear relaxation, at least 0
	Work   int     // steps of the search
}

// chooser is the memory of Choose.
type chooser struct {
	items []item // options of all classes
	class []span // range of each class in items
	edges []edge
	base  []int32 // item of each class in the relaxed choice

	loose  int     // capacity that no choice can use
	price  float64 // value per unit of weight
	rest   int     // capacity that the relaxed choice leaves
	slight float64 // differences up to this are rounding

	best  float64 // cost of the best choice so far
	start move    // from the relaxed choice to the best one known before the search
	owner int     // the class of start
	found int     // number of stages after which a better one was found, or 0
	at    int     // and its weight above the capacity

	moves []move
	core  []member
	ahead []ahead

	loss, next []float64 // smallest loss by weight
	low        int       // weight above the capacity of the first entry
	stages     []stage
	taken      []int32 // move taken, from 1, by stage and weight
}

// Choose takes exactly one option of each class, with a total weight of at most capacity, and
// maximizes the total value. A class that may stay empty lists an option of weight 0; one that
// must not does not. An option whose value is beyond ±1e290 is never taken.
//
// The choice is optimal, up to rounding (1e-12 of the largest option), unless the search ran
// out of budget: s.Budget, or Budget if that is 0. Gap bounds its distance from the optimum.
// The same classes, capacity and budget give the same answer. Ties: a lighter option is
// preferred to a heavier one and an earlier to a later one, and of equal classes the earlier
// gets the heavier option; beyond that the answer is the first found.
//
// Without classes the answer is OK for a capacity of 0 or more, with an empty choice. A class without
// a usable option, or a capacity below the sum of the lightest ones, makes it not OK.
func (s *Solver) Choose(classes [][]Option, capacity int) Answer {
	r := s.solve(classes, capacity, false)
	if !r.ok {
		s.bound = 0
		return Answer{}
	}
	return s.answer(r)
}

// result is the result of the search.
// Values are relative to limit, as losses are: best and least are at least 0.
type result struct {
	ok    bool
	limit float64 // value of the linear relaxation
	best  float64 // difference of the best choice known from limit
	least float64 // lower bound of that difference for every choice
	work  int
}

func (r result) proven() bool { return r.least >= r.best }

// solve searches for the best choice. With none every class may be left out.
// The steps MUST be in this order: relax sets the base and the price, from which exchange gets a
// first best, and gather drops the classes that cannot improve it.
func (s *Solver) solve(classes [][]Option, capacity int, none bool) result {
	c := &s.chooser
	room, ok := c.load(classes, capacity, none)
	if !ok {
		return result{}
	}
	c.relax(room)
	limit := c.value() + c.price*float64(c.rest)
	c.exchange()
	c.gather()
	budget := s.Budget
	if budget <= 0 {
		budget = Budget
	}
	work, least := c.search(budget)
	return result{true, limit, c.best, least, work}
}

// answer returns the best choice known.
// It changes the base, so it is called once for each result.
func (s *Solver) answer(r result) Answer {
	c := &s.chooser
	c.trace()
	s.choice = grow(s.choice, len(c.base))
	a := Answer{OK: true, Choice: s.choice, Value: c.value(), Price: c.price, Work: r.work}
	for i, k := range c.base {
		s.choice[i] = int(c.items[k].index)
		a.Weight += c.items[k].Weight
	}
	a.Bound = a.Value
	if !r.proven() {
		a.Bound = max(a.Value, r.limit-r.least)
		a.Gap = a.Bound - a.Value
	}
	s.bound = a.Bound
	return a
}

// value returns the total value of the base, summed in the order of the classes.
func (c *chooser) value() (sum float64) {
	for _, k := range c.base {
		sum += c.items[k].Value
	}
	return sum
}
