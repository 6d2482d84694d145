package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control"
	"github.com/sluice-hpc/sluice/elastic/control/controltest"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// fakeScancel notes how it was called; job 9 is not its user's.
const fakeScancel = `#!/bin/sh
echo "$@" >> "$(dirname "$0")/../scancel.log"
case " $* " in *" 9 "*)
	echo "scancel: error: Kill job error on job id 9: Access/permission denied" >&2
	exit 1;;
esac
`

// TestVerbs runs testdata/verbs/*.txt against a daemon with the canned report of
// controltest; ann is the account that runs the test. The scripts' commands "asked" and
// "daemon" inspect and change that daemon.
func TestVerbs(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/verbs",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Setup:               setupVerbs,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"asked": asked, "daemon": changeDaemon},
	})
}

func setupVerbs(env *testscript.Env) error {
	bin := filepath.Join(env.WorkDir, "slurm-bin")
	socket := filepath.Join(env.WorkDir, "sock")
	conf := filepath.Join(env.WorkDir, "sluice.toml")
	text := fmt.Sprintf("[paths]\nsocket = %q\njobs = %q\noutbox = %q\n[slurm]\nbin = %q\n", socket,
		filepath.Join(env.WorkDir, "jobs"), filepath.Join(env.WorkDir, "outbox"), bin)
	env.Setenv("SLUICE_CONF", conf)
	env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
	env.Setenv("TZ", "UTC")
	if err := errors.Join(os.Mkdir(bin, 0o755), os.WriteFile(filepath.Join(bin, "scancel"), []byte(fakeScancel), 0o755),
		os.WriteFile(conf, []byte(text), 0o644)); err != nil {
		return err
	}
	d := &cannedDaemon{service: controltest.New(), socket: socket}
	env.Values["daemon"] = d
	env.Defer(d.stop)
	return d.start()
}

// cannedDaemon is a control.Server over the canned report.
type cannedDaemon struct {
	service *controltest.Service
	socket  string
	cancel  context.CancelFunc
	done    chan error
}

func (d *cannedDaemon) start() error {
	for i := range d.service.Last.Jobs {
		if rec := &d.service.Last.Jobs[i].Record; rec.Owner.UID == controltest.AnnUID {
			rec.Owner.UID, rec.SlurmUID = uint32(os.Getuid()), uint32(os.Getuid())
		}
	}
	o := control.Options{UID: uint32(os.Getuid()), Now: func() time.Time { return controltest.Now }, Version: "1.0.0"}
	server, err := control.Listen(context.Background(), d.socket, o, d.service)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	d.cancel, d.done = cancel, make(chan error, 1)
	go func() { d.done <- server.Serve(ctx) }()
	return nil
}

func (d *cannedDaemon) stop() {
	d.cancel()
	<-d.done
	d.done <- nil // stopping twice is fine
}

// asked LINE... fails unless these are the last things the daemon was asked.
func asked(ts *testscript.TestScript, neg bool, args []string) {
	d := ts.Value("daemon").(*cannedDaemon)
	var got []string
	for _, line := range d.service.Asked() {
		line = strings.Replace(line, fmt.Sprintf("direct %d ", os.Getuid()), "direct ", 1)
		got = append(got, strings.Replace(line, fmt.Sprintf("trust %d ", os.Getuid()), "trust ", 1))
	}
	last := got[max(0, len(got)-len(args)):]
	if slices.Equal(last, args) == neg {
		ts.Fatalf("the daemon was asked %q", got)
	}
}

// changeDaemon WHAT changes the canned daemon: stop it, blind it, empty its
// report, or let it refuse orders in Slurm's words.
func changeDaemon(ts *testscript.TestScript, _ bool, args []string) {
	d := ts.Value("daemon").(*cannedDaemon)
	if args[0] == "stop" {
		d.stop()
		return
	}
	d.service.Set(func(s *controltest.Service) {
		next := *s.Last // a published report is never changed
		switch args[0] {
		case "blind":
			next.Blind, next.BlindFor = "squeue: slurmctld cannot be reached", 2*time.Minute
			s.Last = &next
		case "late":
			next.Next = controltest.Now.Add(-5 * time.Minute)
			s.Last = &next
		case "unread":
			next.Jobs = slices.Clone(next.Jobs)
			for i := range 2 {
				next.Jobs[i].Job.Unread = controltest.Now.Add(time.Duration(i-2) * time.Minute)
			}
			s.Last = &next
		case "unfit":
			next.Health = []elastic.Finding{
				{Node: "gpu1", Excluded: true, Why: "GPU 3: XID 79: fallen off the bus", By: []elastic.JobID{controltest.Steady}, Until: controltest.Now.Add(time.Hour)},
				{Node: "gpu2", Why: "GPU 0: row remapping failed", Note: "only one user reports it, and excludes another node already", By: []elastic.JobID{controltest.Steady}},
			}
			next.Nodes = slices.Clone(next.Nodes)
			next.Nodes[0].Usable, next.Nodes[0].Why = false, nodes.Unusable{State: nodes.Unfit, Note: "GPU 3: XID 79: fallen off the bus"}
			next.Jobs = slices.Clone(next.Jobs)
			next.Jobs[0].Gauged, next.Jobs[0].Utilisation = true, 0.93
			next.Jobs[1].Gauged, next.Jobs[1].Utilisation = true, 0.23
			next.Jobs[4].Job.MIG = true
			s.Last = &next
		case "array": // 41, which runs, 43 and 46 to 48; 44 says that it is part of it, and is bob's
			next.Jobs = slices.Clone(next.Jobs)
			for i, id := range []elastic.JobID{46, 47, 48} {
				jr := next.Jobs[2]
				jr.Record.ID, jr.Job.ID = id, id
				next.Jobs = slices.Insert(next.Jobs, 4+i, jr)
			}
			for i, n := range map[int]int{0: 0, 2: 1, 3: 9, 4: 2, 5: 3, 6: 7} {
				spec := &next.Jobs[i].Record.Tag.Spec
				if spec.Array = (elastic.Array{Job: 41, Index: n, Count: 5, Limit: 1}); n == 0 {
					spec.Array.Job = 0
				}
			}
			next.Jobs[3].Record.Owner.UID = controltest.BobUID
			s.Last = &next
		case "accounts": // 46 to 48 wait too, as sluiced lists them: by priority, 47 for its begin time first
			next.Jobs = slices.Clone(next.Jobs)
			for i, w := range []struct {
				id       elastic.JobID
				priority int64
			}{{47, 900}, {48, 70}, {46, 50}} {
				jr := s.Last.Jobs[2]
				job := *jr.Job
				jr.Job, jr.Record.ID, job.ID, job.Priority, job.Account, job.QOS = &job, w.id, w.id, w.priority, "bio", "high"
				if job.Blocked.Code = ""; w.id == 47 {
					job.Blocked = elastic.Blocked{Code: elastic.BeginsLater, Until: controltest.Now.Add(time.Hour)}
				}
				next.Jobs = slices.Insert(next.Jobs, i, jr)
			}
			s.Last = &next
		case "broken":
			s.Err = errors.New("read past jobs: disk I/O error")
		case "empty":
			next.Jobs = nil
			s.Last = &next
		case "young":
			s.Last = nil
		case "refuse":
			s.Refuse = func(job elastic.JobID, _ wire.Change) error {
				return &slurm.Error{Op: "scontrol update", JobID: slurm.JobID(job), Err: slurm.ErrRefused, Words: "Job is under review"}
			}
		default:
			ts.Fatalf("daemon %s: no such change", args[0])
		}
	})
}
