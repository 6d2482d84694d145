package main_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/cmd/site"
)

// TestConfinedAccount: on a real Slurm with slurmdbd a confined job is charged to its user's account, with its user's QOS, though the service
// account is in other accounts, has another default and may use another QOS. What is not the user's is refused, wherever it is
// typed, and everything while slurmdbd does not answer.
func TestConfinedAccount(t *testing.T) {
	needsAccounting(t, "accounts of confined jobs were")
	t.Parallel()
	accounts := []string{"sluice-test-bank", "sluice-test-ros", "sluice-test-pat", "sluice-test-sam"}
	s := playConfined(t, accounts, "", "/usr", func(c *site.Config) { c.Lab.Accounting = true })
	s.must(s.Lab.Enroll(s.ctx, "phys", s.service, s.other))
	s.must(s.Lab.Enroll(s.ctx, "bio", s.service, s.reader))
	s.as("", "sacctmgr", "-i", "add", "qos", "high,low")
	s.limit("user", s.service, "qos=normal,high,low defaultqos=high")
	s.limit("user", s.reader, "qos=normal,low")
	s.as("", "scontrol", "create", "PartitionName=closed", "Nodes=gpu1", "AllowGroups="+s.service)
	s.furnish()
	s.as(s.owner, "sluice", "data", "add", "mammo", "--path", s.data, "--readers", s.reader+","+s.other, "--release", "20MB/job,30MB/week")

	script := func(user, lines string) string {
		name := filepath.Join(s.Home(user), "charged.sh")
		s.must(site.Put(name, []byte("#!/bin/bash\n#SLUICE --data=mammo --max-gpus=4\n"+lines+"true\n"), 0o755))
		return name
	}
	for _, c := range []struct {
		lines   string
		options []string
		want    string // account and QOS; else a part of the error
	}{
		{"", nil, "bio normal"},
		{"#SBATCH -A BIO\n", []string{"--qos=low"}, "bio low"},
		{"", []string{"--account=phys"}, "no association with the account phys in the partition gpu; your accounts: bio"},
		{"#SBATCH -A phys\n", nil, "no association with the account phys"},
		{"", []string{"--qos=high"}, "you may not use the QOS high in the account bio; yours: "},
		{"", []string{"--partition=closed"}, "is for the groups " + s.service},
		{"", []string{"--reservation=maint"}, "not whether you may"},
	} {
		id, err := s.Submit(s.ctx, s.reader, append(append([]string{"--hold"}, c.options...), script(s.reader, c.lines))...)
		if err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q %q: %v\nwant %s", c.lines, c.options, err, c.want)
			}
			continue
		}
		fields, err := s.JobFields(s.ctx, id)
		s.must(err)
		if got := fields["Account"] + " " + fields["QOS"]; got != c.want || !strings.HasPrefix(fields["UserId"], s.service) {
			t.Errorf("%q %q: charged to %s as %s, want %s", c.lines, c.options, got, fields["UserId"], c.want)
		}
		s.as(s.reader, "sluice", "cancel", fmt.Sprint(id))
	}
	goesOn := s.stopsSlurmdbd()
	if _, err := s.Submit(s.ctx, s.other, "--hold", script(s.other, "")); err == nil || !strings.Contains(err.Error(), "which accounts are yours") {
		t.Errorf("without slurmdbd: %v", err)
	}
	goesOn()
}
