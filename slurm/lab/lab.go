package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Lab is one lab on disk, running or not. It holds no open files and no processes; any
// number of Labs may be open on one directory.
type Lab struct {
	rec record
}

// record is the contents of lab.json: all that another process needs to find, query and
// end the lab.
type record struct {
	Format   int       `json:"format"`
	Created  time.Time `json:"created"`
	Owner    int       `json:"owner"` // uid that runs it
	MadeDir  bool      `json:"made_dir"`
	Config   Config    `json:"config"` // complete
	Release  string    `json:"release"`
	Cluster  string    `json:"cluster"`
	Slurm    account   `json:"slurm_user"`
	CtldPort int       `json:"slurmctld_port"`
	DbdPort  int       `json:"slurmdbd_port,omitempty"`
	Ports    []int     `json:"slurmd_ports"`
	Programs programs  `json:"programs"`
	// Libraries is the LD_LIBRARY_PATH of the daemons if Slurm is from another tree; else
	// "".
	Libraries string   `json:"libraries,omitempty"`
	Notes     []string `json:"notes"`
}

const recordFormat = 1

func (d layout) record() string { return d.join("lab.json") }

// Open finds the lab in dir ("" = DefaultDir), whether it runs or not. The error
// is of kind ErrNoLab when there is none.
func Open(dir string) (*Lab, error) {
	if dir == "" {
		dir = DefaultDir()
	}
	dir, err := realPath(dir)
	if err != nil {
		return nil, &Error{Op: "lab", Dir: dir, Err: err}
	}
	rec, err := readRecord(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{Op: "lab", Dir: dir, Err: ErrNoLab, Hint: "start one with: sluice lab up --dir " + dir}
	}
	if err != nil {
		return nil, &Error{Op: "lab", Dir: dir, Err: err}
	}
	return &Lab{rec}, nil
}

// readRecord reads lab.json and checks its owner: a file that another account could have
// written must not name processes to end.
func readRecord(dir string) (record, error) {
	path := layout(dir).record()
	text, err := os.ReadFile(path)
	if err != nil {
		return record{}, err
	}
	var rec record
	if err := json.Unmarshal(text, &rec); err != nil {
		return record{}, fmt.Errorf("%s: %w", path, err)
	}
	uid, err := owner(path)
	if err != nil {
		return record{}, err
	}
	switch {
	case rec.Format != recordFormat:
		return record{}, fmt.Errorf("%s: format %d, this sluice reads %d: use the sluice that made it", path, rec.Format, recordFormat)
	case rec.Owner != uid || rec.Config.Dir != dir:
		return record{}, fmt.Errorf("%s: owned by uid %d and written for uid %d, %s: not used", path, uid, rec.Owner, rec.Config.Dir)
	}
	return rec, nil
}

func (r record) write() error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	path := layout(r.Config.Dir).record()
	if err := writeFile(path+".new", append(text, '\n'), 0o644, r.Owner, os.Getegid()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// mayChange returns an error of kind ErrNotOwner unless the caller started the lab.
func (l *Lab) mayChange(op string) error {
	if os.Geteuid() == l.rec.Owner {
		return nil
	}
	return &Error{Op: op, Dir: l.Dir(), Err: fmt.Errorf("%w: uid %d started it", ErrNotOwner, l.rec.Owner), Hint: "run this as that account"}
}

func (l *Lab) layout() layout { return layout(l.rec.Config.Dir) }

// Dir is the lab's directory, absolute and free of links.
func (l *Lab) Dir() string { return l.rec.Config.Dir }

// Conf is the path of slurm.conf.
func (l *Lab) Conf() string { return l.layout().conf() }

// Config is what the lab was made from, defaults filled in.
func (l *Lab) Config() Config { return l.rec.Config }

// Release is the Slurm release as Slurm writes it: "22.05.8".
func (l *Lab) Release() string { return l.rec.Release }

// SlurmUser is the account that runs slurmctld, a Slurm operator.
func (l *Lab) SlurmUser() string { return l.rec.Slurm.Name }

// NodeNames returns the names of the nodes in order.
func (l *Lab) NodeNames() []string { return l.rec.Config.NodeNames() }

// Notes lists, in sentences, what this lab cannot do that a lab of root on a machine with
// device nodes can; empty if nothing is missing.
func (l *Lab) Notes() []string { return l.rec.Notes }

// JobsDir is the folder of users' job folders: every account may make its own in it, none
// may remove another's, and new folders belong to SlurmUser's group.
func (l *Lab) JobsDir() string { return l.layout().join("shared", "jobs") }

// OutboxDir is written by SlurmUser and readable by all.
func (l *Lab) OutboxDir() string { return l.layout().join("shared", "outbox") }

// StateDir is SlurmUser's own, closed to all others.
func (l *Lab) StateDir() string { return l.layout().join("sluice", "state") }

// RunDir is for sockets: written by SlurmUser, open to all.
func (l *Lab) RunDir() string { return l.layout().join("sluice", "run") }

// Env returns the variables, "NAME=value", that make Slurm commands and sluice use this
// lab; add them to a command's environment.
func (l *Lab) Env() []string {
	env := []string{"SLURM_CONF=" + l.Conf(), "SLUICE_LAB_DIR=" + l.Dir()}
	if l.rec.Config.Root != "" {
		// Jobs must find the srun with this release's protocol.
		env = append(env, "PATH="+l.layout().join("bin")+":"+os.Getenv("PATH"))
	}
	return env
}

// Bin returns the path of a Slurm program of the lab's release; the bare name if the lab
// does not have it.
func (l *Lab) Bin(name string) string {
	if path, ok := l.rec.Programs[name]; ok {
		return path
	}
	return name
}

// realPath makes dir absolute and resolves the links above it; dir itself need not exist.
func realPath(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return dir, err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real, nil
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if errors.Is(err, fs.ErrNotExist) {
		return abs, nil
	}
	return filepath.Join(parent, filepath.Base(abs)), err
}
