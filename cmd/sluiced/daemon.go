package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/feed"
	"github.com/sluice-hpc/sluice/elastic/metrics"
	"github.com/sluice-hpc/sluice/elastic/offcycle"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/share"
	"github.com/sluice-hpc/sluice/elastic/store"
	"github.com/sluice-hpc/sluice/etc"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/command"
)

// daemon is sluiced with all its parts.
type daemon struct {
	options  options
	log      zerolog.Logger
	store    *store.Store
	speeds   *offcycle.Samples
	sweeps   *offcycle.Sweeps
	engine   *engine.Engine
	loop     *loop
	server   *control.Server
	settled  settled
	stream   stream
	history  history
	started  time.Time
	foreseen foreseen
	messages messages
	metrics  *metrics.Metrics // nil = nobody can read them
	newest   time.Time        // newest job in the store when it was opened

	troubles troubles
	rights   *command.Client // queried for what the daemon may do
	mailbox  *checkpoint.Mailbox
	repeats  repeats // used on the engine's goroutine

	refreshed time.Time // likewise
	met       time.Time // likewise
}

// run builds the daemon and supervises it until ctx ends or a part of it fails.
func run(ctx context.Context, o options) error {
	c, from, err := o.load()
	if err != nil {
		return err
	}
	log := newLog(c.Log, os.Stderr)
	log.Info().Str("event", "starts").Str("config", from).Bool("user", o.user).Int("uid", os.Geteuid()).Str("policy", c.Policy.Name).Msg("sluiced starts")
	if o.user {
		if err := makeUserDirs(c); err != nil {
			return err
		}
		tellOther(log, c)
	}
	d, err := newDaemon(ctx, o, c, log)
	if err != nil {
		return err
	}
	defer d.store.Shutdown()
	d.server, err = control.Listen(ctx, c.Paths.Socket, d.serverOptions(c), d)
	if err != nil {
		return err
	}
	if err := d.listenRemote(ctx, c.Remote); err != nil {
		return errors.Join(err, d.server.Close())
	}
	scrapes, err := d.listenMetrics(ctx, c.Metrics.Listen)
	if err != nil {
		return errors.Join(err, d.server.Close())
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return d.server.Serve(ctx) })
	g.Go(func() error { return d.loop.run(ctx) })
	g.Go(func() error { return scrapes(ctx) })
	g.Go(func() error { return d.deliver(ctx) })
	g.Go(func() error { return d.watchTroubles(ctx, c) })
	g.Go(func() error { return d.speeds.Run(ctx) })
	g.Go(func() error { return d.keepHistory(ctx) })
	g.Go(func() error { return d.keepSweeps(ctx) })
	err = g.Wait()
	d.storeSpeeds()
	log.Info().Str("event", "stops").Err(err).Msg("sluiced stops; jobs run on at their size")
	return err
}

// lastSpeeds bounds how long the daemon waits at its end for speeds to be stored.
const lastSpeeds = 2 * time.Second

// storeSpeeds stores the remaining speeds after the last cycle.
func (d *daemon) storeSpeeds() {
	ctx, cancel := context.WithTimeout(context.Background(), lastSpeeds)
	defer cancel()
	if err := d.speeds.Flush(ctx); err != nil {
		d.tellSpeeds(err)
	}
}

// tellSpeeds logs that speeds could not be stored, and that they are stored again.
func (d *daemon) tellSpeeds(err error) {
	if err != nil {
		d.log.Error().Str("event", "unstored").Err(err).Msg("speeds learned from jobs could not be stored and will be stored later; decisions use them meanwhile")
		return
	}
	d.log.Info().Str("event", "stored").Msg("speeds learned from jobs are stored again")
}

func newDaemon(ctx context.Context, o options, c etc.Config, log zerolog.Logger) (*daemon, error) {
	st, notices, err := store.Open(ctx, filepath.Join(c.Paths.State, "sluice.db"), time.Now())
	if err != nil {
		return nil, err
	}
	for _, n := range notices { // data was lost or changed: an administrator should read it
		log.Error().Str("event", "emptied").Msg(n)
	}
	d := &daemon{options: o, log: log, store: st, started: time.Now(), troubles: troubles{ask: make(chan struct{}, 1)}}
	d.stream.feed = feed.New(newName())
	d.openHistory(ctx)
	d.speeds = offcycle.NewSamples(st, d.tellSpeeds)
	if c.Metrics.Listen != "" {
		if d.metrics, err = metrics.New(version, metricsOptions(c)); err != nil {
			st.Shutdown()
			return nil, err
		}
	}
	if d.newest, err = st.Newest(ctx); err != nil {
		st.Shutdown()
		return nil, err
	}
	cfg, err := d.engineConfig(ctx, c)
	if err != nil {
		st.Shutdown()
		return nil, err
	}
	d.loop = newLoop(d)
	cfg.Between, cfg.By = d.loop.serve, newName()
	if err := d.newMessages(c, d.mailbox, cfg.By); err != nil {
		st.Shutdown()
		return nil, err
	}
	d.sweeps = offcycle.NewSweeps(sweepPaths(c), d.lanes, time.Now, d.tellSweep)
	d.sweeps.Changed = d.loop.wake
	d.engine = engine.New(cfg)
	return d, nil
}

