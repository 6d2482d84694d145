package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// job returns sluiced's view of a job.
func (b *bench) job(ctx context.Context, id int64) (wire.Job, error) {
	r, err := b.Control().Report(ctx)
	if err != nil {
		return wire.Job{}, err
	}
	for _, j := range r.Jobs {
		if j.JobID == id {
			return j, nil
		}
	}
	return wire.Job{}, fmt.Errorf("sluiced does not know job %d", id)
}

// settled waits until the job runs at the size, without an open move, and its program has
// reported.
func (b *bench) settled(ctx context.Context, id int64, gpus, restarts int) error {
	what := fmt.Sprintf("job %d to run on %d GPUs", id, gpus)
	return site.Until(ctx, 2*time.Minute, what, func() (bool, error) {
		j, err := b.job(ctx, id)
		return err == nil && j.GPUs == gpus && j.Move == nil && j.Speaks && j.Restarts >= restarts && j.State == "RUNNING", nil
	})
}

// deadTime resizes one job repeatedly by its user's order, then lets Slurm requeue the
// same job by itself.
func (b *bench) deadTime(ctx context.Context) error {
	path, first, err := b.script("dead")
	if err != nil {
		return err
	}
	id, err := b.Submit(ctx, "", "--max-gpus=4", "--epochs=1000000", path)
	if err != nil {
		return err
	}
	if _, err := b.Run(ctx, "", "sluice", "resize", fmt.Sprint(id), "--gpus", "1"); err != nil {
		return err
	}
	if err := b.settled(ctx, id, 1, 0); err != nil {
		return err
	}
	j, err := b.job(ctx, id)
	if err != nil {
		return err
	}
	var dead, starts []float64
	passes := 0
	for i := range b.o.Resizes {
		size := 1 + (i+1)%2
		time.Sleep(pause(i))
		if _, err := b.Run(ctx, "", "sluice", "resize", fmt.Sprint(id), "--gpus", fmt.Sprint(size)); err != nil {
			return err
		}
		if err := b.settled(ctx, id, size, j.Restarts+i+1); err != nil {
			return err
		}
		d, err := b.sinceCommit(j.Token, first)
		if err != nil {
			return err
		}
		lines, err := stamps(first)
		if err != nil {
			return err
		}
		r, err := lastRestart(b.Log, id)
		if err != nil {
			return err
		}
		dead, starts = append(dead, d), append(starts, r.toRunning(lines))
		passes += r.passes
		b.tell("resize %d of %d: %.2f s from commit to first line, %.2f s of it from release, %d passes asked for", i+1, b.o.Resizes, d, r.toRunning(lines), r.passes)
	}
	b.restarts(dead, starts, passes)
	if len(b.o.Only) > 0 {
		return nil
	}
	own, err := b.ownRequeue(ctx, id, first)
	if err != nil {
		return err
	}
	b.figure("slurm_requeue_dead_time", own, "s", "scontrol requeue of the same job without sluiced, command to first line, once")
	b.figure("resize_speedup", own/median(dead), "times", "slurm_requeue_dead_time / resize_dead_time_median; wanted 40 on 22.05")
	return nil
}

// pause is the time before a resize. Resizes in direct succession would be in step with
// the scheduler, which runs at most every 3 s; so each starts at a different time within
// its 3 s.
func pause(i int) time.Duration {
	return 3*time.Second + time.Duration(i)*1300*time.Millisecond%(3*time.Second)
}

// restarts prints the figures of the resizes.
func (b *bench) restarts(dead, starts []float64, passes int) {
	b.figure("release_to_running_median", median(starts), "s", "sluiced's release to the script's first line, %d resizes by order, scheduling parameters at Slurm's defaults; wanted 3 at most", len(starts))
	b.figure("release_to_running_p95", quantile(starts, 0.95), "s", "same %d resizes; wanted 5 at most", len(starts))
	b.figure("passes_asked_for_per_resize", float64(passes)/float64(len(starts)), "updates", "same %d resizes: further scheduling passes that sluiced asked for", len(starts))
	b.figure("resize_dead_time_median", median(dead), "s", "commit of the checkpoint to the script's first line, same %d resizes, asked twice a second", len(dead))
	b.figure("resize_dead_time_p95", quantile(dead, 0.95), "s", "same %d resizes", len(dead))
}

