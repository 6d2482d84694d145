package audit

import (
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Kind is what a line of slurmctld's log reports.
type Kind string

// The kinds of lines in slurmctld's log.
const (
	Submitted Kind = "submitted" // a batch job was submitted
	Changed   Kind = "changed"   // scontrol update, hold or release: one call that succeeded
	Requeued  Kind = "requeued"  // scontrol requeue or requeuehold
	Signalled Kind = "signalled" // scancel, with or without a signal
	Allocated Kind = "allocated" // a run got its nodes and GPUs
	Freed     Kind = "freed"     // the GPUs of a run were freed
	Cleaned   Kind = "cleaned"   // the last node of an ended run was cleaned up
	Booted    Kind = "booted"    // a slurmctld read the saved state: it started, or took over
	Recovered Kind = "recovered" // a job as slurmctld found it in its saved state
	Misplaced Kind = "misplaced" // a node has a run that slurmctld forgot: the job's run is an earlier one
)

// Record is one event in slurmctld's log.
type Record struct {
	Line
	Kind   Kind
	Job    int64
	UID    int64   // account that asked for it; -1 = not logged
	Change Change  // of Changed
	Signal int     // of Signalled: the signal's number
	Shares []Share // of Allocated: by node; of Recovered: in the order of its nodes, without names; of Misplaced: the node
	Runs   bool    // of Recovered: a step of it was running
	Again  bool    // of Freed: the job was requeued
}

// Change is what one scontrol call changed.
type Change struct {
	Comment, Size, Begin, Held, Released bool
	Requeueable                          bool   // Requeue was written: this is how a scheduling pass is requested
	Incarnation                          int    // of the comment written, if that is a tag of sluice
	Token                                string // likewise
}

var (
	stampForm   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\[([^\]]{19,35})\] ?(.*)$`) })
	settingForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^_update_job: set(?:ting)? (\w+)(.*) for JobId=(\d+)$`)
	})
	holdForm    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(hold on|release hold on) JobId=(\d+) by uid (\d+)`) })
	updatedForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^_slurm_rpc_update_job: (complete )?JobId=(\d+) uid=(\d+)`)
	})
	requeuerForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^Processing RPC: REQUEST_JOB_REQUEUE from (?:UID|uid)=(\d+)`)
	})
	requeuedForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^_job_requeue_op: JobId=(\d+) state`) })
	killForm     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`REQUEST_KILL_JOB JobId=(\d+) uid (\d+)`) })
	signalForm   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^job_signal: (\d+) of \w+ JobId=(\d+) successful`) })
	startForm    = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:_start_job: Started JobId=(\d+) in \S+ on (\S+)|Allocate JobId=(\d+) NodeList=(\S+) )`)
	})
	// Slurm 26.05 has no line of its own for a job that backfill starts, only these two.
	runsForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^TRACE_JOBS: select_nodes: \[JobId=(\d+)\] change state: PENDING -> RUNNING`)
	})
	laidForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^laying out the \d+ tasks on \d+ hosts (\S+) dist`)
	})
	freedForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(TRACE_JOBS: deallocate_nodes:|Requeuing) JobId=(\d+)`)
	})
	cleanedForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^TRACE_JOBS: cleanup_completing: JobId=(\d+)$`) })
	againForm   = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^_job_complete: requeue JobId=(\d+) (?:per user/system request|due to node failure)`)
	})
	doneForm      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^_job_complete: JobId=(\d+) done`) })
	submitForm    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^_slurm_rpc_submit_batch_job: JobId=(\d+) `) })
	foundForm     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^Recovered JobId=(\d+) StepId=`) })
	recoveredForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^Recovered JobId=(\d+) Assoc=`) })
	misplacedForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^Registered JobId=(\d+) StepId=\S+ on wrong node (\S+)$`)
	})
	tagForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^ to sluice/1 id=([0-9a-f]{32}) inc=(\d{1,9})(?: |$)`)
	})
)

// ParseController reads slurmctld's log. Times without a zone are in loc. The log needs
// DebugFlags=Gres,TraceJobs for the GPUs of runs, and SlurmctldDebug=debug2 for the account
// that asked for a requeue. Unknown lines are skipped. The error is the reader's.
func ParseController(r io.Reader, file string, loc *time.Location) ([]Record, error) {
	p := &controller{}
	p.forget()
	err := eachLine(r, file, func(l Line) {
		m := stampForm().FindStringSubmatch(l.Text)
		if m == nil {
			return
		}
		at, ok := parseStamp(m[1], loc)
		if !ok {
			return
		}
		l.At, l.Grain = at, grainOf(m[1])
		p.line(l, m[2])
	})
	return p.records, err
}

// parseStamp reads the forms of LogTimeFormat that include a date.
func parseStamp(text string, loc *time.Location) (time.Time, bool) {
	for _, form := range []string{"2006-01-02T15:04:05.999999", "2006-01-02T15:04:05.999999Z07:00"} {
		if at, err := time.ParseInLocation(form, text, loc); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// controller is the state of the parser in the middle of the log.
type controller struct {
	records   []Record
	changes   map[int64]*Change // settings of the calls under way, by job
	requeuers []requeuer        // accounts that asked for a requeue that has not happened yet
	killers   map[int64]int64   // account that asked to signal a job
	gres      map[int64][]Share // GPUs a job was last logged with, by the node's place in its list
	starting  int64             // job that was chosen to run and is not logged as started yet
	block     int64             // job whose GPUs are being listed
	steps     map[int64]bool    // jobs with a step found at the last start
	before    *controller       // state before the last start, while that may be a backup's
}

// sources are prefixes that some parts of slurmctld write before their lines.
var sources = []string{"debug3: ", "debug2: ", "debug:  ", "debug: ", "error: ", "sched: ", "sched/backfill: ", "sched/builtin: "}

func (p *controller) line(l Line, text string) {
	if strings.HasPrefix(text, "  ") {
		p.listed(strings.TrimSpace(text))
		return
	}
	for _, s := range sources {
		text = strings.TrimPrefix(text, s)
	}
	if strings.HasPrefix(text, "gres") { // the next block; a line of another thread does not end one
		p.block = 0
	}
	switch {
	case strings.HasPrefix(text, "gres_job_state "):
		p.heads(text)
	case strings.HasPrefix(text, "slurmctld version ") && strings.Contains(text, " started on cluster"):
		was := *p
		p.boots(l)
		p.before = &was
	case strings.HasPrefix(text, "ControlMachine ") && strings.HasSuffix(text, " taking over"):
		p.boots(l)
	case strings.HasPrefix(text, "shutting down backup controllers"): // it is the primary
		p.before = nil
	case text == "slurmctld running in background mode":
		p.standsBy()
	case p.starting != 0 && strings.HasPrefix(text, "laying out "):
		p.laidOut(l, text)
	case strings.Contains(text, "JobId=") || strings.HasPrefix(text, "Processing RPC: REQUEST_JOB_REQUEUE"):
		_ = p.asked(l, text) || p.happened(l, text)
	}
}

func (p *controller) add(r Record) { p.records = append(p.records, r) }

// asked handles lines about requests.
func (p *controller) asked(l Line, text string) bool {
	if m := settingForm().FindStringSubmatch(text); m != nil {
		p.setting(l, m[1], m[2], job(m[3]))
		return true
	}
	if m := holdForm().FindStringSubmatch(text); m != nil {
		c := p.change(job(m[2]))
		c.Held, c.Released = m[1] == "hold on", m[1] != "hold on"
		return true
	}
	if m := updatedForm().FindStringSubmatch(text); m != nil {
		if id := job(m[2]); m[1] != "" {
			p.add(Record{Line: l, Kind: Changed, Job: id, UID: job(m[3]), Change: *p.change(id)})
		}
		delete(p.changes, job(m[2]))
		return true
	}
	if m := requeuerForm().FindStringSubmatch(text); m != nil {
		p.requeuers = append(p.requeuers, requeuer{l.At, job(m[1])})
		return true
	}
	if strings.HasPrefix(text, "_slurm_rpc_requeue: Requeue of JobId=") { // the call returned an error
		p.requeuer(l.At)
		return true
	}
	if m := requeuedForm().FindStringSubmatch(text); m != nil {
		p.add(Record{Line: l, Kind: Requeued, Job: job(m[1]), UID: p.requeuer(l.At)})
		return true
	}
	if m := killForm().FindStringSubmatch(text); m != nil {
		p.killers[job(m[1])] = job(m[2])
		return true
	}
	if m := signalForm().FindStringSubmatch(text); m != nil {
		uid, known := p.killers[job(m[2])]
		if !known {
			uid = -1
		}
		delete(p.killers, job(m[2]))
		p.add(Record{Line: l, Kind: Signalled, Job: job(m[2]), UID: uid, Signal: number(m[1])})
		return true
	}
	return false
}

// setting records one field of the call under way.
func (p *controller) setting(_ Line, field, rest string, id int64) {
	c := p.change(id)
	switch field {
	case "comment":
		c.Comment = true
		if m := tagForm().FindStringSubmatch(rest); m != nil {
			c.Token, c.Incarnation = m[1], number(m[2])
		}
	case "begin":
		c.Begin = true
	case "requeue":
		c.Requeueable = true
	case "priority":
		c.Held = strings.HasPrefix(rest, " to 0")
		c.Released = !c.Held
	default:
		c.Size = true
	}
}

// laidOut takes the nodes of a job whose start has no line of its own.
func (p *controller) laidOut(l Line, text string) {
	if m := laidForm().FindStringSubmatch(text); m != nil {
		p.add(Record{Line: l, Kind: Allocated, Job: p.starting, UID: -1, Shares: named(p.gres[p.starting], m[1])})
		p.starting = 0
	}
}

// happened handles lines about changes of jobs.
func (p *controller) happened(l Line, text string) bool {
	if m := runsForm().FindStringSubmatch(text); m != nil {
		p.starting = job(m[1])
		return true
	}
	if m := startForm().FindStringSubmatch(text); m != nil {
		id, list := job(m[1]+m[3]), m[2]+m[4]
		if p.starting == id {
			p.starting = 0
		}
		p.add(Record{Line: l, Kind: Allocated, Job: id, UID: -1, Shares: named(p.gres[id], list)})
		return true
	}
	if m := freedForm().FindStringSubmatch(text); m != nil {
		p.add(Record{Line: l, Kind: Freed, Job: job(m[2]), UID: -1, Again: m[1] == "Requeuing"})
		delete(p.gres, job(m[2]))
		return true
	}
	if m := againForm().FindStringSubmatch(text); m != nil {
		p.add(Record{Line: l, Kind: Freed, Job: job(m[1]), UID: -1, Again: true})
		return true
	}
	if m := doneForm().FindStringSubmatch(text); m != nil {
		p.add(Record{Line: l, Kind: Freed, Job: job(m[1]), UID: -1})
		delete(p.gres, job(m[1]))
		return true
	}
	if m := cleanedForm().FindStringSubmatch(text); m != nil {
		p.add(Record{Line: l, Kind: Cleaned, Job: job(m[1]), UID: -1})
		return true
	}
	if m := submitForm().FindStringSubmatch(text); m != nil {
		p.add(Record{Line: l, Kind: Submitted, Job: job(m[1]), UID: -1})
		return true
	}
	if m := foundForm().FindStringSubmatch(text); m != nil {
		p.steps[job(m[1])] = true
		return true
	}
	if m := recoveredForm().FindStringSubmatch(text); m != nil {
		id := job(m[1])
		p.add(Record{Line: l, Kind: Recovered, Job: id, UID: -1, Shares: p.gres[id], Runs: p.steps[id]})
		return true
	}
	if m := misplacedForm().FindStringSubmatch(text); m != nil {
		p.add(Record{Line: l, Kind: Misplaced, Job: job(m[1]), UID: -1, Shares: []Share{{Node: m[2]}}})
		return true
	}
	return false
}

func (p *controller) change(id int64) *Change {
	c := p.changes[id]
	if c == nil {
		c = &Change{}
		p.changes[id] = c
	}
	return c
}

// requeuer is an account that asked for a requeue, and when.
type requeuer struct {
	at  time.Time
	uid int64
}

// carried is how long slurmctld takes to carry out a requeue while others are requested.
const carried = time.Second

// requeuer returns the account that asked for the next requeue. A requeue without effect, such
// as of a job that is already requeued and held, has no line of its own.
func (p *controller) requeuer(at time.Time) int64 {
	for len(p.requeuers) > 1 && at.Sub(p.requeuers[0].at) > carried {
		p.requeuers = p.requeuers[1:]
	}
	if len(p.requeuers) == 0 {
		return -1
	}
	uid := p.requeuers[0].uid
	p.requeuers = p.requeuers[1:]
	return uid
}

// job reads a number that a pattern has matched; -1 if it is too large.
func job(digits string) int64 {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return -1
	}
	return n
}