// newName is a name that no other daemon has, nor this one after a restart.
func newName() string { return strings.ToLower(rand.Text()[:10]) }

// engineConfig makes the engine's parts from the configuration.
func (d *daemon) engineConfig(ctx context.Context, c etc.Config) (engine.Config, error) {
	client, err := command.New(command.Config{Dir: c.Slurm.Bin, Conf: c.Slurm.Conf, Timeout: c.Slurm.Timeout, Now: time.Now, Called: d.called})
	if err != nil {
		return engine.Config{}, err
	}
	d.rights = client
	mailbox, err := checkpoint.NewMailbox(c.Paths.Jobs, c.Paths.Outbox)
	if err != nil {
		return engine.Config{}, err
	}
	d.mailbox = mailbox
	cfg := engine.Config{
		Seams: engine.Seams{
			Slurm: client, Limiter: offcycle.NewLimiter(ctx, client, time.Now), Sharer: offcycle.NewSharer(ctx, client, time.Now), Accountant: offcycle.NewAccountant(ctx, client, time.Now), Accounts: offcycle.NewAccounts(nil, time.Now),
			Journal: offcycle.Closing{Journal: measured{fragile(d.store), d.metrics}, Closed: d.closed}, Samples: d.speeds, Mailbox: offcycle.NewMailbox(mailbox, time.Now),
		},
		Events: d.take, Deciding: d.deciding,
	}
	return cfg, d.tune(&cfg, c)
}

// tune sets the parameters that a reload may change.
func (d *daemon) tune(cfg *engine.Config, c etc.Config) error {
	own := map[string]string{}
	cfg.Edge = map[string]bool{}
	for name, p := range c.Partition {
		if p.Edge {
			cfg.Edge[name] = true
		}
		if p.Policy != "" {
			own[name] = p.Policy
		}
	}
	cfg.QOS = qosOf(c.QOS)
	shares, err := sharesOf(c.Shares)
	if err != nil {
		return err
	}
	cfg.Own = shares
	cfg.Confined = d.service(c)
	p, err := policy.InPartitions(c.Policy.Name, own)
	if err != nil {
		return err
	}
	cfg.Policy = p
	cfg.Limits = elastic.Limits{
		Cooldown: c.Resize.Cooldown, Every: c.Cycle.Period, Payback: c.Resize.Payback, Grace: c.Resize.Grace, MaxGrace: c.Resize.MaxGrace,
		Confirm: c.Resize.Confirm, Abandon: c.Cycle.Abandon, Moves: c.Resize.Moves, DeafAfter: c.Resize.DeafAfter,
		Preempt: c.Policy.Preempt, Overload: c.Policy.Overload, Wait: c.Policy.Wait, ShareNodes: c.Policy.ShareNodes,
		Costs: costs(c.Welfare),
	}
	cfg.Health = elastic.HealthRules{Exclude: c.Health.Exclude, PerUser: c.Health.PerUser}
	if d.options.user { // these are the user's own jobs; and there is no epilog
		cfg.Health.PerUser, cfg.Listen = 0, true
	}
	cfg.Price = elastic.Price{Save: c.Resize.Save, Drain: c.Resize.Drain, Start: c.Resize.Start, Load: c.Resize.Load}
	cfg.Period, cfg.Transition, cfg.Backoff = c.Cycle.Period, c.Cycle.Transition, c.Cycle.Backoff
	cfg.ShareSpeeds = c.Users.ShareSpeeds
	cfg.Sweeps, cfg.Trials, cfg.Needless = d.standings, d.trials, d.needless
	cfg.Mine = mine(d.options.user, uint32(os.Getuid()), c.Slurm.Partitions, c.Paths.Jobs)
	return nil
}

// qosOf are the site's rules for QOS.
func qosOf(sections map[string]etc.QOS) map[string]share.QOS {
	out := make(map[string]share.QOS, len(sections))
	for name, q := range sections {
		out[name] = share.QOS{Weight: q.Weight, Scavenger: q.Scavenger, Guarantee: q.Guarantee}
	}
	return out
}

// sharesOf is the site's own tree of shares; nil = it has none.
func sharesOf(sections map[string]etc.Share) (*share.Own, error) {
	if len(sections) == 0 {
		return nil, nil
	}
	var list []share.OwnAccount
	for _, name := range slices.Sorted(maps.Keys(sections)) {
		s := sections[name]
		list = append(list, share.OwnAccount{Name: name, Parent: s.Parent, Shares: s.Count(), Users: s.Users, Default: s.Default})
	}
	return share.NewOwn(list)
}

// costs are the parameters of the policy welfare.
func costs(w etc.Welfare) *elastic.Costs {
	c := &elastic.Costs{Value: w.Value, GPU: w.GPU, Types: map[string]float64{}, CPU: w.CPU, MemoryGB: w.Memory, Peak: w.Peak, Surcharge: w.Surcharge}
	for _, t := range w.Types {
		c.Types[t.Type] = t.Cost
	}
	return c
}

