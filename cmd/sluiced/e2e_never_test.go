package main_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/slurm/lab"
)

// A time limit beyond the MaxTime of all of a job's partitions is refused at submit, unless a QOS
// overrides MaxTime. Slurm would accept the job and never start it.
func TestBeyondMaxTime(t *testing.T) {
	needsAccounting(t, "time limits were")
	t.Parallel()
	s := play(t, withNodes(1, 4), func(c *site.Config) {
		c.Lab.Accounting = true
		c.Lab.Partitions = []lab.Partition{{Name: "day", Options: "MaxTime=1-0"}, {Name: "hour", Options: "MaxTime=60"}}
	})
	refused := func(want string, args ...string) {
		t.Helper()
		out, err := s.Run(s.ctx, "", "sluice", append([]string{"submit", "--gpus=1", "--wrap=true"}, args...)...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %s, %v", args, out, err)
		}
	}
	refused("sluice: error: --time=5-0 (the command line): the job would never start: that is more than MaxTime, 1-00:00:00 of partition day; give --time=1-00:00:00 or less", "--time=5-0")
	refused("1-00:00:00 of partition day and 01:00:00 of partition hour", "-t", "2-0", "-p", "hour,day")
	refused("01:00:00 of partition hour", "-t", "UNLIMITED", "-p", "hour")
	if left := s.as("", "squeue", "--noheader"); left != "" {
		t.Errorf("what was refused left jobs:\n%s", left)
	}
	two := s.submit("two", "", 3, []string{"--time=120", "--partition=hour,day"})
	two.completes()

	s.as("", "sacctmgr", "-i", "add", "qos", "long")
	s.as("", "sacctmgr", "-i", "modify", "qos", "long", "set", "flags=PartitionTimeLimit")
	s.as("", "sacctmgr", "-i", "modify", "user", "root", "set", "qos+=long")
	long := s.submit("long", "", 3, []string{"--time=5-0", "--qos=long"})
	long.completes() // sluiced knows of QOS, too
	never := s.submit("never", "", 3, []string{"--time=5-0"})
	never.until("to be told that it never starts", func(v wire.Job) bool { return strings.Contains(v.Reason, "never starts") })
	s.as("", "scontrol", "update", fmt.Sprintf("JobId=%d", never.id), "TimeLimit=60")
	never.completes()
}
