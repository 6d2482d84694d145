package elastic

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// What runners say of GPUs is a user's word: it may keep a node from new jobs, but
// not many nodes and not for long, unless another user says the same.

// HealthRules bound what such words can do.
type HealthRules struct {
	// Exclude is how long after the last word against it a node gets no new job;
	// 0 = words change nothing.
	Exclude time.Duration
	// PerUser is how many nodes one user's words may keep out at a time; 0 = no
	// bound.
	PerUser int
}

// Sighting is one job's word on one GPU of a node that Slurm says the job is on.
type Sighting struct {
	Node  string
	GPU   string // what tells it from the others of the node
	Label string // the same for people
	Job   JobID
	UID   uint32
	User  string
	Unfit string // why it should run no job; "" = it is well
}

// Complaint is what one user's jobs said against one GPU.
type Complaint struct {
	Sighting    // the last
	First, Last time.Time
	// Muted: an operator trusts the node all the same, as far as this job and this
	// reason go.
	Muted bool
	// Confirmed: another user speaks against the node as well.
	Confirmed bool
}

// Health is every word that still counts, in order of node, GPU and user. It is a
// value: Hear and Trust return a changed copy.
type Health []Complaint

const (
	// maxComplaints bounds what one user's jobs can make the daemon remember.
	maxComplaints = 64
	// forgotten is when even a confirmed complaint that nobody repeats is dropped.
	forgotten = 30 * 24 * time.Hour
)

// Hear takes in what all jobs say now. A GPU that a job calls well is well, unless
// somebody says otherwise in the same moment; but what two users agree on each of them
// takes back for himself alone.
func (h Health) Hear(seen []Sighting, now time.Time, rules HealthRules) Health {
	out := slices.Clone(h)
	for i := range out { // the clock may have been set back
		c := &out[i]
		c.First, c.Last = earlier(c.First, now), earlier(c.Last, now)
	}
	out = out.current(now, rules)
	for _, s := range seen {
		if s.Unfit != "" {
			out = out.complain(s, now)
		}
	}
	out = slices.DeleteFunc(out, func(c Complaint) bool {
		return c.Last.Before(now) && slices.ContainsFunc(seen, c.takenBack)
	})
	for i := range out {
		c := &out[i]
		c.Confirmed = !c.Muted && slices.ContainsFunc(out, func(d Complaint) bool {
			return d.Node == c.Node && d.UID != c.UID && !d.Muted
		})
	}
	out = out.current(now, rules)
	slices.SortFunc(out, func(a, b Complaint) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.UID, b.UID))
	})
	return out
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// takenBack reports whether the word ends the complaint. One that an operator muted
// stays, for else the next of its kind would not be muted.
func (c Complaint) takenBack(s Sighting) bool {
	return s.Unfit == "" && s.Node == c.Node && s.GPU == c.GPU && !c.Muted && (s.UID == c.UID || !c.Confirmed)
}

// current drops what was said too long ago. h is the caller's own.
func (h Health) current(now time.Time, rules HealthRules) Health {
	return slices.DeleteFunc(h, func(c Complaint) bool { return c.expired(now, rules) })
}

// complain takes in one word against a GPU.
func (h Health) complain(s Sighting, now time.Time) Health {
	own := 0
	for i := range h {
		c := &h[i]
		if c.UID == s.UID {
			own++
		}
		if c.Node == s.Node && c.GPU == s.GPU && c.UID == s.UID {
			c.Muted = c.Muted && c.Job == s.Job && c.Unfit == s.Unfit
			c.Sighting, c.Last = s, now
			return h
		}
	}
	if own >= maxComplaints {
		return h
	}
	return append(h, Complaint{Sighting: s, First: now, Last: now})
}

func (c Complaint) expired(now time.Time, rules HealthRules) bool {
	if c.Confirmed {
		return now.Sub(c.Last) > forgotten
	}
	return now.Sub(c.Last) > max(rules.Exclude, time.Minute)
}

// Trust takes back everything said against a node, until another job or another
// reason speaks against it; false when nothing was.
func (h Health) Trust(node string) (Health, bool) {
	out, found := slices.Clone(h), false
	for i := range out {
		if out[i].Node == node {
			found = found || !out[i].Muted
			out[i].Muted, out[i].Confirmed = true, false
		}
	}
	return out, found
}

// Finding is what all words on a node come to.
type Finding struct {
	Node     string
	Excluded bool   // it gets no new job
	Why      string // what is said, for people
	Note     string // why that changes nothing; "" when it does
	By       []JobID
	// Until is when the node is tried again if nothing more is said; zero when two
	// users agree, or when it is not excluded.
	Until time.Time
}

// Findings are the nodes something is said against, in order of name.
func (h Health) Findings(rules HealthRules) []Finding {
	counted := h.counted(rules)
	var out []Finding
	for at := 0; at < len(h); {
		end := at
		for end < len(h) && h[end].Node == h[at].Node {
			end++
		}
		out = append(out, finding(h[at:end], counted[at:end], rules))
		at = end
	}
	return out
}

// counted tells which complaints may keep their node out: those not muted, about as
// many nodes a user as are his; first those another user says the same of, then those
// he spoke against first. What another's share keeps out already takes nothing of his.
func (h Health) counted(rules HealthRules) []bool {
	out := make([]bool, len(h))
	order := make([]int, len(h))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch x, y := h[a], h[b]; {
		case x.Confirmed == y.Confirmed:
			return x.First.Compare(y.First)
		case x.Confirmed:
			return -1
		}
		return 1
	})
	spent, kept := map[uint32][]string{}, map[string]bool{}
	for _, i := range order {
		c := h[i]
		if c.Muted || rules.Exclude <= 0 {
			continue
		}
		if !kept[c.Node] {
			if rules.PerUser > 0 && len(spent[c.UID]) >= rules.PerUser {
				continue
			}
			spent[c.UID], kept[c.Node] = append(spent[c.UID], c.Node), true
		}
		out[i] = true
	}
	return out
}

// finding sums up what is said against one node.
func finding(said []Complaint, counted []bool, rules HealthRules) Finding {
	f := Finding{Node: said[0].Node}
	var words []string
	confirmed := false
	for i, c := range said {
		words = addOnce(words, c.Label+": "+c.Unfit)
		f.By = addOnce(f.By, c.Job)
		if !counted[i] {
			continue
		}
		f.Excluded = true
		confirmed = confirmed || c.Confirmed
		if until := c.Last.Add(rules.Exclude); until.After(f.Until) {
			f.Until = until
		}
	}
	if more := len(words) - 3; more > 0 {
		words = append(words[:3], fmt.Sprintf("and %d more", more))
	}
	f.Why = strings.Join(words, "; ")
	switch {
	case f.Excluded && confirmed:
		f.Until = time.Time{}
	case !f.Excluded:
		f.Note = ignored(said, rules)
	}
	return f
}

func addOnce[T comparable](list []T, v T) []T {
	if slices.Contains(list, v) {
		return list
	}
	return append(list, v)
}

// ignored says why words change nothing.
func ignored(said []Complaint, rules HealthRules) string {
	switch {
	case rules.Exclude <= 0:
		return "no node is left out for such words here ([health] exclude = 0)"
	case !slices.ContainsFunc(said, func(c Complaint) bool { return !c.Muted }):
		return "an operator trusts it all the same"
	}
	if slices.ContainsFunc(said, func(c Complaint) bool { return c.Confirmed }) {
		return "the words of those who say so keep other nodes out already"
	}
	return "it is one user's word, which keeps another node out already"
}
