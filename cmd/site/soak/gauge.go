package soak

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// gaugeEvery is how often sluiced is measured; one in six is told.
const gaugeEvery = 10 * time.Second

// gauge is sluiced at one moment.
type gauge struct {
	at              time.Duration // since the soak began
	life            int
	rss             int64 // KiB
	live            int64 // bytes of its heap that were in use at the last collection
	fds, goroutines int
	cycles          uint64
	database        int64 // bytes of all its files
	jobs            int   // ended so far
}

// measure looks at sluiced, if it lives.
func (s *soak) measure(ctx context.Context) {
	if s.down.daemon {
		return
	}
	status, err := s.Control().Status(ctx)
	if err != nil {
		return
	}
	g := gauge{at: time.Since(s.began), life: s.life, goroutines: status.Goroutines, cycles: status.Cycles, live: int64(status.Live),
		database: folderSize(s.State), jobs: s.count.ended}
	dir := filepath.Join("/proc", strconv.Itoa(status.PID))
	text, err1 := os.ReadFile(filepath.Join(dir, "status"))
	fds, err2 := os.ReadDir(filepath.Join(dir, "fd"))
	if err1 != nil || err2 != nil {
		return // it has just ended
	}
	g.rss, g.fds = residentKiB(string(text)), len(fds)
	s.gauges = append(s.gauges, g)
	if len(s.gauges)%6 == 1 {
		c := s.count
		s.tell("rss=%.1fM live=%.1fM fds=%d goroutines=%d db=%.2fM cycles=%d; %d jobs live, %d ended, %d resizes, %d kills, %d broken",
			float64(g.rss)/1024, float64(g.live)/(1<<20), g.fds, g.goroutines, float64(g.database)/(1<<20), g.cycles, s.live(), c.ended, c.resizes, c.kills(), len(s.broken))
	}
}

// residentKiB finds VmRSS in /proc/PID/status; 0 when it is not there.
func residentKiB(status string) int64 {
	for line := range strings.Lines(status) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return n
		}
	}
	return 0
}

// folderSize is the bytes of a folder's files.
func folderSize(dir string) int64 {
	var sum int64
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
	}
	return sum
}

// What may be more in the last quarter of sluiced's last life than in the second (the first
// warms up).
const (
	// A job stays in the daemon's memory for a day after its end, and in its store for 90 days:
	// bytes of live memory (TestMemoryOfManyDays holds that) and of the database. Its heap
	// grows to twice what is live before garbage is collected.
	perJob       = 12 << 10
	perJobStored = 32 << 10
	heapFactor   = 2
	// Beyond that: a share and some bytes of what is live, for the jobs at hand differ; KiB of
	// resident memory, for a heap breathes; file descriptors and goroutines that commands
	// under way need; the write-ahead log, which comes and goes.
	breath      = 0.15
	liveBreath  = 1 << 20
	rssBreath   = 4096
	countBreath = 8
	aheadLog    = 5 << 20
)

// flatness is what the last life shows.
type flatness struct {
	minutes         float64
	rss             [2]int64 // KiB, median of the second and of the last quarter
	live            [2]int64 // bytes, likewise
	slope           float64  // of rss, KiB an hour, after the first quarter
	unexplained     int64    // KiB of rss's growth, less what the jobs that ended account for; below 0 = none
	fds, goroutines [2]int64
	database        [2]int64
	jobs            int // ended between the two
	grown           []string
}

// flat judges the last life; one too short to judge shows nothing grown and 0
// minutes.
func flat(all []gauge) flatness {
	var f flatness
	if len(all) == 0 {
		return f
	}
	last := all[len(all)-1].life
	list := slices.DeleteFunc(slices.Clone(all), func(g gauge) bool { return g.life != last })
	quarter := len(list) / 4
	if quarter < 3 {
		return f
	}
	second, fourth := list[quarter:2*quarter], list[len(list)-quarter:]
	f.minutes = (list[len(list)-1].at - list[0].at).Minutes()
	f.slope = slope(list[quarter:])
	both := func(of func(gauge) int64) [2]int64 { return [2]int64{median(second, of), median(fourth, of)} }
	f.rss = both(func(g gauge) int64 { return g.rss })
	f.live = both(func(g gauge) int64 { return g.live })
	f.fds = both(func(g gauge) int64 { return int64(g.fds) })
	f.goroutines = both(func(g gauge) int64 { return int64(g.goroutines) })
	f.database = both(func(g gauge) int64 { return g.database })
	f.jobs = int(median(fourth, jobsOf) - median(second, jobsOf))
	f.unexplained = f.rss[1] - f.rss[0] - int64(f.jobs)*heapFactor*perJob>>10
	check := func(what string, v [2]int64, share, more float64) {
		if float64(v[1]) > float64(v[0])*(1+share)+more {
			f.grown = append(f.grown, fmt.Sprintf("%s grew from %d to %d in the last life of %.0f minutes, in which %d jobs ended", what, v[0], v[1], f.minutes, f.jobs))
		}
	}
	ended := float64(f.jobs)
	check("live memory (bytes)", f.live, breath, liveBreath+ended*perJob)
	check("resident memory (KiB)", f.rss, 0, rssBreath+ended*heapFactor*perJob/1024)
	check("file descriptors", f.fds, breath, countBreath)
	check("goroutines", f.goroutines, breath, countBreath)
	check("the database (bytes)", f.database, 0, aheadLog+ended*perJobStored)
	return f
}

func jobsOf(g gauge) int64 { return int64(g.jobs) }

func median(list []gauge, of func(gauge) int64) int64 {
	values := make([]int64, len(list))
	for i, g := range list {
		values[i] = of(g)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// slope is the memory's least-squares line, in KiB an hour.
func slope(list []gauge) float64 {
	var x, y, xx, xy float64
	n := float64(len(list))
	for _, g := range list {
		h, r := g.at.Hours(), float64(g.rss)
		x, y, xx, xy = x+h, y+r, xx+h*h, xy+h*r
	}
	if d := n*xx - x*x; d > 0 {
		return (n*xy - x*y) / d
	}
	return 0
}
