package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/reach"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/etc"
)

// firstPatience bounds each question of a bare "sluice".
const firstPatience = 5 * time.Second

// meeting is what a bare "sluice" finds on this machine.
type meeting struct {
	socket   string
	user     string // its caller
	siteErr  error  // the configuration cannot be read
	status   *wire.Status
	reachErr error // why sluiced does not answer
	running  int   // own jobs
	waiting  int
	slurm    slurmHere // asked only if sluiced does not answer
	words    string    // of Slurm, if it does not answer either
	lab      bool      // sluice lab is installed
}

type slurmHere int

const (
	slurmAnswers slurmHere = iota
	slurmSilent
	slurmMissing // its commands are not on this machine
)

// greet prints what is here, and what to type next.
func greet(cmd *cobra.Command) error {
	site, err := reach.Site(cmd)
	m := meeting{siteErr: err, lab: companion("sluice-lab") != "", user: userName(), socket: site.Paths.Socket}
	if err == nil {
		m.ask(cmd.Context(), site)
	}
	return m.print(cmd.OutOrStdout())
}

// ask asks sluiced, and Slurm if sluiced does not answer.
func (m *meeting) ask(ctx context.Context, site etc.Config) {
	ctx, stop := context.WithTimeout(ctx, 2*firstPatience)
	defer stop()
	client, err := reach.Dial(site)
	if err == nil {
		var status wire.Status
		if status, err = client.Status(ctx); err == nil {
			m.status = &status
			m.count(client.Present(ctx))
			return
		}
	}
	m.reachErr = err
	if _, err := exec.LookPath(filepath.Join(site.Slurm.Bin, "sbatch")); err != nil {
		m.slurm = slurmMissing
		return
	}
	site.Slurm.Timeout = min(site.Slurm.Timeout, firstPatience)
	if _, err := (patient{site: site, now: time.Now}).ask(ctx, "scontrol", "show", "config"); err != nil {
		m.slurm, m.words = slurmSilent, oneLine(err.Error())
	}
}

// count counts the caller's own jobs.
func (m *meeting) count(report wire.Report, err error) {
	for _, j := range report.Jobs {
		switch {
		case err != nil || j.Ended || j.UID != uint32(os.Getuid()):
		case j.GPUs > 0:
			m.running++
		default:
			m.waiting++
		}
	}
}

// step is something to type, and what it is for.
type step struct{ what, why string }

func (m *meeting) print(w io.Writer) error {
	here, next := m.advice()
	var b strings.Builder
	for _, line := range here {
		b.WriteString(terminal.Escape(line) + "\n")
	}
	if len(next) > 0 {
		b.WriteString("\nnext:\n")
	}
	width := 0
	for _, s := range next {
		width = max(width, terminal.Width(s.what))
	}
	for _, s := range next {
		fmt.Fprintf(&b, "  %-*s  %s\n", width, terminal.Escape(s.what), terminal.Escape(s.why))
	}
	b.WriteString("\n'sluice --help' lists all commands.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// advice is what is here, and the steps from there.
func (m *meeting) advice() (here []string, next []step) {
	switch {
	case m.siteErr != nil:
		return []string{"sluice's configuration cannot be read:", m.siteErr.Error()}, []step{{"sluice doctor", "once that file is right"}}
	case m.status != nil:
		return m.withDaemon()
	case errors.Is(m.reachErr, wire.ErrDenied):
		return []string{fmt.Sprintf("A sluiced runs here, and %s may not use it:", m.user), m.reachErr.Error()},
			[]step{{"ls -l " + m.socket, "whose it is; unset SLUICE_CONF if it is another user's"}, {"sluiced --user", "starts your own, for your own jobs"}}
	case m.slurm == slurmMissing:
		next = []step{{"ssh LOGIN-NODE", "of a cluster with Slurm, and type sluice there"}, {"[slurm] bin", "in sluice.toml, where Slurm is in another folder"}}
		if m.lab {
			next = append(next, step{"sluice lab up --daemon", "a Slurm on this machine, to try sluice"})
		} else {
			next = append(next, step{"apt install sluice-lab", "then 'sluice lab up --daemon': a Slurm here, to try it"})
		}
		return []string{"There is no Slurm on this machine: sbatch is not found."}, next
	case m.slurm == slurmSilent:
		return []string{"Slurm's commands are here, but Slurm does not answer:", m.words},
			[]step{{"scontrol ping", "says which controller is down"}, {"sluice doctor", "checks the whole set-up"}}
	}
	here = []string{"Slurm answers. No sluiced does, so jobs would not be resized:", m.reachErr.Error()}
	return here, []step{{"sluiced --user", "starts your own, for your own jobs"}, {"systemctl status sluiced", "the cluster's, on its host"},
		{"sluice doctor", "checks the whole set-up"}}
}

// withDaemon is the advice where sluiced answers.
func (m *meeting) withDaemon() (here []string, next []step) {
	s := m.status
	switch {
	case s.Blind != "":
		return []string{fmt.Sprintf("sluiced answers, but has had no answer from Slurm for %s:", present.Span(s.BlindFor)), s.Blind},
			[]step{{"scontrol ping", "says which controller is down"}, {"sluice doctor", "checks the whole set-up"}}
	case len(s.Troubles) > 0:
		here = []string{"sluiced answers, but cannot work:"}
		for _, t := range s.Troubles {
			here = append(here, t.Text)
			next = append(next, step{t.Do, "(an administrator)"})
		}
		return here, next
	}
	whose := "the cluster"
	if s.Mode == "user" {
		whose = "your own jobs"
	}
	here = []string{fmt.Sprintf("sluiced %s manages %s: %s, %d free.", s.Program, whose, terminal.Plural(s.GPUs, "GPU"), s.GPUsFree)}
	if m.running+m.waiting > 0 {
		here = append(here, fmt.Sprintf("You have %s: %d with GPUs, %d waiting.", terminal.Plural(m.running+m.waiting, "job"), m.running, m.waiting))
		return here, []step{{"sluice top", "watch them"}, {"sluice queue --me", "list them"}, {"sluice explain JOB", "why a job has its size"}}
	}
	here = append(here, "You have no jobs.")
	return here, []step{{"sluice init job.sh train.py", "makes a script and its program elastic"},
		{"sluice submit --max-gpus=4 job.sh", "submits it"}, {"sluice top", "shows the cluster"}}
}

// userName is the caller's account.
func userName() string {
	if name := os.Getenv("USER"); name != "" {
		return name
	}
	return fmt.Sprintf("uid %d", os.Getuid())
}
