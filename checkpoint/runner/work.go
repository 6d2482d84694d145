package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/ranks"
)

// Operations that may take long run beside the loop, one at a time, so that signals,
// requests and the script's end are handled without delay.

// result is the result of one operation.
type result struct {
	work  int // its number
	value any // found, proved, or nil
}

// origin is what a start of the script starts from.
type origin struct {
	name    string // checkpoint; "" = from zero
	step    int64  // training step at which it was saved
	epoch   float64
	skipped []string
	master  string
	port    int
}

// found: the newest valid checkpoint, or the reason why it is unknown.
type found struct {
	checkpoint checkpoint.Checkpoint
	origin     origin
	own        *readying
	err        error
}

// proved: one checkpoint was verified. answer is set if a request waits for it.
type proved struct {
	checkpoint checkpoint.Checkpoint
	answer     *verified
}

// background starts an operation in place of the one before, whose result is then
// ignored.
func (r *run) background(work func(context.Context) any) {
	if r.cancel != nil {
		r.cancel()
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	r.work++
	number := r.work
	// Ends with its operation, which ctx cuts short.
	go func() {
		value := work(ctx)
		select {
		case r.results <- result{number, value}:
		case <-ctx.Done():
		}
	}()
}

// finished handles the result of the background work.
func (r *run) finished(done result) {
	if done.work != r.work {
		return
	}
	r.cancel()
	r.cancel = nil
	switch v := done.value.(type) {
	case found:
		if v.err != nil {
			r.say("error: the job's checkpoints cannot be listed: %v. The job ends rather than starting from zero; submit it again when the file system works", v.err)
			r.happen(lost{})
			return
		}
		newer := r.starts > 0 && v.origin.name > r.from.name
		r.from = v.origin
		r.watch.proved = v.checkpoint.Name
		r.adopted.begin(v.own, r.Now())
		r.happen(ready{newer})
		r.prune(v.checkpoint)
	case proved:
		if v.answer != nil {
			r.happen(*v.answer)
		}
		r.watch.proven(v)
		r.prune(v.checkpoint)
	}
}

const (
	listTries = 60 // attempts at a checkpoint folder that cannot be listed
	listPause = time.Second
)

// findNewest finds what the script is to start from.
func (r *run) findNewest() func(context.Context) any {
	// Not by the job's number: jobs of two clusters on one machine may have the same.
	seed := fmt.Sprintf("%s.%d.%d", r.job.id.Token, r.job.restarts, r.starts)
	hosts, host := r.where.hosts, r.Host
	own := r.readying()
	pause := r.apart(r.state.pause(r.Patience, r.Linger, r.Backoff))
	if r.retryAt = (time.Time{}); pause > 0 && r.state.tried > 0 {
		r.retryAt = r.Now().Add(pause)
	}
	return func(ctx context.Context) any {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		master := make(chan string, 1)
		go func() { master <- masterAddress(ctx, hosts, host) }() // bounded; overlaps the verification
		f := found{own: own}
		own.adopt(ctx)
		for try := range listTries {
			if f.err = r.newest(ctx, &f); f.err == nil || ctx.Err() != nil {
				break
			}
			if try == 0 {
				r.say("the job's checkpoints cannot be listed, trying again: %v", f.err)
			}
			select {
			case <-time.After(listPause):
			case <-ctx.Done():
			}
		}
		own.order(ctx, f.checkpoint)
		f.origin.master = <-master
		port, err := ranks.FreePort(seed)
		if err != nil {
			r.say("MASTER_PORT: %v", err)
		}
		f.origin.port = port
		return f
	}
}

func (r *run) newest(ctx context.Context, f *found) error {
	return r.job.series(func(s *checkpoint.Series) error {
		c, skips, err := s.Newest(ctx)
		f.checkpoint, f.origin.name, f.origin.skipped = c, c.Name, nil
		f.origin.step, f.origin.epoch = c.Manifest.Step, c.Manifest.Epoch
		for _, skip := range skips {
			f.origin.skipped = append(f.origin.skipped, skip.String())
		}
		return err
	})
}

// proveAnswer verifies the checkpoint that answers the request.
func (r *run) proveAnswer(name string) func(context.Context) any {
	return func(ctx context.Context) any {
		v := verified{name: name, committed: r.committed(name)}
		var c checkpoint.Checkpoint
		v.err = r.job.series(func(s *checkpoint.Series) (err error) {
			c, err = s.Verify(ctx, name)
			return err
		})
		if v.err != nil && ctx.Err() == nil {
			r.say("checkpoint %s cannot be used: %v", name, v.err)
		}
		v.manifest, v.at = c.Manifest, r.Now()
		return proved{c, &v}
	}
}

// committed is when the manifest was renamed into place; now, if unknown.
func (r *run) committed(name string) time.Time {
	if r.fence != nil { // the program sets the times of its files
		return r.Now()
	}
	info, err := os.Stat(filepath.Join(r.job.checkpoints(), name, checkpoint.ManifestFile))
	if err != nil {
		return r.Now()
	}
	return info.ModTime()
}

// verifyOwnSave verifies a checkpoint that the program saved on its own, so that older ones can be
// removed. Requests have precedence: it starts only if nothing else runs.
func (r *run) verifyOwnSave() {
	if r.alone || r.cancel != nil || r.state.phase != checkpoint.Training {
		return
	}
	name := r.newestSealed()
	if name == "" || name <= r.watch.proved || name == r.watch.bad {
		return
	}
	r.background(func(ctx context.Context) any {
		var c checkpoint.Checkpoint
		err := r.job.series(func(s *checkpoint.Series) (err error) {
			c, err = s.Verify(ctx, name)
			return err
		})
		if err != nil && ctx.Err() == nil {
			r.say("checkpoint %s cannot be used: %v", name, err)
			c.Name = name
		}
		return proved{checkpoint: c}
	})
}

// newestSealed returns the newest checkpoint with a manifest; "" if there is none.
func (r *run) newestSealed() string {
	var newest string
	err := r.job.series(func(s *checkpoint.Series) error {
		names, err := s.Names()
		for _, name := range names {
			if _, bad := s.Manifest(name); bad == nil {
				newest = name
				break
			}
		}
		return err
	})
	r.complain("listing the checkpoints", err)
	return newest
}

// prune removes checkpoints older than one that was just verified.
func (r *run) prune(newest checkpoint.Checkpoint) {
	if newest.Manifest.Sequence == 0 || r.cancel != nil {
		return // none was verified, or something more urgent is pending
	}
	r.background(func(ctx context.Context) any {
		err := r.job.series(func(s *checkpoint.Series) error {
			_, err := s.Prune(newest, r.Keep)
			return err
		})
		if err != nil {
			r.say("old checkpoints: %v", err)
		}
		return nil
	})
}