// sinceCommit is the time from the newest checkpoint's commit to the newest
// first line.
func (b *bench) sinceCommit(token, first string) (float64, error) {
	lines, err := stamps(first)
	if err != nil {
		return 0, err
	}
	manifests, err := filepath.Glob(filepath.Join(b.Jobs, token, "checkpoints", "*", "manifest.json"))
	if err != nil || len(manifests) == 0 {
		return 0, fmt.Errorf("no manifest: %v", err)
	}
	newest := manifests[len(manifests)-1] // names are zero padded
	raw, err := os.ReadFile(newest)
	if err != nil {
		return 0, err
	}
	var m checkpoint.Manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return 0, err
	}
	info, err := os.Stat(newest) // its rename is the commit
	if err != nil {
		return 0, err
	}
	return lines[len(lines)-1] - float64(info.ModTime().UnixNano())/1e9, nil
}

// stamps reads a file of Unix times, one a line, at least one.
func stamps(path string) ([]float64, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out []float64
	for _, line := range strings.Fields(string(b)) {
		t, err := strconv.ParseFloat(line, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, t)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s is empty", path)
	}
	return out, nil
}

// ownRequeue lets Slurm requeue the job without sluiced.
func (b *bench) ownRequeue(ctx context.Context, id int64, first string) (float64, error) {
	if err := b.Stop(); err != nil {
		return 0, err
	}
	before, err := stamps(first)
	if err != nil {
		return 0, err
	}
	started := time.Now()
	if _, err := b.Run(ctx, "", "scontrol", "requeue", fmt.Sprint(id)); err != nil {
		return 0, err
	}
	b.tell("waiting for Slurm's own requeue of the same job, about two minutes")
	var took float64
	err = site.Until(ctx, 6*time.Minute, "Slurm's own requeue", func() (bool, error) {
		now, err := stamps(first)
		if err != nil || len(now) == len(before) {
			return false, err
		}
		took = now[len(now)-1] - float64(started.UnixNano())/1e9
		return true, nil
	})
	if err != nil {
		return 0, err
	}
	if _, err := b.Run(ctx, "", "scancel", fmt.Sprint(id)); err != nil {
		return 0, err
	}
	return took, b.Start(ctx)
}

// clear cancels all jobs and waits until the queue is empty.
func (b *bench) clear(ctx context.Context) error {
	if _, err := b.Run(ctx, "", "scancel", "--full", "--me"); err != nil {
		if _, err := b.Run(ctx, "", "scancel", "-u", "root"); err != nil {
			return err
		}
	}
	return site.Until(ctx, 2*time.Minute, "the queue to empty", func() (bool, error) {
		out, err := b.Run(ctx, "", "squeue", "-h", "-o", "%i")
		return err == nil && out == "", nil
	})
}

// arrival fills the cluster with one elastic job and submits a second.
func (b *bench) arrival(ctx context.Context) error {
	if err := b.clear(ctx); err != nil {
		return err
	}
	var beyond []float64
	for i := range 5 {
		d, err := b.oneArrival(ctx, i)
		if err != nil {
			return err
		}
		b.tell("arrival %d: %.2f s beyond the save", i+1, d)
		beyond = append(beyond, d)
	}
	b.figure("arrival_start_beyond_save_median", median(beyond), "s", "sluice submit on a full cluster to the newcomer's first line, less the time from request to the victim's commit, %d arrivals", len(beyond))
	b.figure("arrival_start_beyond_save_max", quantile(beyond, 1), "s", "same %d arrivals", len(beyond))
	return nil
}

