package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/etc"
	"github.com/sluice-hpc/sluice/slurm"
)

const (
	// troubleEvery is how often an existing trouble is checked, and wellEvery how often
	// the daemon checks for new ones.
	troubleEvery = 5 * time.Second
	wellEvery    = 10 * time.Minute
	// againEvery is how long a reported problem is not reported again.
	againEvery = time.Hour
)

// Codes of control.Trouble.
const (
	noRights = "rights"
	noOutbox = "outbox"
	noJobs   = "jobs"
)

// troubles are conditions that keep the daemon from working until somebody repairs them.
// Each is logged when it begins and when it ends.
type troubles struct {
	mu  sync.Mutex
	now []wire.Trouble
	ask chan struct{} // set after a failure that may be one
}

// list returns the present ones, for the API.
func (t *troubles) list() []wire.Trouble {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.now)
}

// suspect makes the daemon check soon, unless there are troubles already, which are
// checked again anyway. It never blocks.
func (t *troubles) suspect() {
	if len(t.list()) > 0 {
		return
	}
	select {
	case t.ask <- struct{}{}:
	default:
	}
}

// watchTroubles checks at once, and then as long as the daemon runs.
func (d *daemon) watchTroubles(ctx context.Context, c etc.Config) error {
	if d.options.user {
		return nil // the user's own jobs and folders
	}
	for ctx.Err() == nil {
		found := d.findTroubles(ctx, c)
		if ctx.Err() != nil {
			break
		}
		d.tellTroubles(found)
		pause := wellEvery
		if len(found) > 0 {
			pause = troubleEvery
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		case <-d.troubles.ask:
			time.Sleep(time.Second) // failures come in bursts
		}
	}
	return nil
}

func (d *daemon) tellTroubles(found []wire.Trouble) {
	d.troubles.mu.Lock()
	before := d.troubles.now
	d.troubles.now = found
	d.troubles.mu.Unlock()
	for _, t := range found {
		if !slices.Contains(before, t) {
			d.log.Error().Str("event", "trouble").Str("trouble", t.Code).Msg(t.Text + "; type: " + t.Do)
		}
	}
	for _, t := range before {
		if !slices.ContainsFunc(found, func(f wire.Trouble) bool { return f.Code == t.Code }) {
			d.log.Info().Str("event", "mended").Str("trouble", t.Code).Msg("mended")
			d.loop.wake()
		}
	}
}

func (d *daemon) findTroubles(ctx context.Context, c etc.Config) []wire.Trouble {
	me, group := self()
	var all []wire.Trouble
	if rights, err := d.rights.Rights(ctx, me); err == nil { // else Slurm does not answer, which is reported elsewhere
		if text, do := rights.Missing(); text != "" {
			all = append(all, wire.Trouble{Code: noRights, Text: text, Do: do})
		}
	}
	if err := writable(c.Paths.Outbox); err != nil {
		all = append(all, wire.Trouble{Code: noOutbox, Text: fmt.Sprintf("sluiced (%s) cannot write its requests to jobs: %v", me, err),
			Do: fmt.Sprintf("install -d -m 711 -o %s -g %s %s", me, group, c.Paths.Outbox)})
	}
	if info, err := os.Stat(c.Paths.Jobs); err != nil || !ours(info) {
		text := fmt.Sprintf("%s is not of sluiced's group %s, which jobs' folders inherit: sluiced cannot read them", c.Paths.Jobs, group)
		if err != nil {
			text = fmt.Sprintf("the folder of all jobs: %v", err)
		}
		all = append(all, wire.Trouble{Code: noJobs, Text: text, Do: fmt.Sprintf("install -d -m 3777 -o %s -g %s %s", me, group, c.Paths.Jobs)})
	}
	return all
}

// self is the daemon's account and group, by name if they have one.
func self() (account, group string) {
	account, group = strconv.Itoa(os.Geteuid()), strconv.Itoa(os.Getegid())
	if u, err := user.LookupId(account); err == nil {
		account = u.Username
	}
	if g, err := user.LookupGroupId(group); err == nil {
		group = g.Name
	}
	return account, group
}

// ours reports whether the daemon can read files that inherit the folder's group.
func ours(info fs.FileInfo) bool {
	stat, is := info.Sys().(*syscall.Stat_t)
	if !is || os.Geteuid() == 0 || int(stat.Gid) == os.Getegid() {
		return true
	}
	groups, err := os.Getgroups()
	return err != nil || slices.Contains(groups, int(stat.Gid))
}

// writable makes and removes a file in the folder.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".sluiced-")
	var path *fs.PathError
	if errors.As(err, &path) { // its name is different each time
		return fmt.Errorf("%s: %w", dir, path.Err)
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// repeats keeps a problem that occurs in every cycle from filling the log.
type repeats struct {
	told map[string]*repeated
}

type repeated struct {
	at     time.Time
	missed int
}

// mostRepeats bounds the number of remembered problems; beyond it every problem is logged
// again.
const mostRepeats = 10_000

// tell reports whether a problem must be logged, and how often it was suppressed since
// the last time.
func (r *repeats) tell(key string, now time.Time) (tell bool, missed int) {
	if r.told == nil || len(r.told) >= mostRepeats {
		r.told = map[string]*repeated{}
	}
	p := r.told[key]
	switch {
	case p == nil:
		r.told[key] = &repeated{at: now}
		return true, 0
	case now.Sub(p.at) >= againEvery || now.Before(p.at):
		missed = p.missed
		*p = repeated{at: now}
		return true, missed
	}
	p.missed++
	return false, 0
}

// problemKey identifies a failed action: a problem of the daemon itself is the same for
// all jobs; else it is the job and the failure.
func problemKey(e event.Event) string {
	switch {
	case e.Err == nil:
		return ""
	case errors.Is(e.Err, slurm.ErrPermission):
		return noRights
	case errors.Is(e.Err, fs.ErrPermission), errors.Is(e.Err, syscall.EROFS):
		return noOutbox
	}
	return fmt.Sprintf("%d %s", e.Job, e.Text)
}
