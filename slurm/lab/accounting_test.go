package lab_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm/lab"
	"github.com/sluice-hpc/sluice/slurm/lab/labtest"
)

// What sluice relies on about limits (elastic.Cap): if an operator writes a size beyond
// what the job's account may have, Slurm leaves the job pending as long as the limit
// stands; too many CPUs do not count. Measured on 22.05.8.
func TestAccountingEnforcesLimitsOnWhatOperatorsWrite(t *testing.T) {
	if err := lab.MissingAccounting(""); err != nil {
		if os.Getenv(labtest.RequireEnv) == "1" {
			t.Fatal(err)
		}
		t.Skipf("NOT TESTED with limits: %v", err)
	}
	l := labtest.Up(t, lab.Config{Nodes: 1, Accounting: true})
	job := strings.TrimSpace(slurm(t, l, "sbatch", "--parsable", "--hold", "--account="+lab.LabAccount, "--gpus=1", "-o", "/dev/null", "--wrap", "sleep 300"))
	user := slurm(t, l, "squeue", "-h", "-j", job, "-o", "%u")
	limit := func(what string) {
		slurm(t, l, "sacctmgr", "-i", "modify", "user", user, "where", "account="+lab.LabAccount, "set", what)
	}
	reason := func(want string) {
		t.Helper()
		until(t, "reason "+want, func() bool { return slurm(t, l, "squeue", "-h", "-j", job, "-o", "%T %r") == want })
	}
	limit("GrpTRES=gres/gpu=2,cpu=1")
	slurm(t, l, "scontrol", "update", "JobId="+job, "NumNodes=1-1", "NumTasks=4", "NumCPUs=4", "TresPerJob=gres:gpu:4", "TresPerNode=")
	slurm(t, l, "scontrol", "release", job)
	reason("PENDING AssocGrpGRES")
	limit("GrpTRES=gres/gpu=4,cpu=1")
	reason("RUNNING None") // on 4 CPUs, though 1 is allowed: an operator wrote them
	limit("GrpTRES=gres/gpu=1,cpu=1")
	time.Sleep(3 * time.Second)
	reason("RUNNING None") // running jobs are not affected
}

// Without the packages the error says what is missing, and what to type.
func TestAccountingSaysWhatIsMissing(t *testing.T) {
	if _, err := exec.LookPath("slurmdbd"); err == nil {
		t.Skip("NOT TESTED: slurmdbd is installed")
	}
	err := lab.MissingAccounting("")
	if err == nil || !strings.Contains(err.Error(), "slurmdbd") || !strings.Contains(err.Error(), "apt-get install") {
		t.Errorf("%v", err)
	}
}
