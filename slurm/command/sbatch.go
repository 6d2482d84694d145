package command

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/sluice-hpc/sluice/slurm"
)

// Submit runs sbatch with the arguments as they are, in the user's own
// environment, and returns the new job and the line sbatch printed, without its
// newline: "Submitted batch job 12", or "12" or "12;cluster" with --parsable.
// If sbatch succeeds without submitting a job (--test-only, --help), Submit returns job 0
// and what sbatch printed. Warnings of sbatch go to s.Stderr.
//
// ErrUnknownOutcome means that the job may exist: look for it, do not submit
// again.
func (c *Client) Submit(ctx context.Context, s slurm.Submission) (slurm.JobID, string, error) {
	env := s.Env
	if env == nil {
		env = os.Environ()
	}
	k := call{op: "sbatch", program: "sbatch", args: s.Args, env: submitEnv(env, c.conf), dir: s.Dir, stdin: s.Stdin,
		mutates: true, limit: 1 << 20}
	out, err := c.run(ctx, k)
	id, line := parseSubmitted(out.stdout)
	switch {
	case errors.Is(err, slurm.ErrUnknownOutcome) && id != 0:
		// It was cut off after the job was submitted, while it waited (--wait).
	case err != nil:
		return 0, "", err
	case id == 0:
		return 0, unsubmitted(out), nil
	}
	if s.Stderr != nil && out.stderr != "" {
		_, _ = s.Stderr.Write([]byte(out.stderr)) // the job exists whatever happens to the warning
	}
	return id, line, nil
}

// submitted matches both forms. A site's plugin may print lines before this line, but
// nothing inside it.
var submitted = lazily(`^(?:Submitted batch job )?([1-9][0-9]{0,17})(?: on cluster \S+|;\S*)?$`)

// parseSubmitted finds the job in what sbatch printed: the last line that names
// one. Job 0 when none does.
func parseSubmitted(stdout string) (slurm.JobID, string) {
	lines := strings.Split(stdout, "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		line := strings.TrimRight(lines[i], "\r ")
		m := submitted().FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if n, err := strconv.ParseInt(m[1], 10, 64); err == nil {
			return slurm.JobID(n), line
		}
	}
	return 0, ""
}

// unsubmitted is what sbatch printed instead of a job.
func unsubmitted(out answer) string {
	text := strings.TrimRight(out.stdout, "\n")
	if text == "" {
		text = strings.TrimRight(out.stderr, "\n")
	}
	return text
}
