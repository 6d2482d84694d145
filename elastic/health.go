package elastic

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A runner's reports on GPUs are claims of its user. They may keep new jobs off a node, but not
// off many nodes and not for long, unless another user reports the same.

// HealthRules bound the effect of such reports.
type HealthRules struct {
	// Exclude is how long after the last report against it a node gets no new job; 0 = reports
	// have no effect.
	Exclude time.Duration
	// PerUser is how many nodes one user's reports may exclude at a time; 0 = no bound.
	PerUser int
}

// Sighting is one job's report on one GPU of a node that, according to Slurm, the job is on.
type Sighting struct {
	Node  string
	GPU   string // its id among the GPUs of the node
	Label string // its name for people
	Job   JobID
	UID   uint32
	User  string
	Unfit string // why it should run no job; "" = it is well
}

// Complaint is what one user's jobs reported against one GPU.
type Complaint struct {
	Sighting    // the last report
	First, Last time.Time
	// Muted: an operator trusts the node despite reports of this job with this reason.
	Muted bool
	// Confirmed: another user reports against the node too.
	Confirmed bool
}

// Health is every report that still counts, ordered by node, GPU and user. It is a value: Hear
// and Trust return a changed copy.
type Health []Complaint

const (
	// maxComplaints bounds how many complaints of one user are kept.
	maxComplaints = 64
	// forgotten is when even a confirmed complaint is dropped if it is not repeated.
	forgotten = 30 * 24 * time.Hour
)

// Hear adds the reports that all jobs make at now. A report that a GPU is well ends the
// complaints about it, unless another report in the same call says otherwise; a complaint on
// which two users agree is ended by each of them for itself only.
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

// takenBack reports whether the report ends the complaint. A complaint that an operator muted
// stays; otherwise the next one like it would not be muted.
func (c Complaint) takenBack(s Sighting) bool {
	return s.Unfit == "" && s.Node == c.Node && s.GPU == c.GPU && !c.Muted && (s.UID == c.UID || !c.Confirmed)
}

// current drops complaints that are too old. h MUST be the caller's own copy.
func (h Health) current(now time.Time, rules HealthRules) Health {
	return slices.DeleteFunc(h, func(c Complaint) bool { return c.expired(now, rules) })
}

// complain adds one report against a GPU.
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

// expired reports whether the complaint no longer counts: a confirmed one after 30 days,
// another after Exclude, at least a minute.
func (c Complaint) expired(now time.Time, rules HealthRules) bool {
	if c.Confirmed {
		return now.Sub(c.Last) > forgotten
	}
	return now.Sub(c.Last) > max(rules.Exclude, time.Minute)
}

// Trust drops all complaints about a node, until another job or another reason comes; false if
// there were none.
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

// Finding is the result of all reports on a node.
type Finding struct {
	Node     string
	Excluded bool   // it gets no new job
	Why      string // what is reported, for people
	Note     string // why the reports have no effect; "" if they have
	By       []JobID
	// Until is when the node is used again if nothing more is reported; zero if two users
	// agree, or if it is not excluded.
	Until time.Time
}

// Findings returns the nodes with complaints, ordered by name.
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

// counted returns which complaints may exclude their node. Those that are not muted may, for at
// most PerUser nodes per user: first those that another user confirms, then by when the user
// first reported them. A node that another user's share excludes already does not use up a
// user's own share.
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

// finding sums up the complaints about one node.
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

// ignored returns why complaints have no effect.
func ignored(said []Complaint, rules HealthRules) string {
	switch {
	case rules.Exclude <= 0:
		return "reports exclude no node here ([health] exclude = 0)"
	case !slices.ContainsFunc(said, func(c Complaint) bool { return !c.Muted }):
		return "an operator trusts the node"
	}
	if slices.ContainsFunc(said, func(c Complaint) bool { return c.Confirmed }) {
		return "the users that report it exclude other nodes already"
	}
	return "only one user reports it, and excludes another node already"
}
