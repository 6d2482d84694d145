package fake

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// SetLimits replaces the site's limits. Those of associations and QOS are enforced if
// l.Enforced is set, as slurm/conform found real releases to do: a job beyond a limit
// waits with Slurm's reason, whoever wrote its size; CPUs that an operator wrote are
// exempt; running jobs are not affected; only users with an association can submit. The
// usage of a budget of minutes is the one in l. The limits of partitions and reservations
// always hold, except memory. A job that runs in a reservation ends with it.
func (f *Fake) SetLimits(l slurm.Limits) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.limits = copied(l)
	f.planReservations()
	f.schedule()
}

// Limits returns the limits that were set.
func (s *Session) Limits(ctx context.Context) (l slurm.Limits, err error) {
	err = s.call(ctx, opLimits, 0, func() *failure {
		l = copied(s.f.limits)
		for i, p := range l.Partitions {
			l.Partitions[i], _ = s.f.partition(p.Name)
		}
		l.Reserved, l.Aging = s.f.inReservations(), s.f.aging()
		return nil
	})
	return l, err
}

// aging is the configured age factor, as "scontrol show config" would show it.
func (f *Fake) aging() slurm.Aging {
	if f.cfg.AgeWeight == 0 {
		return slurm.Aging{}
	}
	return slurm.Aging{Weight: f.cfg.AgeWeight, Full: cmp.Or(f.cfg.MaxAge, fullAge)}
}

var _ slurm.Limiter = (*Session)(nil)

// copied copies the lists, and adds a usage of 0 to each budget without one.
func copied(l slurm.Limits) slurm.Limits {
	l.Associations, l.QOS = slices.Clone(l.Associations), slices.Clone(l.QOS)
	l.Partitions, l.Reservations = slices.Clone(l.Partitions), slices.Clone(l.Reservations)
	pad := func(m *slurm.Minutes) {
		m.Used = slices.Clone(m.Used)
		for _, b := range m.Budget[len(m.Used):] {
			m.Used = append(m.Used, slurm.Amount{Of: b.Of})
		}
	}
	for i := range l.Associations {
		pad(&l.Associations[i].Minutes)
	}
	for i := range l.QOS {
		pad(&l.QOS[i].Minutes)
	}
	return l
}

// enroll finds the job's account and QOS, and refuses a user without an association.
func (f *Fake) enroll(j *job) *failure {
	if j.qos == "" {
		j.qos = "normal"
	}
	if !f.limits.Enforced {
		return nil
	}
	at := slices.IndexFunc(f.limits.Associations, func(a slurm.Association) bool {
		return a.User == j.user && (j.account == "" || a.Account == j.account)
	})
	if at < 0 {
		return fail(slurm.ErrRefused, "Batch job submission failed: Invalid account or account/partition combination specified")
	}
	j.account = f.limits.Associations[at].Account
	if j.qos != "normal" && f.order(j.qos) == nil {
		return fail(slurm.ErrRefused, "Batch job submission failed: Invalid qos specification")
	}
	return nil
}

func (f *Fake) order(name string) *slurm.QOS {
	for i := range f.limits.QOS {
		if f.limits.QOS[i].Name == name {
			return &f.limits.QOS[i]
		}
	}
	return nil
}

// orders are the QOS whose limits apply to the job, in order of precedence: that of its
// partition first, unless the job's own QOS overrides it.
func (f *Fake) orders(j *job) []*slurm.QOS {
	p, _ := f.partition(j.part)
	first, second := f.order(p.QOS), f.order(j.qos)
	if second != nil && second.OverPartition {
		first, second = second, first
	}
	var out []*slurm.QOS
	for _, q := range []*slurm.QOS{first, second} {
		if q != nil && !slices.Contains(out, q) {
			out = append(out, q)
		}
	}
	return out
}

