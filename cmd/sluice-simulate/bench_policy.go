package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/sim/figures"
)

// benchPolicyOptions are the command line of "sluice bench-policy".
type benchPolicyOptions struct {
	data    string
	figures []int
	quick   bool
	seeds   int
}

// newBenchPolicyCommand returns `sluice bench-policy`, for developers of sluice: figures
// go to standard output, one per line, messages to standard error.
func newBenchPolicyCommand() *cobra.Command {
	var o benchPolicyOptions
	c := &cobra.Command{
		Use:    "bench-policy",
		Short:  "Measure the policies, and compare them with published results",
		Hidden: true,
		Long: `Simulates what the project claims about its policies, and prints one line per figure,
with workload, seeds, information and rules. Some figures need published data,
which is not part of the project; without it a message says so.`,
		Example: "  sluice bench-policy --quick --figure 2\n  sluice bench-policy --data ../data > figures.txt",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := terminal.Interruptible(cmd.Context())
			defer stop()
			return terminal.Interrupted(ctx, o.run(ctx, cmd.OutOrStdout(), cmd.ErrOrStderr()))
		},
	}
	f := c.Flags()
	f.StringVar(&o.data, "data", "", "folder that holds testbench-a and testbench-b (default: SLUICE_DATA)")
	f.IntSliceVar(&o.figures, "figure", nil, "figures to give, such as 1,5 (default all)")
	f.IntVar(&o.seeds, "seeds", 0, "seeds of system A's experiment (default 30, or 2 with --quick)")
	f.BoolVar(&o.quick, "quick", false, "few seeds and settings")
	return c
}

func (o *benchPolicyOptions) run(ctx context.Context, out, errs io.Writer) error {
	for _, n := range o.figures {
		if !slices.Contains(figures.Numbers(), n) {
			return fmt.Errorf("--figure %d: there are %v; 7 is 'sluice lab live'", n, figures.Numbers())
		}
	}
	if o.seeds < 0 || o.seeds > 10_000 {
		return fmt.Errorf("--seeds %d: want 1 to 10000", o.seeds)
	}
	if os.Getenv("GOGC") == "" { // a round allocates garbage and little else
		defer debug.SetGCPercent(debug.SetGCPercent(300))
	}
	begin := time.Now()
	opts := figures.Options{
		Only: o.figures, Quick: o.quick, Seeds: o.seeds, Workers: runtime.GOMAXPROCS(0), Clock: computed,
		Testbench: o.testbench("testbench-a", "workloads", errs), Deadlines: o.testbench("testbench-b", "traces", errs),
		Sweeps:   o.testbench("testbench-d", "task-3945.csv.gz", errs),
		Progress: benchProgress(errs, begin),
	}
	err := figures.Run(ctx, opts, out)
	if err != nil && ctx.Err() != nil {
		return errors.New("interrupted: the figures above are complete, the others are missing")
	}
	fmt.Fprintf(errs, "bench-policy: %s\n", terminal.Clock(time.Since(begin)))
	return err
}

// testbench finds a folder of published data, or prints that it is missing.
func (o *benchPolicyOptions) testbench(name, inside string, errs io.Writer) string {
	data := o.data
	if data == "" {
		data = os.Getenv("SLUICE_DATA")
	}
	if data == "" {
		terminal.Warn(errs, fmt.Sprintf("no %s: figures that need it are left out; name the folder that holds it with --data or SLUICE_DATA", name))
		return ""
	}
	folder := filepath.Join(data, name)
	if _, err := os.Stat(filepath.Join(folder, inside)); err != nil {
		terminal.Warn(errs, fmt.Sprintf("%v: figures that need %s are left out; --data or SLUICE_DATA names the folder that holds it", err, name))
		return ""
	}
	return folder
}

// benchProgress prints the progress now and then.
func benchProgress(errs io.Writer, begin time.Time) func(done, of int) {
	const every = 20 * time.Second
	last := begin
	return func(done, of int) {
		if now := time.Now(); now.Sub(last) >= every {
			last = now
			fmt.Fprintf(errs, "bench-policy: %s, %d of %d simulations and bounds\n", terminal.Clock(now.Sub(begin)), done, of)
		}
	}
}

// computed is the CPU time of this process: the machine may be shared.
func computed() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
