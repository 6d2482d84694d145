package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// DefaultTimeout is the deadline of one call when Config names none. Slurm's
// programs themselves give up after about twice MessageTimeout (10 s).
const DefaultTimeout = 20 * time.Second

// Config says which Slurm to speak to.
type Config struct {
	// Dir is the folder of the programs; "" finds them on this process's PATH.
	Dir string
	// Conf is the slurm.conf to use (SLURM_CONF); "" leaves the choice to
	// SLURM_CONF in this process's environment, then to Slurm.
	Conf string
	// Env holds further NAME=value pairs for every call. Variables that would
	// redirect or reformat a call (see environ.go) are dropped.
	Env []string
	// Timeout is the time limit of each call; 0 means DefaultTimeout.
	Timeout time.Duration
	// Now is the clock that begin times are compared with. It MUST be set.
	Now func() time.Time
	// Called, when set, is told of every call that was made: the request, one of a fixed number
	// of names such as "squeue" or "scontrol update", how long it took, and its error. It is called
	// by the goroutine of the call and MUST NOT block.
	Called func(request string, took time.Duration, err error)
}

// Client is a slurm.Client over Slurm's programs. It is safe for concurrent use.
type Client struct {
	programs map[string]string // name -> absolute path
	missing  map[string]string // name -> why it was not found
	env      []string
	conf     []string // SLURM_CONF=..., or empty
	timeout  time.Duration
	now      func() time.Time
	called   func(string, time.Duration, error)

	probe   sync.Mutex
	version Version // zero until asked
}

var _ slurm.Client = (*Client)(nil)

// programs lists what a Client runs.
var programs = []string{"sbatch", "scontrol", "scancel", "squeue", "sinfo", "sacctmgr", "sacct", "sshare"}

// New finds the programs and prepares the environment. It runs nothing. The
// error is an *slurm.Error with ErrMissingProgram when none of the programs is
// there; a single one that is missing is reported by the calls that need it. Without a
// clock New fails too.
func New(c Config) (*Client, error) {
	client := &Client{
		programs: map[string]string{}, missing: map[string]string{},
		conf: confEnv(c.Conf, os.Getenv("SLURM_CONF")), timeout: c.Timeout, now: c.Now, called: c.Called,
	}
	if client.now == nil {
		return nil, errors.New("slurm/command: no clock: set Config.Now")
	}
	if client.timeout <= 0 {
		client.timeout = DefaultTimeout
	}
	client.env = queryEnv(client.conf, c.Env)
	for _, name := range programs {
		path, err := resolve(c.Dir, name)
		if err != nil {
			client.missing[name] = err.Error()
			continue
		}
		client.programs[name] = path
	}
	if len(client.programs) == 0 {
		where := "on PATH"
		if c.Dir != "" {
			where = "in " + c.Dir
		}
		return nil, &slurm.Error{Op: "find Slurm's programs", Err: slurm.ErrMissingProgram,
			Words: fmt.Sprintf("no squeue, scontrol or sbatch %s", where),
			Hint:  "install Slurm's client programs (Debian: apt-get install slurm-client), or name their folder"}
	}
	return client, nil
}

// resolve returns the absolute path of a program.
func resolve(dir, name string) (string, error) {
	if dir == "" {
		path, err := exec.LookPath(name)
		if err != nil {
			return "", err
		}
		return filepath.Abs(path)
	}
	path, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		return "", err
	}
	return exec.LookPath(path) // checks that it is there and may be run
}

// read runs a query: repeatable, so that a lost answer means no controller.
func (c *Client) read(ctx context.Context, op string, id slurm.JobID, program string, args []string, env ...string) (answer, error) {
	return c.run(ctx, call{op: op, job: id, program: program, args: args, env: join(c.env, env)})
}

// change runs a command that alters a job: a lost answer leaves the outcome
// unknown.
func (c *Client) change(ctx context.Context, op string, id slurm.JobID, program string, args ...string) error {
	_, err := c.run(ctx, call{op: op, job: id, program: program, args: args, env: c.env, mutates: true})
	return err
}