func (f *Fake) association(account, user string) *slurm.Association {
	for i := range f.limits.Associations {
		if a := &f.limits.Associations[i]; a.Account == account && a.User == user {
			return a
		}
	}
	return nil
}

// limited is the reason for which a limit keeps the job from starting; "" if none does.
func (f *Fake) limited(j *job) string {
	if !f.limits.Enforced {
		return ""
	}
	t := &test{f: f, j: j, want: f.asked(j), set: map[string]bool{}}
	for _, q := range f.orders(j) {
		t.order(q)
	}
	own := f.association(j.account, j.user)
	if own != nil {
		mine := func(o *job) bool { return o.account == j.account && o.user == j.user }
		t.group("AssocGrp", own.Group, mine)
		t.group("AssocMaxJobs", own.Own, mine)
		t.alone("AssocMax", own.Job)
		t.minutes("Assoc", own.Minutes, mine)
	}
	for name, depth := j.account, 0; name != "" && depth < 64; depth++ {
		a := f.association(name, "")
		if a == nil {
			break
		}
		below := func(o *job) bool { return f.below(o.account, a.Account) }
		t.group("AssocGrp", a.Group, below)
		t.minutes("Assoc", slurm.Minutes{Budget: a.Minutes.Budget, Used: a.Minutes.Used, Group: a.Minutes.Group}, below)
		name = a.Parent
	}
	return t.reason
}

// below reports whether an account is the other one, or a descendant of it.
func (f *Fake) below(account, top string) bool {
	for depth := 0; account != "" && depth < 64; depth++ {
		if account == top {
			return true
		}
		a := f.association(account, "")
		if a == nil {
			return false
		}
		account = a.Parent
	}
	return false
}

// test checks a job against the limits, in order of precedence.
type test struct {
	f      *Fake
	j      *job
	want   func(of string) int
	set    map[string]bool // kinds and resources that a QOS limits: limits of associations on these do not apply
	reason string          // the first limit that binds
}

// order tests the limits of the job's QOS, which take precedence over those of
// associations.
func (t *test) order(q *slurm.QOS) {
	j := t.j
	in := func(o *job) bool { return slices.Contains(t.f.orders(o), q) }
	t.group("QOSGrp", q.Group, in)
	t.group("QOSMaxPerUser", q.User, func(o *job) bool { return in(o) && o.user == j.user })
	t.group("MaxPerAccount", q.Account, func(o *job) bool { return in(o) && o.account == j.account })
	t.alone("QOSMax", q.Job)
	for _, a := range q.Least {
		t.fails(t.want(a.Of) < a.N, "QOSMin", a.Of)
	}
	t.minutes("QOS", q.Minutes, in)
	note := func(kind string, list []slurm.Amount) {
		for _, a := range list {
			t.set["QOS"+strings.TrimPrefix(kind, "Assoc")+a.Of], t.set[kind+a.Of] = true, true
		}
	}
	note("AssocGrp", q.Group)
	note("AssocMax", q.Job)
	note("AssocGrpRun", q.Minutes.Group)
	note("AssocMaxMins", q.Minutes.Job)
	note("AssocGrpMins", q.Minutes.Budget)
	if q.Minutes.Wall > 0 {
		t.set["QOSMaxWall"+slurm.OfWall], t.set["AssocMaxWall"+slurm.OfWall] = true, true
	}
}

// fails stores the reason, if it is the first one.
func (t *test) fails(beyond bool, kind, of string) {
	switch {
	case !beyond || t.reason != "" || t.set[kind+of]:
	case of == slurm.OfCPUs && t.j.cpusWritten:
	default:
		t.reason = reasonOf(kind, of)
	}
}

func (t *test) alone(kind string, list []slurm.Amount) {
	for _, a := range list {
		t.fails(t.want(a.Of) > a.N, kind, a.Of)
	}
}

