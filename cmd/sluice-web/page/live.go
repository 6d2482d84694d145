package page

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Watch tells what changes: it calls notify after each change until ctx ends.
type Watch func(ctx context.Context, notify func())

// maxOpen bounds the open streams of all browsers.
const maxOpen = 256

// Hub tells open pages that something has changed. It watches only while a page is open, once for
// all of them.
type Hub struct {
	watch Watch

	mu   sync.Mutex
	open map[chan struct{}]bool
	stop context.CancelFunc // of the watch; nil = it does not run
}

// NewHub returns a hub over a watch.
func NewHub(w Watch) *Hub { return &Hub{watch: w, open: map[chan struct{}]bool{}} }

var errFull = errors.New("too many pages are open")

// join returns a channel that receives after each change; one that is not read keeps one change.
func (h *Hub) join() (chan struct{}, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.open) >= maxOpen {
		return nil, errFull
	}
	c := make(chan struct{}, 1)
	h.open[c] = true
	if h.stop == nil {
		ctx, cancel := context.WithCancel(context.Background())
		h.stop = cancel
		go h.watch(ctx, h.notify)
	}
	return c, nil
}

func (h *Hub) leave(c chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if delete(h.open, c); len(h.open) == 0 && h.stop != nil {
		h.stop()
		h.stop = nil
	}
}

func (h *Hub) notify() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.open {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// Open returns how many pages follow.
func (h *Hub) Open() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.open)
}

// Bounds of a stream: a comment is sent when it is silent, and it ends after some time, so that one
// whose browser has vanished does not last; browsers come back by themselves.
const (
	breath  = 20 * time.Second
	streams = 30 * time.Minute
)

// live is the stream of one open page: server-sent events named "changed".
func (p *Pages) live(w http.ResponseWriter, r *http.Request) {
	if p.Live == nil {
		http.NotFound(w, r)
		return
	}
	changed, err := p.Live.join()
	if err != nil {
		http.Error(w, "sluice web: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer p.Live.leave(changed)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would collect the events
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Time{}) // the stream has its own bounds
	_ = control.SetReadDeadline(time.Time{})
	ctx, cancel := context.WithTimeout(r.Context(), streams)
	defer cancel()
	silent := time.NewTicker(breath)
	defer silent.Stop()
	text := ": sluice\n\n"
	for {
		if _, err := fmt.Fprint(w, text); err != nil {
			return
		}
		if control.Flush() != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
			text = "event: changed\ndata: 1\n\n"
		case <-silent.C:
			text = ":\n\n"
		}
	}
}
