package bound

import "container/heap"

// remaining is the jobs on one machine, that with least left to do first.
type remaining []rest

type rest struct{ left, submit float64 } // seconds

// Len and the other four methods are for package heap.
func (r remaining) Len() int { return len(r) }

// Less puts the job with least left to do first.
func (r remaining) Less(a, b int) bool { return r[a].left < r[b].left }

// Swap exchanges two jobs.
func (r remaining) Swap(a, b int) { r[a], r[b] = r[b], r[a] }

// Push adds a job at the end.
func (r *remaining) Push(x any) { *r = append(*r, x.(rest)) }

// Pop takes the last one out.
func (r *remaining) Pop() any {
	last := (*r)[len(*r)-1]
	*r = (*r)[:len(*r)-1]
	return last
}

func (r *remaining) add(left, submit float64) { heap.Push(r, rest{left, submit}) }

// run lets the machine work from now until then and sums the JCTs of the jobs
// that end.
func (r *remaining) run(now, then float64) float64 {
	sum := 0.0
	for len(*r) > 0 {
		first := &(*r)[0]
		if now+first.left > then {
			first.left -= then - now // still the least
			break
		}
		now += first.left
		sum += now - first.submit
		heap.Pop(r)
	}
	return sum
}
