package conform

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/command"
	"github.com/sluice-hpc/sluice/slurm/lab"
)

// Lab returns a lab as a Subject, driven by the real programs as two ordinary
// accounts of this machine. The test must run as root, which alone can act as
// several users; the lab must be root's.
func Lab(t testing.TB, l *lab.Lab, owner, other string) Subject {
	t.Helper()
	me := as(t, l, owner)
	admin := func(args ...string) func(context.Context) error {
		return func(ctx context.Context) error { return run(l.Command(ctx, "scontrol", args...)) }
	}
	books := &books{l: l, owner: owner}
	return Subject{
		Owner: me, Other: as(t, l, other), Operator: as(t, l, l.SlurmUser()), OwnerName: owner,
		Nodes: l.NodeNames(), GPUs: l.Config().GPUs,
		Requeue: func(ctx context.Context, id slurm.JobID) error { return admin("requeue", fmt.Sprint(id))(ctx) },
		AdminHold: func(ctx context.Context, id slurm.JobID) error {
			return admin("hold", fmt.Sprint(id))(ctx)
		},
		Independent: func(ctx context.Context, id slurm.JobID) error {
			return admin("update", fmt.Sprintf("JobId=%d", id), "Dependency=")(ctx)
		},
		Drain:    func(ctx context.Context, node string) error { return l.Drain(ctx, node, "conform") },
		NodeDown: func(ctx context.Context, node string) error { return l.SetDown(ctx, node, "conform") },
		NodeReturn: func(ctx context.Context, node string) error {
			nodes, err := me.Nodes(ctx)
			if err != nil {
				return err
			}
			for _, n := range nodes {
				if ok, _ := n.Usable(); n.Name == node && ok {
					return nil // it came back by itself
				}
			}
			return l.Resume(ctx, node)
		},
		Gangs: true,
		Stop:  l.StopController, Start: l.StartController,
		Partition: func(ctx context.Context, name string, nodes []string, settings string) error {
			return admin(append([]string{"create", "PartitionName=" + name, "Nodes=" + strings.Join(nodes, ",")}, strings.Fields(settings)...)...)(ctx)
		},
		SetPartition: func(ctx context.Context, name, settings string) error {
			return admin(append([]string{"update", "PartitionName=" + name}, strings.Fields(settings)...)...)(ctx)
		},
		Reserve: func(ctx context.Context, name string, nodes []string, begins, lasts time.Duration) error {
			return admin("create", "reservation", "ReservationName="+name, "Nodes="+strings.Join(nodes, ","), "Users="+owner, "Flags=IGNORE_JOBS",
				fmt.Sprintf("StartTime=now+%d", int(begins/time.Second)), fmt.Sprintf("Duration=%d", int(lasts/time.Minute)))(ctx)
		},
		Unreserve: func(ctx context.Context, name string) error { return admin("delete", "ReservationName="+name)(ctx) },
		Features: func(ctx context.Context, node string, active, available []string) error {
			return admin("update", "NodeName="+node, "AvailableFeatures="+strings.Join(available, ","), "ActiveFeatures="+strings.Join(active, ","))(ctx)
		},
		Account: books.account, Below: books.below, Limit: books.limit, QOS: books.qos,
		Now: time.Now, Step: func() { time.Sleep(300 * time.Millisecond) }, Patience: 90 * time.Second, Lanes: 5,
	}
}

// programs are what a command.Client runs.
var programs = []string{"sbatch", "scontrol", "scancel", "squeue", "sinfo", "sacctmgr", "sacct", "sshare"}

// as returns a client whose programs run as the account: a folder of scripts
// that change the user and run the lab's own.
func as(t testing.TB, l *lab.Lab, account string) *command.Client {
	t.Helper()
	dir := t.TempDir()
	for _, name := range programs {
		path, err := exec.LookPath(l.Bin(name))
		if err != nil {
			t.Fatal(err)
		}
		script := fmt.Sprintf("#!/bin/sh\nexec setpriv --reuid=%s --regid=\"$(id -g %s)\" --init-groups -- %s \"$@\"\n", account, account, path)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c, err := command.New(command.Config{Dir: dir, Conf: l.Conf(), Env: l.Env(), Timeout: 60 * time.Second, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func run(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}
