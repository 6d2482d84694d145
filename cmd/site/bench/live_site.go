package bench

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
	"github.com/sluice-hpc/sluice/slurm/lab"
)

//go:embed live_train.py
var train string

// liveConfig is sluice.toml of the live site.
func liveConfig(policy string, price elastic.Price) string {
	return fmt.Sprintf(`[cycle]
period = %q
transition = %q
[policy]
name = %q
[resize]
grace = %q
cooldown = %q
payback = %g
confirm = %q
moves = %d
deaf_after = %d
save = %q
drain = %q
start = %q
load = %q
[log]
level = "debug"
`, livePeriod, liveTransition, policy, liveLimits.Grace, liveLimits.Cooldown, liveLimits.Payback, liveLimits.Confirm,
		liveLimits.Moves, liveLimits.DeafAfter, price.Save, price.Drain, price.Start, price.Load)
}

// onSite runs do on a fresh site under the policy and then takes everything down: each
// policy starts without learned speeds.
func (l *live) onSite(ctx context.Context, policy string, price elastic.Price, do func(*liveSite) error) (err error) {
	s, err := site.Up(ctx, site.Config{
		Lab: lab.Config{
			Dir: filepath.Join(os.TempDir(), fmt.Sprintf("sluice-live-%d", os.Getpid())), Root: l.o.Root,
			Nodes: liveNodes, GPUs: liveGPUs, FastScheduling: true, // it compares policies: minutes are seconds here
			MinJobAge: time.Hour, // so that Slurm remembers every end
		},
		Bin: l.o.Bin, Config: liveConfig(policy, price),
	})
	if err != nil {
		return err
	}
	defer func() {
		clean, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
		defer stop()
		err = errors.Join(err, s.Down(clean))
	}()
	l.slurm = fmt.Sprint(s.Lab.Release())
	if err := s.PutLibrary(); err != nil {
		return err
	}
	if err := site.Put(s.Path("live_train.py"), []byte(train), 0o644); err != nil {
		return err
	}
	if err := s.Start(ctx); err != nil {
		return err
	}
	if err := do(&liveSite{s}); err != nil {
		return fmt.Errorf("%w\nsluiced's last words:\n%s", err, s.Tail(15))
	}
	return nil
}

// liveSite is a site on which emulated training runs.
type liveSite struct{ *site.Site }

// submit submits a job as a user would, and returns its number.
func (s *liveSite) submit(ctx context.Context, j workload.Job) (int64, error) {
	speeds, err := json.Marshal(speedTable(j.Speeds))
	if err != nil {
		return 0, err
	}
	path := s.Path("home", j.Name)
	if err := site.Put(path+".json", speeds, 0o644); err != nil {
		return 0, err
	}
	text := fmt.Sprintf("#!/bin/bash\nexec /usr/bin/python3 -S -u %s %s %s\n", s.Path("live_train.py"), path+".json", amount(j.Spec.Total))
	if err := site.Put(path+".sh", []byte(text), 0o755); err != nil {
		return 0, err
	}
	return s.Submit(ctx, "", append(submitOptions(j), path+".sh")...)
}

// submitOptions are the options of sluice submit for the job's spec.
func submitOptions(j workload.Job) []string {
	out := []string{
		"--job-name=" + j.Name, "--output=" + j.Name + ".out",
		"--min-gpus=" + strconv.Itoa(j.Spec.Min), "--epochs=" + amount(j.Spec.Total),
	}
	if j.Spec.Max > 0 {
		out = append(out, "--max-gpus="+strconv.Itoa(j.Spec.Max))
	}
	if j.Spec.AllowUneven {
		out = append(out, "--allow-uneven")
	}
	if j.Spec.Model != "" {
		out = append(out, "--model="+j.Spec.Model)
	}
	return out
}

func amount(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// speedTable is the time of a unit on every split of the live cluster, by the
// GPUs on each node: "4,2".
func speedTable(speeds workload.Speeds) map[string]float64 {
	out := map[string]float64{}
	var add func(split []int)
	add = func(split []int) {
		if len(split) > 0 {
			if s := speeds.Seconds(split); s > 0 && !math.IsInf(s, 0) {
				out[splitKey(split)] = s
			}
		}
		if len(split) == liveNodes {
			return
		}
		for g := 1; g <= liveGPUs; g++ {
			add(append(split[:len(split):len(split)], g))
		}
	}
	add(nil)
	return out
}

func splitKey(split []int) string {
	words := make([]string, len(split))
	for i, g := range split {
		words[i] = strconv.Itoa(g)
	}
	return strings.Join(words, ",")
}
