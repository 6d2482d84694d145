package control

import (
	"fmt"
	"strings"
	"sync"

	"github.com/sluice-hpc/sluice/elastic"
)

// Denial is a request that was refused because of its caller. Each is reported to
// Options.Denied.
type Denial struct {
	Caller Caller        // as far as it is known
	From   string        // address over TCP; "" on the socket
	Verb   string        // "" if the request was not read that far
	Job    elastic.JobID // 0 = none
	Order  string        // of direct: the order
	Why    string
	// Missed is how many further denials of the same kind from the same node were counted but
	// not reported since the last report. Only denials by munge are counted so: no user is
	// known that limits could apply to.
	Missed int
}

// String returns the denial on one line of printable characters.
func (d Denial) String() string {
	who := fmt.Sprintf("uid %d", d.Caller.UID)
	if d.Caller == (Caller{}) && d.From != "" {
		who = "an unknown user"
	}
	var b strings.Builder
	b.WriteString(who)
	if d.Caller.Via != "" {
		b.WriteString(" (through " + d.Caller.Via + ")")
	}
	if d.From != "" {
		b.WriteString(" on " + d.From)
	}
	if d.Verb != "" {
		b.WriteString(" may not " + d.Verb)
	}
	if d.Job != 0 {
		fmt.Fprintf(&b, " job %d", d.Job)
	}
	return b.String() + ": " + d.Why
}

// denied reports a denial. Those of users are all reported, since other limits bound them.
// Those of nodes are reported at a rate that cannot fill a disk, with the number of the others.
func (s *Server) denied(d Denial) {
	o := s.options.Load()
	if d.Caller == (Caller{}) && d.From != "" {
		if !s.unknown.take(d.From, o.Now()) {
			s.missed.add(d.From)
			return
		}
		d.Missed = s.missed.take(d.From)
	}
	o.Denied(d)
}

// tally counts by node.
type tally struct {
	mu sync.Mutex
	of map[string]int
}

func (t *tally) add(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil || len(t.of) > most {
		t.of = map[string]int{}
	}
	t.of[key]++
}

func (t *tally) take(key string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.of[key]
	delete(t.of, key)
	return n
}