// mine selects the jobs that the daemon manages: for the cluster's daemon all except
// those of users' own sluiceds, for one with --user those of its user; and only jobs in
// the named partitions, if any are named.
func mine(user bool, uid uint32, partitions []string, jobs string) func(slurm.Job) bool {
	return func(j slurm.Job) bool {
		switch own := elastic.Own(j.Comment); {
		case !user && own, user && j.UID != uid:
			return false
		case user && !own && !keptIn(jobs, j.Comment):
			return false
		}
		if len(partitions) == 0 {
			return true
		}
		for _, p := range strings.Split(j.Partition, ",") {
			if slices.Contains(partitions, p) {
				return true
			}
		}
		return false
	}
}

// keptIn reports whether the job's folder is in the folder of jobs. It identifies jobs of
// releases of sluice that did not mark a job as its user's own.
func keptIn(jobs, comment string) bool {
	tag, err := elastic.ParseTag(comment)
	if err != nil {
		return false
	}
	_, err = os.Lstat(filepath.Join(jobs, tag.Spec.Token))
	return err == nil
}

// tellOther logs which daemon manages which jobs if the cluster has a sluiced, too.
func tellOther(log zerolog.Logger, own etc.Config) {
	cluster, _, err := etc.Cluster()
	if err != nil || cluster.Paths.Socket == own.Paths.Socket {
		return
	}
	if _, err := os.Stat(cluster.Paths.Socket); err == nil {
		log.Info().Str("event", "beside").Str("cluster", cluster.Paths.Socket).Msg("the cluster has a sluiced, too: this one manages jobs of 'sluice submit --user', that one all others")
	}
}

// makeUserDirs makes the folders of user mode in the home directory. In system mode an
// administrator makes them, because other users need access.
func makeUserDirs(c etc.Config) error {
	for _, dir := range []string{c.Paths.State, c.Paths.Jobs, c.Paths.Outbox, filepath.Dir(c.Paths.Socket)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("%w; sluiced --user keeps its files there", err)
		}
	}
	return nil
}

// reload reads the configuration again. An invalid one changes nothing.
func (d *daemon) reload() {
	c, from, err := d.options.load()
	if err != nil {
		d.log.Error().Str("event", "unreloaded").Err(err).Msg("reload: the configuration is invalid; the old one stays")
		return
	}
	if err := d.tune(&engine.Config{}, c); err != nil {
		d.log.Error().Str("event", "unreloaded").Err(err).Msg("reload: the configuration is invalid; the old one stays")
		return
	}
	d.engine.Reconfigure(func(old *engine.Config) {
		_ = d.tune(old, c) // it was valid a moment ago
	})
	d.metrics.Configure(metricsOptions(c))
	if err := d.reloadMessages(c); err != nil {
		d.log.Error().Str("event", "unreloaded").Err(err).Msg("reload: messages are sent as before")
	}
	if err := d.server.Configure(d.serverOptions(c)); err != nil {
		d.log.Error().Str("event", "unreloaded").Err(err).Msg("reload: the API keeps its old settings")
	}
	d.log.Info().Str("event", "reloaded").Str("config", from).Str("policy", c.Policy.Name).Msg("reloaded")
}

// newLog makes the log. Its times are as precise as slurmctld's, so that the two can be
// compared (package elastic/audit).
func newLog(c etc.Log, to *os.File) zerolog.Logger {
	zerolog.TimeFieldFormat = "2006-01-02T15:04:05.000Z07:00"
	level, err := zerolog.ParseLevel(c.Level)
	if err != nil {
		level = zerolog.InfoLevel
	}
	if c.Format == "json" {
		return zerolog.New(plain{to}).Level(level).With().Timestamp().Logger()
	}
	return zerolog.New(zerolog.ConsoleWriter{Out: plain{to}, NoColor: true, TimeFormat: time.RFC3339, FieldsExclude: event.FieldNames()}).Level(level).With().Timestamp().Logger()
}

// take receives the engine's events.
func (d *daemon) take(e event.Event) {
	d.metrics.Event(e)
	d.messages.watch.Event(e)
	d.logEvent(e)
}

// logEvent logs one event. The text may contain users' text; plain escapes it.
func (d *daemon) logEvent(e event.Event) {
	missed := 0
	if key := problemKey(e); key != "" {
		if key == noRights || key == noOutbox {
			d.troubles.suspect()
		}
		var tell bool
		if tell, missed = d.repeats.tell(key, e.At); !tell {
			return
		}
	}
	level := zerolog.InfoLevel
	switch e.Kind {
	case "problem", "blind":
		level = zerolog.WarnLevel
	case "act", "step":
		level = zerolog.DebugLevel
	}
	entry := d.log.WithLevel(level).Str("event", e.Kind)
	if e.Job != 0 {
		entry = entry.Int64("job", int64(e.Job))
	}
	if missed > 0 {
		entry = entry.Int("more", missed)
	}
	entry.Fields(e.List()).Msg(e.Text)
	d.streamEvent(e)
}
