package lab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// release is a Slurm release: 22.05.8 is {22, 5, "22.05.8"}.
type release struct {
	Year, Month int
	Text        string
}

// atLeast compares by year and month, which is how Slurm counts its versions.
func (r release) atLeast(year, month int) bool {
	return r.Year > year || r.Year == year && r.Month >= month
}

var releaseText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(\d{2})\.(\d{2})\.[0-9][0-9A-Za-z.-]*`) })

// parseRelease reads what "slurmctld -V" prints: "slurm-wlm 22.05.8".
func parseRelease(text string) (release, error) {
	m := releaseText().FindStringSubmatch(text)
	if m == nil {
		return release{}, fmt.Errorf("unreadable version %q", strings.TrimSpace(text))
	}
	year, _ := strconv.Atoi(m[1]) // two digits each, by the regular expression
	month, _ := strconv.Atoi(m[2])
	return release{year, month, m[0]}, nil
}

// program is a program that a lab runs, and its Debian package.
type program struct{ name, debian string }

// needed lists the programs every lab runs.
var needed = []program{
	{"munged", "munge"},
	{"slurmctld", "slurmctld"},
	{"slurmd", "slurmd"},
	{"slurmstepd", "slurmd"},
	{"scontrol", "slurm-client"},
	{"sinfo", "slurm-client"},
	{"sbatch", "slurm-client"},
	{"srun", "slurm-client"},
}

// Missing returns nil if every program a lab needs is installed under root ("" = this
// machine), else an error of kind ErrMissing that names them and the Debian packages to
// install. Tests use it to skip, with the reason.
func Missing(root string) error { return missing(root, "", needed) }

// missing looks for programs below root and, if other is set, for those of Slurm below
// other.
func missing(root, other string, list []program) error {
	var names, packages []string
	for _, n := range list {
		in := root
		if other != "" && n.name[0] == 's' { // slurmdbd, sacctmgr
			in = other
		}
		if _, err := find(in, n.name); err == nil {
			continue
		}
		names = append(names, n.name)
		if p := n.debian; !strings.Contains(strings.Join(packages, " ")+" ", p+" ") {
			packages = append(packages, p)
		}
	}
	if len(names) == 0 {
		return nil
	}
	hint := "apt-get install " + strings.Join(packages, " ") + " slurm-wlm-basic-plugins"
	if root != "" {
		hint = "debootstrap --include=... makes a tree with them; looked under " + root
	}
	return &Error{Op: "lab", Err: fmt.Errorf("%w: %s", ErrMissing, strings.Join(names, ", ")), Hint: hint}
}

// find returns the absolute path of an installed program. It looks where Debian and a
// default build of Slurm install it, then, on this machine, in PATH.
func find(root, name string) (string, error) {
	for _, dir := range []string{"/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"} {
		path := filepath.Join(root, dir, name)
		if root != "" {
			path = inTree(root, filepath.Join(dir, name))
		}
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	if root != "" {
		return "", fmt.Errorf("%s: not in %s", name, root)
	}
	return exec.LookPath(name)
}

// inTree follows the links of a path as a process inside the tree would, so that
// /usr/sbin/slurmd -> /etc/alternatives/slurmd stays in the tree.
func inTree(root, path string) string {
	for range 16 {
		target, err := os.Readlink(filepath.Join(root, path))
		if err != nil {
			break
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = filepath.Clean(target)
	}
	return filepath.Join(root, path)
}

// detect asks slurmctld for its release; all programs of an installation have the same.
// The client programs would need a configuration first.
func detect(ctx context.Context, slurmctld string, env []string) (release, error) {
	cmd := grouped(exec.CommandContext(ctx, slurmctld, "-V"))
	cmd.Env = env
	out, err := output(cmd)
	if err != nil {
		return release{}, err
	}
	return parseRelease(out)
}
