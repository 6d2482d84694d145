package fake

import (
	"container/heap"
	"time"
)

// event is a scheduled function. A cancelled one stays in the queue and does nothing.
type event struct {
	at   time.Time
	seq  uint64
	do   func()
	dead bool
}

// queue orders events by time, then by order of scheduling.
type queue struct {
	heap eventHeap
	seq  uint64
}

func (q *queue) push(at time.Time, do func()) *event {
	q.seq++
	e := &event{at: at, seq: q.seq, do: do}
	heap.Push(&q.heap, e)
	return e
}

// next returns the time of the first live event.
func (q *queue) next() (time.Time, bool) {
	for len(q.heap) > 0 && q.heap[0].dead {
		heap.Pop(&q.heap)
	}
	if len(q.heap) == 0 {
		return time.Time{}, false
	}
	return q.heap[0].at, true
}

func (q *queue) pop() func() { return heap.Pop(&q.heap).(*event).do }

type eventHeap []*event

// Len counts cancelled events too: they leave the heap when their time comes.
func (h eventHeap) Len() int { return len(h) }

// Less puts the earliest event first, of one time in the order in which they were added: so runs repeat.
func (h eventHeap) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].seq < h[j].seq
}

// Swap needs no bookkeeping: an event is cancelled by its mark, not by its place.
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push is for container/heap; queue.push is what callers use.
func (h *eventHeap) Push(x any) { *h = append(*h, x.(*event)) }

// Pop is for container/heap. It clears the place, so that what an event holds can be collected.
func (h *eventHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return e
}
