package metrics

import (
	"errors"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
)

// Metrics are the metrics of one sluiced. All methods but Cycle, Sweeps and Event are safe for concurrent use;
// those belong to the cycle's goroutine. A nil *Metrics counts nothing.
type Metrics struct {
	options  atomic.Pointer[Options]
	registry *prometheus.Registry
	gauges   atomic.Pointer[[]Sample]
	waiting  atomic.Int64 // messages
	book     book
	sweeps   sweepBook
	known    map[string]Sweep

	cycle, decision, request, journal prometheus.Histogram
	undecided, storeErrors, blind     prometheus.Counter
	deadGPU, gained                   prometheus.Counter
	ended, moves, dead, deadlines     *prometheus.CounterVec
	requests, messages, trials        *prometheus.CounterVec
}

// New returns metrics that have counted nothing.
func New(version string, o Options) (*Metrics, error) {
	m := &Metrics{registry: prometheus.NewRegistry(), book: newBook(), sweeps: sweepBook{map[string]time.Time{}, map[string]map[string]int{}}}
	m.Configure(o)
	make := maker{to: m.registry}
	m.cycle, m.decision = make.histogram("sluice_cycle_seconds"), make.histogram("sluice_decision_seconds")
	m.request, m.journal = make.histogram("sluice_slurm_request_seconds"), make.histogram("sluice_journal_seconds")
	m.undecided, m.storeErrors = make.single("sluice_undecided_cycles_total"), make.single("sluice_store_errors_total")
	m.blind = make.single("sluice_blind_seconds_total")
	m.deadGPU, m.gained = make.single("sluice_dead_gpu_seconds_total"), make.single("sluice_gained_gpu_seconds_total")
	m.ended, m.moves = make.counter("sluice_jobs_ended_total"), make.counter("sluice_moves_total")
	m.dead, m.deadlines = make.counter("sluice_dead_seconds_total"), make.counter("sluice_deadlines_total")
	m.requests, m.messages = make.counter("sluice_slurm_requests_total"), make.counter("sluice_messages_total")
	m.trials = make.counter("sluice_sweep_trials_ended_total")
	for _, part := range parts {
		m.dead.WithLabelValues(part)
	}
	for _, how := range trialEnds {
		m.trials.WithLabelValues(how)
	}
	for _, outcome := range []string{kept, broken} {
		m.deadlines.WithLabelValues(outcome)
	}
	make.errs = append(make.errs, m.registry.Register(published{m, version}),
		m.registry.Register(collectors.NewGoCollector()), m.registry.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})))
	return m, errors.Join(make.errs...)
}

// Configure changes the options from the next cycle on.
func (m *Metrics) Configure(o Options) {
	if m != nil {
		m.options.Store(&o)
	}
}

// Handler answers scrapes, in the text format or as OpenMetrics. At most mostScrapes are answered at
// once; others get status 503.
func (m *Metrics) Handler() http.Handler {
	h := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{EnableOpenMetrics: true, MaxRequestsInFlight: mostScrapes})
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", h)
	return mux
}

// Cycle takes over the report of a cycle that took so long and ended with err. r is nil before the first
// report and is not kept.
func (m *Metrics) Cycle(r *publish.Report, took time.Duration, err error) {
	if m == nil {
		return
	}
	m.cycle.Observe(took.Seconds())
	if err != nil {
		m.undecided.Inc()
	}
	if r == nil {
		return
	}
	o := *m.options.Load()
	fleets := fleetsOf(r)
	all := gauges{Gauges(r, o)}
	all.sweeps(fleets, m.known, m.sweeps.cycle(fleets, m.known, r.At), o.Jobs)
	samples := all.list
	m.gauges.Store(&samples)
	m.count(m.book.cycle(r))
}

// Event takes over one event of the engine.
func (m *Metrics) Event(e event.Event) {
	if m != nil {
		m.count(m.book.event(e))
	}
}

// count adds what a fold returned.
func (m *Metrics) count(n counts) {
	for _, move := range n.moves {
		m.moves.WithLabelValues(move.kind, move.outcome).Inc()
	}
	for _, how := range n.ended {
		m.ended.WithLabelValues(how).Inc()
	}
	for _, outcome := range n.deadlines {
		m.deadlines.WithLabelValues(outcome).Inc()
	}
	for i, part := range parts {
		m.dead.WithLabelValues(part).Add(n.dead[i])
	}
	m.deadGPU.Add(n.deadGPU)
	m.gained.Add(n.gained)
	m.blind.Add(n.blind)
}

// Decided counts a decision that took so long.
func (m *Metrics) Decided(took time.Duration) {
	if m != nil {
		m.decision.Observe(took.Seconds())
	}
}

// Requested counts a call of Slurm. The request MUST be one of a fixed number of names.
func (m *Metrics) Requested(request string, took time.Duration, failed bool) {
	if m == nil {
		return
	}
	outcome := "ok"
	if failed {
		outcome = "failed"
	}
	m.requests.WithLabelValues(request, outcome).Inc()
	m.request.Observe(took.Seconds())
}

// Wrote counts a write to the journal.
func (m *Metrics) Wrote(took time.Duration, failed bool) {
	if m == nil {
		return
	}
	m.journal.Observe(took.Seconds())
	if failed {
		m.storeErrors.Inc()
	}
}

// Message counts a message by its channel and outcome, and Waiting is how many are not sent yet.
func (m *Metrics) Message(channel, outcome string) {
	if m != nil {
		m.messages.WithLabelValues(channel, outcome).Inc()
	}
}

// Waiting stores how many messages are not sent yet.
func (m *Metrics) Waiting(n int) {
	if m != nil {
		m.waiting.Store(int64(n))
	}
}

// published collects the gauges as they were stored last.
type published struct {
	*Metrics
	version string
}

// Describe sends nothing: which gauges there are depends on the options. The registry checks each scrape.
func (p published) Describe(chan<- *prometheus.Desc) {}

// Collect sends the gauges.
func (p published) Collect(to chan<- prometheus.Metric) {
	send := func(name string, value float64, labels ...string) {
		d := find(name)
		m, err := prometheus.NewConstMetric(prometheus.NewDesc(d.Name, d.Help, d.Labels, nil), prometheus.GaugeValue, value, labels...)
		if err != nil { // a label that is not UTF-8
			return
		}
		to <- m
	}
	send("sluice_build_info", 1, p.version, runtime.Version())
	send("sluice_messages_waiting", float64(p.waiting.Load()))
	if samples := p.gauges.Load(); samples != nil {
		for _, s := range *samples {
			send(s.Name, s.Value, s.Labels...)
		}
	}
}
