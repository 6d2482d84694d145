package replay

import "time"

// endings is a heap of when jobs end, the next first.
type endings []ending

type ending struct {
	at  time.Duration
	job int32 // index in the workload
}

func (h ending) before(o ending) bool { return h.at < o.at || h.at == o.at && h.job < o.job }

func (h *endings) push(e ending) {
	*h = append(*h, e)
	for i := len(*h) - 1; i > 0; {
		up := (i - 1) / 2
		if !(*h)[i].before((*h)[up]) {
			break
		}
		(*h)[i], (*h)[up] = (*h)[up], (*h)[i]
		i = up
	}
}

func (h *endings) pop() ending {
	old := *h
	top, last := old[0], len(old)-1
	old[0] = old[last]
	*h = old[:last]
	for i := 0; ; {
		least := i
		for k := 2*i + 1; k <= 2*i+2 && k < last; k++ {
			if old[k].before(old[least]) {
				least = k
			}
		}
		if least == i {
			return top
		}
		old[i], old[least] = old[least], old[i]
		i = least
	}
}
