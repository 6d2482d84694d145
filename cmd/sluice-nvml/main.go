// Command sluice-nvml reads the state of a job's GPUs on this machine: how busy they are,
// and whether they are healthy. sluice run and sluice ranks start it beside a job's
// processes. It is a separate program so that a driver that hangs or crashes affects no
// other. If there is nothing to read it ends at once without a message.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/nodes/nvml"
)

// version is set by the build.
var version = "unknown"

const usage = `sluice-nvml reports on the NVIDIA GPUs of this job on this machine.

  sluice-nvml                      print their state once, as a line of JSON
  sluice-nvml --into JOBFOLDER     keep a file in the job's folder up to date

Which GPUs are the job's is read from CUDA_VISIBLE_DEVICES, SLURM_STEP_GPUS,
SLURM_JOB_GPUS or NVIDIA_VISIBLE_DEVICES. If there is no driver, no library
or no such GPU it ends without a message.

`

// options are one call's.
type options struct {
	into, node  string
	look, every time.Duration
	// stuck is the maximum duration of a call to the driver. After that this program
	// ends: it is started again later, and nothing waits for it.
	stuck time.Duration
}

func main() {
	o := options{stuck: 20 * time.Second}
	flags := flag.NewFlagSet("sluice-nvml", flag.ExitOnError)
	flags.Usage = func() { fmt.Fprint(flags.Output(), usage); flags.PrintDefaults() }
	flags.StringVar(&o.into, "into", "", "folder of the job: keep a file there up to date until the caller ends")
	flags.StringVar(&o.node, "node", "", "this node's name (default: SLURMD_NODENAME, else the machine's)")
	flags.DurationVar(&o.look, "look", 5*time.Second, "how often to read how busy the GPUs are")
	flags.DurationVar(&o.every, "every", 30*time.Second, "how often to write")
	show := flags.Bool("version", false, "print the version")
	_ = flags.Parse(os.Args[1:]) // it exits itself
	if *show {
		fmt.Println("sluice-nvml", version)
		return
	}
	o.look, o.every = max(o.look, 10*time.Millisecond), max(o.every, 10*time.Millisecond)
	if o.node == "" {
		o.node = nodeName()
	}
	os.Exit(run(o, nvml.System(), os.Stdout))
}

// nodeName is Slurm's name for this machine, else its own.
func nodeName() string {
	if name := os.Getenv("SLURMD_NODENAME"); name != "" {
		return name
	}
	name, _ := os.Hostname() // the reader refuses ""
	return name
}

// hung is the exit code of a program whose driver did not answer.
const hung = 4

func run(o options, lib nvml.Library, out io.Writer) int {
	if o.into != "" {
		behave()
	}
	alarm := time.AfterFunc(o.stuck, func() { os.Exit(hung) })
	defer alarm.Stop()
	g, err := nvml.Open(lib, environment())
	if err != nil {
		return 0
	}
	defer g.Close()
	if o.into == "" {
		g.Look(time.Now())
		return line(out, o.node, g)
	}
	return o.keep(g, alarm)
}

// behave makes this program invisible to the job: it ignores signals meant for the job's
// processes, and runs at the lowest priority.
func behave() {
	signal.Ignore(syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGHUP, syscall.SIGALRM, syscall.SIGPIPE, syscall.SIGQUIT)
	runtime.GOMAXPROCS(1)
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, 19) // best effort
}

func environment() map[string]string {
	vars := map[string]string{}
	for _, name := range nvml.Variables {
		if value, said := os.LookupEnv(name); said {
			vars[name] = value
		}
	}
	return vars
}

// line prints the devices as one line of JSON.
func line(out io.Writer, node string, g *nvml.Gauge) int {
	data, err := json.Marshal(checkpoint.Devices{Node: node, At: time.Now(), GPUs: g.Read()})
	if err == nil {
		_, err = out.Write(append(data, '\n'))
	}
	if err != nil {
		return 1
	}
	return 0
}
