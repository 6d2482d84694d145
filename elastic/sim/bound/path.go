package bound

import "math"

// market is the time axis and what GPUs cost on it.
type market struct {
	slot float64 // seconds
	// rounds says that a slot is a round: GPUs change hands between slots only, so
	// that a job that ends within one pays for the whole.
	rounds bool
	price  []float64 // by slot, a GPU-second, in seconds of completion time; then 0
	paid   []float64 // of one GPU from the start of the axis, by slot
}

// at is the price in slot i.
func (m *market) at(i int) float64 {
	if i < len(m.price) {
		return m.price[i]
	}
	return 0
}

// settle brings the running sums up to date with the prices.
func (m *market) settle() {
	m.paid = append(m.paid[:0], 0)
	for i, p := range m.price {
		m.paid = append(m.paid, m.paid[i]+p*m.slot)
	}
}

// until is what one GPU costs from the start of the axis to the end of slot i.
func (m *market) until(i int) float64 { return m.paid[min(max(i+1, 0), len(m.price))] }

// task is one job as it faces prices.
type task struct {
	submit float64 // seconds after the start of the workload
	first  float64 // the earliest moment it can have a GPU
	work   float64 // units
	menu   menu
	// restart is the seconds without work after every start and resize.
	restart float64
	keeps   float64 // GPUs it never goes below once started
	prompt  bool    // it starts at first
	// worth is where the search for the worth of a unit of work begins: what the
	// last answer ended with.
	worth []float64
}

// begin is the slot in which the task may first have a GPU.
func (t *task) begin(m *market) int { return int(t.first / m.slot) }

// quickest is the earliest end there can be.
func (t *task) quickest() float64 {
	return t.first + t.restart + t.work/t.menu.best().speed
}

// end is an outcome of a path that ends in a slot: the least of cost - worth*work,
// and the work done on the path that gives it.
type end struct{ value, work float64 }

// path is the best a task can do at one worth of a unit of work, by slot of its
// end; slots are counted from the task's first.
type path struct {
	worth      float64
	soon, late []end // for an end at the start and at the end of the slot
	// entered[i*sizes+k] says that size k was resumed at the start of slot i, not
	// carried over; from[i] is the size at the end of slot i-1 that gives the best
	// start into slot i: an index, or idle, or none.
	entered []bool
	from    []int16
	// head and tail are the sizes of the ends in soon and late.
	head, tail []int16

	states []state
	at     []end // by size: what the best way to be at it has earned, and done
}

// state is a size at one worth of work.
type state struct {
	size
	earns      float64 // a second
	lost, loss float64 // by a restart: units, and their worth
}

// never is earned by no path.
var never = end{value: math.Inf(-1)}

const (
	none = int16(-1) // not started yet
	idle = int16(-2) // started, and without work in the slot before
)

// walk fills the path for n slots. For a fixed worth of work each size is a state:
// staying in it earns worth*speed - price*GPUs a second, getting into it costs the
// work of a restart. What it finds is an upper bound on what any schedule earns:
// changes in the middle of a slot earn no more than at its better end, and a
// restart that is broken off counts as the whole restart only where waiting
// without work, which costs no more, is counted too.
func (p *path) walk(t *task, m *market, worth float64, n int) {
	p.reset(t, worth, n)
	best, from := never, none // among the started ways into the slot
	total := worth * t.work
	begin := t.begin(m)
	for i := range n {
		start := max(float64(begin+i)*m.slot, t.first)
		stop := float64(begin+i+1) * m.slot
		length, price := stop-start, m.at(begin+i)
		base := best
		if i == 0 || base.value < 0 && !t.prompt {
			base, from = end{}, none
		}
		p.from[i] = from
		soon, late := p.through(i, base, length, price*length, m.rounds)
		p.soon[i] = end{start - t.submit + total - soon.value, soon.work}
		p.late[i] = end{stop - t.submit + total - late.value, late.work}
		if i == 0 && t.prompt {
			best = end{} // a start that is broken off at once
		}
		// Standing idle is free, or costs what the task keeps.
		best.value -= price * length * t.keeps
		from = idle
		if late.value > best.value {
			best, from = late, p.tail[i]
		}
	}
}

// through takes all sizes through slot i, from the best way into it, and returns
// the best a path has earned at its start, already working, and at its end. paid is
// the price of a GPU for the slot.
func (p *path) through(i int, base end, length, paid float64, whole bool) (soon, late end) {
	soon, late = never, never
	advance := paid // due at the start
	if !whole {
		advance = 0
	}
	head, tail := 0, 0
	entered := p.entered[i*len(p.at) : (i+1)*len(p.at)]
	for k := range p.at {
		q, s := &p.at[k], &p.states[k]
		if v := base.value - s.loss; v > q.value {
			q.value, q.work = v, base.work-s.lost
			entered[k] = true
		}
		if v := q.value - advance*s.gpus; v > soon.value {
			soon, head = end{v, q.work}, k
		}
		q.value += s.earns*length - paid*s.gpus
		q.work += s.speed * length
		if q.value > late.value {
			late, tail = *q, k
		}
	}
	p.head[i], p.tail[i] = int16(head), int16(tail)
	return soon, late
}

// reset makes room for n slots and works out what the sizes earn.
func (p *path) reset(t *task, worth float64, n int) {
	p.worth = worth
	p.soon, p.late = fit(p.soon, n), fit(p.late, n)
	p.from, p.head, p.tail = fit(p.from, n), fit(p.head, n), fit(p.tail, n)
	p.entered = fit(p.entered, n*len(t.menu))
	clear(p.entered)
	p.at, p.states = p.at[:0], p.states[:0]
	for _, s := range t.menu {
		p.at = append(p.at, never)
		lost := s.speed * t.restart
		p.states = append(p.states, state{size: s, earns: worth * s.speed, lost: lost, loss: worth * lost})
	}
}

func fit[T any](old []T, n int) []T {
	if cap(old) < n {
		return make([]T, n, n+n/4)
	}
	return old[:n]
}
