package soak

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// verdict audits, judges what grew and prints the last line.
func (s *soak) verdict(ctx context.Context) error {
	s.measure(ctx)
	f := flat(s.gauges)
	for _, words := range f.grown {
		s.breaks("%s", words)
	}
	fmt.Fprint(s.o.Out, s.audit(ctx))
	if s.count.submits == 0 {
		s.breaks("nothing was submitted: this shows nothing")
	}
	for _, words := range s.broken {
		fmt.Fprintf(s.o.Out, "PROMISE BROKEN: %s\n", words)
	}
	fmt.Fprintln(s.o.Out, line(s.o, s.Lab.Release(), s.hours(), s.count, f, len(s.broken)))
	if len(s.broken) == 0 {
		return nil
	}
	kept := filepath.Join(os.TempDir(), fmt.Sprintf("sluice-soak-%d-records", os.Getpid()))
	if err := s.KeepRecords(kept); err == nil {
		s.tell("the records are kept: sluice lab audit %s", kept)
	}
	return fmt.Errorf("%d promises broken", len(s.broken))
}

// hours is how long trouble was made.
func (s *soak) hours() float64 {
	if len(s.gauges) == 0 {
		return 0
	}
	return min(s.o.Hours, s.gauges[len(s.gauges)-1].at.Hours())
}

// line is the verdict for scripts. Pairs are the second and the last quarter of
// sluiced's last life.
func line(o Options, release string, hours float64, c counts, f flatness, broken int) string {
	return fmt.Sprintf("soak: hours=%.2f slurm=%s seed=%d submits=%d cancels=%d orders=%d resizes=%d kills=%d nodes=%d controllers=%d daemons=%d "+
		"completed=%d steps=%d repeated=%d requeued_by_user=%d slurmctld_crashes=%d refused=%d promises_broken=%d "+
		"life_minutes=%.0f rss_kib=%d..%d rss_slope=%+.0fKiB/h rss_unexplained=%+dKiB live_kib=%d..%d fds=%d..%d goroutines=%d..%d db_kib=%d..%d db_jobs=%d",
		hours, release, o.Seed, c.submits, c.cancels, c.pins+c.holds, c.resizes, c.kills(), c.nodes, c.controllers, c.daemons,
		c.completed, c.steps, c.repeated, c.requeued, c.crashes, c.mistakes, broken,
		f.minutes, f.rss[0], f.rss[1], f.slope, f.unexplained, f.live[0]>>10, f.live[1]>>10, f.fds[0], f.fds[1], f.goroutines[0], f.goroutines[1],
		f.database[0]>>10, f.database[1]>>10, f.jobs)
}