// group tests what the job and the running jobs of a group would have together.
func (t *test) group(kind string, list []slurm.Amount, in func(*job) bool) {
	for _, a := range list {
		sum := t.want(a.Of)
		for _, o := range t.f.jobs {
			if o.state == slurm.Running && in(o) {
				sum += t.f.has(o, a.Of)
			}
		}
		t.fails(sum > a.N, kind, a.Of)
	}
}

// minutes tests resources times minutes; the minutes are those of the time limit.
func (t *test) minutes(of string, m slurm.Minutes, in func(*job) bool) {
	limit := t.f.limitOf(t.j)
	whole := minutesIn(limit, limit)
	t.fails(m.Wall > 0 && limit > m.Wall, of+"MaxWall", slurm.OfWall)
	for _, a := range m.Job {
		t.fails(float64(t.want(a.Of))*whole > float64(a.N), of+"MaxMins", a.Of)
	}
	run := func(resource string) float64 {
		sum := float64(t.want(resource)) * whole
		for _, o := range t.f.jobs {
			if o.state == slurm.Running && in(o) {
				sum += float64(t.f.has(o, resource)) * minutesIn(o.granted-t.f.now.Sub(o.start), o.granted)
			}
		}
		return sum
	}
	for _, a := range m.Group {
		t.fails(run(a.Of) > float64(a.N), of+"GrpRun", a.Of)
	}
	for i, a := range m.Budget {
		used := m.Used[i].N
		t.fails(used >= a.N || t.f.limits.Safe && a.Of != slurm.OfWall && float64(used)+run(a.Of) > float64(a.N), of+"GrpMins", a.Of)
	}
}

// minutesIn is the rest of a time limit in minutes; without a limit it is unbounded.
func minutesIn(left, limit time.Duration) float64 {
	if limit == 0 {
		return math.MaxUint32
	}
	return max(0, left).Minutes()
}

// asked is what a job uses once it is started.
func (f *Fake) asked(j *job) func(of string) int {
	w := j.want
	return func(of string) int {
		switch of {
		case slurm.OfGPUs:
			return w.gpus()
		case slurm.OfGPUs + ":" + w.gpuType:
			return w.gpus()
		case slurm.OfNodes:
			return w.minNodes
		case slurm.OfCPUs:
			return max(w.cpus, w.tasks*w.perTask, w.perGPU*w.gpus())
		case slurm.OfMemory:
			return w.memPerGPU * w.gpus()
		case slurm.OfBilling:
			return f.billing(j, f.asked(j))
		case slurm.OfJobs:
			return 1
		}
		return 0
	}
}

// billing is the job's billing by the weights of its partition.
func (f *Fake) billing(j *job, had func(of string) int) int {
	p, _ := f.partition(j.part)
	if len(p.Weights) == 0 {
		return had(slurm.OfCPUs)
	}
	sum, most, gres := 0., 0., 0.
	for _, w := range p.Weights {
		n := w.N * float64(had(w.Of))
		sum += n
		if strings.HasPrefix(w.Of, slurm.OfGPUs) && f.limits.Billing == slurm.BillLargestAndGRES {
			gres += n
		} else {
			most = max(most, n)
		}
	}
	if f.limits.Billing == slurm.BillSum {
		return int(sum)
	}
	return int(most + gres)
}

// has is what a running job uses.
func (f *Fake) has(j *job, of string) (n int) {
	if of == slurm.OfBilling {
		if j.billed > 0 {
			return j.billed
		}
		return f.billing(j, func(of string) int { return f.has(j, of) })
	}
	for _, s := range j.split {
		switch of {
		case slurm.OfGPUs, slurm.OfGPUs + ":" + j.want.gpuType:
			n += s.GPUs
		case slurm.OfNodes:
			n++
		case slurm.OfCPUs:
			n += j.cpusOn[s.Node]
		case slurm.OfMemory:
			n += s.GPUs * j.want.memPerGPU
		}
	}
	if of == slurm.OfJobs {
		return 1
	}
	return n
}
