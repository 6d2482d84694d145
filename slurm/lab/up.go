package lab

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Up builds a lab, starts it and waits until every node is idle. If anything fails,
// everything it made is removed again and the error contains the last lines of the
// failing daemon's output. A directory that already holds a lab is an error of kind
// ErrInUse; missing programs are one of kind ErrMissing.
func Up(ctx context.Context, cfg Config) (*Lab, error) {
	cfg = cfg.complete()
	fail := func(err error, hint string) (*Lab, error) {
		return nil, wrap("lab up", cfg.Dir, err, hint)
	}
	dir, err := realPath(cfg.Dir)
	if err != nil {
		return fail(err, "")
	}
	cfg.Dir = dir
	if err := cfg.check(); err != nil {
		return fail(err, "")
	}
	needs := Missing
	if cfg.Accounting {
		needs = MissingAccounting
	}
	if err := needs(cfg.Root); err != nil {
		return nil, err
	}
	slurm, err := slurmAccount(cfg.SlurmUser, os.Geteuid())
	if err != nil {
		return fail(err, "")
	}
	made, unlock, err := claim(cfg.Dir, slurm)
	if err != nil {
		return fail(err, claimHint(err, cfg.Dir))
	}
	defer unlock()
	l := &Lab{record{Format: recordFormat, Created: time.Now(), Owner: os.Geteuid(), MadeDir: made,
		Config: cfg, Slurm: slurm, Cluster: newCluster()}}
	ctx, cancel := context.WithTimeout(ctx, cfg.StartTimeout)
	defer cancel()
	if err := l.build(ctx); err != nil {
		// The teardown must run even if ctx is what ended the start.
		clean, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer stop()
		return fail(errors.Join(err, l.teardown(clean), l.remove()), "nothing was left behind")
	}
	return l, nil
}

// newCluster makes a ClusterName that no other lab has.
func newCluster() string {
	tag := make([]byte, 4)
	rand.Read(tag) // never fails
	return "lab" + hex.EncodeToString(tag)
}

// wrap adds the command and what to type next to an error.
func wrap(op, dir string, err error, hint string) error {
	var e *Error
	if errors.As(err, &e) {
		return &Error{Op: op, Dir: dir, Err: withoutLog(err, e), Log: e.Log, Hint: cmp.Or(e.Hint, hint)}
	}
	return &Error{Op: op, Dir: dir, Err: err, Hint: hint}
}

// withoutLog unwraps e if it is the whole error, so that nothing is printed twice.
func withoutLog(err error, e *Error) error {
	if err == error(e) || err.Error() == e.Error() {
		return e.Err
	}
	return err
}

// claimHint says what to type if the directory was refused.
func claimHint(err error, dir string) string {
	switch {
	case errors.Is(err, errForeign):
		return "choose another: sluice lab up --dir DIR"
	case errors.Is(err, ErrInUse):
		return "to see it: sluice lab status --dir " + dir + "; to remove it: sluice lab down --dir " + dir
	case errors.Is(err, ErrNotOwner):
		return "choose another: sluice lab up --dir DIR"
	}
	return ""
}

// errForeign: what is in the directory is not a lab.
var errForeign = fmt.Errorf("%w: it is not empty and holds no lab", ErrInUse)

// claim makes sure that dir belongs to the caller, is empty and locked. It reports
// whether it made the directory.
func claim(dir string, slurm account) (made bool, unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return false, nil, err
	}
	err = os.Mkdir(dir, 0o755)
	made = err == nil
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return false, nil, err
	}
	defer func() {
		if err != nil && made {
			os.Remove(filepath.Join(dir, ".lock"))
			os.Remove(dir)
		}
	}()
	if uid, err := owner(dir); err != nil || uid != os.Geteuid() {
		return made, nil, errors.Join(err, fmt.Errorf("%w: the directory belongs to uid %d", ErrNotOwner, uid))
	}
	if err = reachable(dir, slurm, os.Geteuid()); err != nil {
		return made, nil, err
	}
	short, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if unlock, err = lock(short, dir); err != nil {
		return made, nil, err
	}
	if err = empty(dir); err != nil {
		unlock()
	}
	return made, unlock, err
}

// empty refuses a directory with contents.
func empty(dir string) error {
	if rec, err := readRecord(dir); err == nil {
		l := &Lab{rec}
		if list, err := l.members(); err == nil && len(list) > 0 {
			return fmt.Errorf("%w: a lab of %d nodes is up there", ErrInUse, rec.Config.Nodes)
		}
		return fmt.Errorf("%w: it holds a lab that is not running, with its logs", ErrInUse)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != ".lock" {
			return errForeign
		}
	}
	return nil
}

// build writes the lab's files, starts its daemons and waits until it is healthy.
func (l *Lab) build(ctx context.Context) error {
	count := 1 + l.rec.Config.Nodes
	ports, err := reserve(l.Dir(), count+1)
	if err != nil {
		return err
	}
	defer ports.release()
	l.rec.CtldPort, l.rec.Ports = ports.ports[0], ports.ports[1:count]
	if l.rec.Config.Accounting {
		l.rec.DbdPort = ports.ports[count]
	}
	s, err := l.prepare(ctx)
	if err != nil {
		return err
	}
	if err := l.writeAll(s); err != nil {
		return err
	}
	if err := l.rec.write(); err != nil {
		return err
	}
	return l.boot(ctx)
}