func (b *bench) oneArrival(ctx context.Context, i int) (float64, error) {
	full, _, err := b.script(fmt.Sprintf("full%d", i))
	if err != nil {
		return 0, err
	}
	victim, err := b.Submit(ctx, "", "--epochs=1000000", full)
	if err != nil {
		return 0, err
	}
	if err := b.settled(ctx, victim, 12, 0); err != nil {
		return 0, err
	}
	late, first, err := b.script(fmt.Sprintf("late%d", i))
	if err != nil {
		return 0, err
	}
	started := time.Now()
	if _, err := b.Submit(ctx, "", "--epochs=1000000", late); err != nil {
		return 0, err
	}
	err = site.Until(ctx, 2*time.Minute, "the newcomer's first line", func() (bool, error) {
		_, err := stamps(first)
		return err == nil, nil
	})
	if err != nil {
		return 0, err
	}
	lines, err := stamps(first)
	if err != nil {
		return 0, err
	}
	if err := b.settledAny(ctx, victim); err != nil {
		return 0, err
	}
	j, err := b.job(ctx, victim)
	if err != nil {
		return 0, err
	}
	return lines[0] - float64(started.UnixNano())/1e9 - j.Price.Save, b.clear(ctx)
}

// settledAny waits until no move of the job is open.
func (b *bench) settledAny(ctx context.Context, id int64) error {
	return site.Until(ctx, 2*time.Minute, fmt.Sprintf("job %d to settle", id), func() (bool, error) {
		j, err := b.job(ctx, id)
		return err == nil && j.Move == nil && j.Price.Measured > 0, nil
	})
}

var rpcCount = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^\s+(\S+)\s+\(\s*\d+\)\s+count:(\d+)`) })

// rpcs counts Slurm's RPCs in a cycle without decisions, with few jobs and with many.
func (b *bench) rpcs(ctx context.Context) error {
	if err := b.clear(ctx); err != nil {
		return err
	}
	path, _, err := b.script("idle")
	if err != nil {
		return err
	}
	submitted := 0
	for _, jobs := range []int{10, 500} {
		for ; submitted < jobs; submitted++ {
			if _, err := b.Submit(ctx, "", "--hold", "--max-gpus=4", path); err != nil {
				return err
			}
		}
		n, kinds, err := b.perCycle(ctx)
		if err != nil {
			return err
		}
		b.figure(fmt.Sprintf("rpcs_per_cycle_%d_jobs", jobs), n, "RPCs", "sdiag, 10 idle cycles of sluiced, each woken by an event and so with the node query: %s; wanted 3 at most and the same for 10 and 500 jobs", kinds)
	}
	return b.clear(ctx)
}

// perCycle wakes ten cycles by events and counts RPCs by message type between two
// readings of sdiag, without the readings themselves. A cycle that was woken always
// queries the nodes, one by the timer at most every second time (engine.Happened): these
// are the more expensive ones. squeue and sinfo each load the partitions, too.
func (b *bench) perCycle(ctx context.Context) (float64, string, error) {
	const cycles = 10
	time.Sleep(3 * time.Second) // the cycles woken by the submits themselves pass
	if _, err := b.Run(ctx, "", "sdiag", "--reset"); err != nil {
		return 0, "", err
	}
	before, err := b.Control().Report(ctx)
	if err != nil {
		return 0, "", err
	}
	last := before.At
	for range cycles {
		if err := b.Control().Event(ctx, 0, "bench"); err != nil {
			return 0, "", err
		}
		err := site.Until(ctx, time.Minute, "a cycle", func() (bool, error) {
			r, err := b.Control().Report(ctx)
			if err != nil || !r.At.After(last) {
				return false, err
			}
			last = r.At
			return true, nil
		})
		if err != nil {
			return 0, "", err
		}
	}
	out, err := b.Run(ctx, "", "sdiag")
	if err != nil {
		return 0, "", err
	}
	return countRPCs(out, cycles)
}

// uninvited lists the RPCs of nodes and of sdiag itself.
var uninvited = map[string]bool{
	"REQUEST_STATS_INFO": true, "REQUEST_STATS_RESET": true, "MESSAGE_NODE_REGISTRATION_STATUS": true, "REQUEST_PING": true,
}

func countRPCs(sdiag string, cycles int) (float64, string, error) {
	part, _, _ := strings.Cut(sdiag, "by user")
	var kinds []string
	total := 0
	for _, m := range rpcCount().FindAllStringSubmatch(part, -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil || uninvited[m[1]] {
			continue
		}
		total += n
		kinds = append(kinds, fmt.Sprintf("%s %d", m[1], n))
	}
	if total == 0 {
		return 0, "", fmt.Errorf("sdiag showed no RPC at all:\n%s", sdiag)
	}
	return float64(total) / float64(cycles), strings.Join(kinds, ", "), nil
}
