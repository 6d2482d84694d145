package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// TestFirstContact: in each case a bare sluice says what is here and what to type, on 80 columns
// apart from texts of others.
func TestFirstContact(t *testing.T) {
	none := wire.Fail(wire.NoDaemon, "see x", "no sluiced: there is no socket /s")
	fine := wire.Status{Program: "1.0.0", Mode: "system", GPUs: 12, GPUsFree: 3}
	blind, troubled, own := fine, fine, fine
	blind.Blind, blind.BlindFor, own.Mode = "squeue: no answer \x1b[2J", 65, "user"
	troubled.Troubles = []wire.Trouble{{Code: "rights", Text: "sluice is no Slurm operator", Do: "sacctmgr modify user sluice set adminlevel=Operator"}}
	for name, c := range map[string]struct {
		m    meeting
		want []string
	}{
		"no configuration": {meeting{siteErr: errors.New("sluice.toml:3:1: unknown key colour")}, []string{"cannot be read:", "sluice.toml:3:1", "sluice doctor"}},
		"no Slurm":         {meeting{reachErr: none, slurm: slurmMissing}, []string{"There is no Slurm on this machine", "apt install sluice-lab"}},
		"no Slurm, a lab":  {meeting{reachErr: none, slurm: slurmMissing, lab: true}, []string{"  sluice lab up --daemon "}},
		"Slurm is silent":  {meeting{reachErr: none, slurm: slurmSilent, words: "Unable to contact slurm controller"}, []string{"Slurm does not answer:\nUnable to contact", "scontrol ping"}},
		"no daemon":        {meeting{reachErr: none}, []string{"Slurm answers. No sluiced does", "no sluiced: there is no socket /s (see x)", "sluiced --user", "systemctl status sluiced"}},
		"no rights":        {meeting{reachErr: wire.Fail(wire.Denied, "", "may not open the socket /s"), user: "eve", socket: "/s"}, []string{"eve may not use it", "may not open the socket /s", "ls -l /s", "sluiced --user"}},
		"a blind daemon":   {meeting{status: &blind}, []string{"no answer from Slurm for 1:05", `no answer \x1b[2J`, "scontrol ping"}},
		"daemon's rights":  {meeting{status: &troubled}, []string{"sluiced answers, but cannot work:", "no Slurm operator", "sacctmgr modify user"}},
		"no jobs":          {meeting{status: &fine}, []string{"sluiced 1.0.0 manages the cluster: 12 GPUs, 3 free.", "You have no jobs.", "sluice init job.sh train.py", "sluice submit"}},
		"jobs":             {meeting{status: &own, running: 1, waiting: 2}, []string{"manages your own jobs", "You have 3 jobs: 1 with GPUs, 2 waiting.", "sluice top", "sluice queue --me"}},
	} {
		var b bytes.Buffer
		if err := c.m.print(&b); err != nil {
			t.Fatal(err)
		}
		for _, want := range append(c.want, "next:\n", "'sluice --help' lists all commands.") {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: %q is not in\n%s", name, want, b.String())
			}
		}
		for line := range strings.SplitSeq(b.String(), "\n") {
			if utf8.RuneCountInString(line) > 80 {
				t.Errorf("%s: %q", name, line)
			}
		}
	}
}
