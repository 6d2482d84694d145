package main

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/checkpoint/confine"
	"github.com/sluice-hpc/sluice/checkpoint/python"
	"github.com/sluice-hpc/sluice/checkpoint/runner"
	"github.com/sluice-hpc/sluice/cmd/terminal"
)

// A runner must handle signals also while a file system hangs.
func init() {
	if len(os.Args) > 1 && os.Args[1] == "run" {
		runner.ListenAlways()
	}
}

// newRunCommand returns "sluice run", which the rendered batch script of every job execs.
func newRunCommand() *cobra.Command {
	var c runner.Config
	var fence string
	cmd := &cobra.Command{
		Use:   "run [--outbox DIR] [--keep N] [--unit epoch|step] -- SCRIPT [ARGS...]",
		Short: "Run a job's script inside the job",
		Long: `Every job made by sluice submit runs its script through this command. It sets the
script's environment for the present allocation, starts it from the newest valid
checkpoint, passes requests to save on to the training program, verifies what was
saved, and ends with the script's exit code.

The script's folder is the job's folder, made by sluice submit. A script outside
such a folder runs unchanged.

The script's environment has, in addition to Slurm's variables:
  SLUICE                the sluice program
  SLUICE_JOB_ID         the job; always the same
  SLUICE_JOB_DIR        its folder on the shared file system
  SLUICE_CHECKPOINTS    the folder of its checkpoints
  SLUICE_RESUME         the checkpoint to start from; empty = from zero
  SLUICE_REQUEST        a file that exists while the job is asked to save
  SLUICE_RESTARTS       how often Slurm has requeued the job
  SLUICE_INCARNATION    how often sluice has placed it
  SLUICE_UNIT           the job's unit of work: epoch or step
  SLUICE_GPUS           total of GPUs; empty if unknown
  SLUICE_NODES          nodes
  SLUICE_SPLIT          GPUs of each node, as in gpu1:4,gpu2:1; empty likewise
  SLUICE_GPU_TYPE       type of the GPUs, as in a100; empty if unknown
  SLUICE_MAX_GPUS       maximum of GPUs of the job; empty = no bound
  SLUICE_PROFILE_STEPS  steps of warm-up + steps to report the pace of; empty = none
  SLUICE_ARRAY_JOB_ID, SLUICE_ARRAY_TASK_ID, SLUICE_ARRAY_TASK_COUNT, _MIN,
  _MAX, _STEP
                        of a task of a job array only; also as SLURM_ARRAY_...
  SLUICE_PYTHON         folder of the Python library, also in PYTHONPATH
  SLUICE_RUNNER         the number of this process
  MASTER_ADDR           address of the first node
  MASTER_PORT           a free port there, another in each run

The beginning and the end of each run of the script are marked by a line in the job's
output ("== sluice: segment ..."), unless SLUICE_BANNERS=no is in the job's
environment. SLUICE_GPU_FILES names the GPUs' device files if they are not
/dev/nvidia%d (%d: the GPU's number, %n: the node), so that a run is over only
when no process of the job has one of them open.

With --fence the script and all that it starts run in a fence of bubblewrap: without a
network (on several nodes: with one of their own, which only they reach), with the data sets read-only in $SLUICE_DATA, and with files that are to leave
in $SLUICE_OUTPUT. Such a job ends with exit code 0 or 1.

Variables that sbatch stored for the job's first size (SLURM_NTASKS, SLURM_GPUS and
similar) are removed, so that a plain "srun" starts one task on every node of the
present allocation, with all of the job's GPUs there.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) (err error) {
			c.Script, c.Args = args[0], args[1:]
			c.Env, c.Now = os.Environ(), time.Now
			c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
			c.Host, _ = os.Hostname() // only shown to users
			c.Sluice, _ = os.Executable()
			if c.Trial.Sweep == 0 { // the runner of the lane reads the GPUs
				c.Gauge = companion("sluice-nvml")
			}
			c.Python = pythonLibrary(c.Script, fence != "")
			if c.Fence, err = readFence(fence); err != nil {
				return err
			}
			return exitAs(runner.Run(c))
		},
	}
	cmd.Flags().SetInterspersed(false) // what follows the script is the script's
	cmd.Flags().StringVar(&c.Outbox, "outbox", "", "directory of sluiced's requests (default: outbox beside the directory of the jobs)")
	cmd.Flags().StringVar(&fence, "fence", "", "file that describes the fence of a confined job; written by sluice-vaultd")
	cmd.Flags().IntVar(&c.Keep, "keep", 2, "complete checkpoints to keep")
	// The defaults of options MUST stay those that runOptions leaves out.
	c.Every, c.Judge = runner.Every{Auto: true}, true
	cmd.Flags().Var(&c.Every, "checkpoint-every", "how often to ask the program for a checkpoint: chosen from the cost of a save (auto), never (off), or a time")
	cmd.Flags().DurationVar(&c.MTBF, "node-mtbf", runner.UsualMTBF, "mean time between failures of one node")
	cmd.Flags().StringVar(&c.Signal, "checkpoint-signal", "", "signal sent with such a request: USR1, USR2 or HUP")
	cmd.Flags().Var((*retries)(&c), "retries", "how often to start a failed script again without a newer checkpoint; auto: 2, unless the failure is its own")
	cmd.Flags().StringVar(&c.Adopt.Glob, "glob", "", "adopt checkpoints of this pattern that the program saves by itself")
	cmd.Flags().StringVar(&c.Adopt.Marker, "marker", "", "file in such a checkpoint that marks it complete (default: it is complete once unchanged)")
	cmd.Flags().DurationVar(&c.Adopt.Still, "still", 10*time.Second, "how long nothing in such a checkpoint may have changed")
	cmd.Flags().StringVar(&c.Adopt.Progress, "progress", "", "expression that finds epoch, step, total, seconds or speed in the job's output")
	cmd.Flags().Var(&c.Profile, "profile", "make the program report its pace: steps of warm-up, and steps to measure")
	cmd.Flags().DurationVar(&c.Profile.Limit, "profile-limit", 0, "end the run when they are measured, or after this long")
	cmd.Flags().Float64Var(&c.Adopt.Total, "total", 0, "the job's total work, in its unit; 0 = unknown")
	cmd.Flags().Var(&c.Array, "array", "the job's part in a job array")
	cmd.Flags().Var(&c.Trial, "trial", "the script is this start of a trial of a sweep")
	cmd.Flags().IntVar(&c.GPUs, "gpus", 0, "GPUs that the job was submitted with on several nodes; 0 = on one")
	cmd.Flags().StringVar(&c.Unit, "unit", "epoch", "the job's unit of work, epoch or step")
	return cmd
}

// readFence reads the fence of a confined job; nil if no file is named.
func readFence(name string) (*confine.Fence, error) {
	if name == "" {
		return nil, nil
	}
	f, err := confine.Read(name)
	return &f, err
}

// retries is the value of --retries.
type retries runner.Config

// String is the value as it is typed: auto, or a number of retries.
func (r *retries) String() string {
	if r.Judge {
		return "auto"
	}
	return strconv.Itoa(r.Retries)
}

// Set reads auto or a whole number, at least 0; the error says so.
func (r *retries) Set(text string) (err error) {
	if r.Judge = text == "auto"; r.Judge {
		return nil
	}
	if r.Retries, err = strconv.Atoi(text); err != nil || r.Retries < 0 {
		return errors.New("want auto or a whole number")
	}
	return nil
}

// Type is how help names the value.
func (r *retries) Type() string { return "auto|N" }

// exitAs ends sluice with the code, without a message of its own.
func exitAs(code int) error {
	if code == 0 {
		return nil
	}
	return terminal.ExitCode(code)
}

// pythonLibrary returns the folder from which a program imports sluice: SLUICE_PYTHON,
// else a copy of the embedded library beside the script; "" if that cannot be written. In a
// confined job the variable does not count: whoever sets it would show a folder of the service
// account inside.
func pythonLibrary(script string, confined bool) string {
	if dir := os.Getenv("SLUICE_PYTHON"); dir != "" && !confined {
		return dir
	}
	script, err := filepath.Abs(script)
	if err != nil || !runner.InJob(script) {
		return ""
	}
	dir := filepath.Join(filepath.Dir(script), "python")
	if err := python.WriteTo(dir); err != nil {
		return "" // a program that needs it reports the error
	}
	return dir
}