// prepare makes the directories, finds the programs and determines what the configuration
// depends on.
func (l *Lab) prepare(ctx context.Context) (site, error) {
	cfg := l.rec.Config
	if err := l.layout().makeFolders(l.NodeNames(), l.rec.Slurm); err != nil {
		return site{}, err
	}
	suite, err := install(cfg.Root, l.layout().join("bin"))
	if err != nil {
		return site{}, err
	}
	l.rec.Programs, l.rec.Libraries = suite.programs, suite.libraries
	if cfg.Accounting {
		l.note("slurmdbd listens on all addresses, which cannot be changed; only the lab's own munge key is accepted")
		for _, name := range []string{"mariadbd", "mariadb-install-db"} {
			if l.rec.Programs[name], err = find("", name); err != nil {
				return site{}, err
			}
		}
	}
	rel, err := detect(ctx, l.Bin("slurmctld"), l.daemonEnv())
	if err != nil {
		return site{}, err
	}
	l.rec.Release = rel.Text
	host, err := os.Hostname()
	if err != nil {
		return site{}, err
	}
	me, err := lookupID(os.Geteuid())
	if err != nil {
		return site{}, err
	}
	short, _, _ := strings.Cut(host, ".")
	return site{Config: cfg, Release: rel, Cluster: l.rec.Cluster, Host: short, Loopback: l.onlyLoopback(ctx, host),
		Slurm: l.rec.Slurm.Name, Slurmd: me.Name, CtldPort: l.rec.CtldPort, DbdPort: l.rec.DbdPort, Ports: l.rec.Ports, Plugins: suite.plugins}, nil
}

// onlyLoopback reports whether the host's own name resolves to 127.0.0.1 only. Then all
// daemons and srun can be made to listen there only; Slurm resolves that name to choose
// the address. Otherwise they listen on all addresses, and only the private munge key
// keeps others out.
func (l *Lab) onlyLoopback(ctx context.Context, host string) bool {
	addrs, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	only := err == nil && len(addrs) > 0
	for _, a := range addrs {
		if v4 := a.IP.To4(); v4 != nil && !v4.Equal(net.IPv4(127, 0, 0, 1)) {
			only = false
		}
	}
	if !only {
		l.note("the host name %s does not resolve to 127.0.0.1, so the daemons listen on all addresses; only the lab's own munge key is accepted", host)
	}
	return only
}

func (l *Lab) note(format string, a ...any) {
	l.rec.Notes = append(l.rec.Notes, fmt.Sprintf(format, a...))
}

// file is a file that the lab writes at the start.
type file struct {
	path     string
	text     string
	mode     fs.FileMode
	uid, gid int
}

// writeAll writes the configuration, the key, empty logs and the GPUs.
func (l *Lab) writeAll(s site) error {
	d, me, group := l.layout(), os.Geteuid(), os.Getegid()
	hosts, err := s.hosts()
	if err != nil {
		return err
	}
	key := make([]byte, 1024)
	rand.Read(key) // never fails
	slurm := l.rec.Slurm
	files := []file{
		{d.key(), string(key), 0o400, me, group},
		{d.conf(), s.slurmConf(), 0o644, me, group},
		{d.backupConf(), s.backupConf(), 0o644, me, group},
		{d.join("etc", "slurmdbd.conf"), s.slurmdbdConf(), 0o600, slurm.UID, slurm.GID},
		{d.join("etc", "gres.conf"), s.gresConf(), 0o644, me, group},
		{d.join("etc", "cgroup.conf"), s.cgroupConf(), 0o644, me, group},
		// slurmctld may write these but create no files in their folder.
		{d.log("slurmctld"), "", 0o644, slurm.UID, slurm.GID},
		{d.log("jobcomp"), "", 0o644, slurm.UID, slurm.GID},
	}
	if s.Config.Accounting {
		files = append(files, file{d.log("slurmdbd"), "", 0o644, slurm.UID, slurm.GID})
	}
	if hosts != "" {
		files = append(files, file{d.hosts(), hosts, 0o644, me, group})
	}
	for _, f := range files {
		if f.text == "" && strings.HasSuffix(f.path, ".conf") {
			continue
		}
		if err := writeFile(f.path, []byte(f.text), f.mode, f.uid, f.gid); err != nil {
			return err
		}
	}
	return l.makeGPUs()
}

func (l *Lab) makeGPUs() error {
	devices := true
	for _, node := range l.NodeNames() {
		for i := range l.rec.Config.GPUs {
			device, err := makeGPU(l.layout().gpu(node, i))
			if err != nil {
				return err
			}
			devices = devices && device
		}
	}
	if !devices {
		l.note("device nodes cannot be made here, so each GPU is a link to /dev/null; Slurm sets the same variables")
	}
	if l.rec.Owner != 0 {
		l.note("not root: jobs run as %s only, which is also SlurmUser and so a Slurm operator; to try several accounts, or sluice without privileges, start the lab as root", l.SlurmUser())
	}
	return nil
}

// boot starts the daemons in order and waits for a healthy lab.
func (l *Lab) boot(ctx context.Context) error {
	m, err := l.startMunged(ctx)
	if err != nil {
		return err
	}
	started, err := l.accounts(ctx)
	if err != nil {
		return err
	}
	c, err := l.startController(ctx, true)
	if err != nil {
		return err
	}
	started = append(started, m, c)
	if l.rec.Config.Backup {
		b, err := l.startBackup(ctx)
		if err != nil {
			return err
		}
		started = append(started, b)
	}
	for _, node := range l.NodeNames() {
		d, err := l.startSlurmd(ctx, node)
		if err != nil {
			return err
		}
		started = append(started, d)
	}
	if err := l.waitHealthy(ctx, started); err != nil {
		return err
	}
	return l.enrollCallers(ctx)
}
