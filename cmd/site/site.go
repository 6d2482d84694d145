package site

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/python"
	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/slurm/lab"
)

// Config says what site to build.
type Config struct {
	Lab lab.Config
	// Bin is the directory with the programs sluice and sluiced.
	Bin string
	// Config is added to sluice.toml, section by section: "[cycle]
	// period=..."
	Config string
	// Accounts are the names of temporary Unix accounts to make; root only.
	Accounts []string
	// User, one of Accounts, runs sluiced --user: without privileges, for its own jobs
	// only. "" = the lab's Slurm operator runs it for all users.
	User string
	// Mounts are several mounts of one folder, such as one on NFS. Shared folders are in
	// it, and each machine of the site uses its own mount. Root only; not with User.
	Mounts []string
}

// Site is a running site. Its methods may be called from one goroutine.
type Site struct {
	Lab      *lab.Lab
	Conf     string // path of sluice.toml
	Log      string // path of sluiced's log
	State    string // directory of sluiced's database
	Jobs     string // directory of the job directories
	Outbox   string // directory of sluiced's requests
	Socket   string // where sluiced answers
	bin      string
	user     string // runs sluiced --user; "" = system mode
	mounts   mounts
	apart    string // what sluiced mounts first; "" = nothing
	accounts []account
	daemon   *exec.Cmd
	exited   chan struct{} // closed when daemon was reaped
}

// Up builds the lab, the accounts and the configuration. sluiced is not started. If it
// fails, everything is removed.
func Up(ctx context.Context, c Config) (*Site, error) {
	s := &Site{bin: c.Bin}
	var err error
	if len(c.Mounts) > 1 {
		s.mounts = mounts{c.Mounts, filepath.Base(c.Lab.Dir), filepath.Join(c.Lab.Dir, "shared")}
		if s.apart, err = s.mounts.share(&c.Lab); err != nil {
			return nil, err
		}
	}
	if s.Lab, err = lab.Up(ctx, c.Lab); err != nil {
		return nil, errors.Join(err, s.mounts.hide())
	}
	if s.apart != "" {
		err = s.mounts.show()
	}
	if err == nil {
		err = s.furnish(c)
	}
	if err != nil {
		return nil, errors.Join(err, s.Down(context.WithoutCancel(ctx)))
	}
	return s, nil
}

func (s *Site) furnish(c Config) error {
	s.Conf, s.Log = s.Path("sluice.toml"), s.Path("sluiced.log")
	s.State, s.Jobs, s.Outbox = s.Lab.StateDir(), s.Lab.JobsDir(), s.Lab.OutboxDir()
	s.Socket = filepath.Join(s.Lab.RunDir(), "sluiced.sock")
	if err := errors.Join(os.Mkdir(s.Path("home"), 0o755), os.Chmod(s.Path("home"), 0o755)); err != nil {
		return err
	}
	for _, name := range c.Accounts {
		a, err := makeAccount(name, s.Path("home", name))
		if err != nil {
			return err
		}
		s.accounts = append(s.accounts, a)
	}
	if s.user = c.User; s.user != "" {
		own := filepath.Join(s.Home(s.user), ".sluice")
		s.State, s.Jobs, s.Outbox = filepath.Join(own, "state"), filepath.Join(own, "jobs"), filepath.Join(own, "outbox")
		s.Socket = filepath.Join(own, "sock")
	}
	text := fmt.Sprintf("[paths]\nstate = %q\njobs = %q\noutbox = %q\nsocket = %q\n\n[slurm]\nconf = %q\nbin = %q\n\n%s\n",
		s.State, s.Jobs, s.Outbox, s.Socket, s.Lab.Conf(), filepath.Dir(s.Lab.Bin("squeue")), c.Config)
	return Put(s.Conf, []byte(text), 0o644)
}

// Put writes a file of the site with exactly this mode, whatever the umask: other
// accounts read it.
func Put(path string, content []byte, mode os.FileMode) error {
	return errors.Join(os.WriteFile(path, content, mode), os.Chmod(path, mode))
}

// PutLibrary writes the Python library, for all accounts to read.
func (s *Site) PutLibrary() error {
	dir := s.Path("python")
	if err := python.WriteTo(dir); err != nil {
		return err
	}
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return errors.Join(err, os.Chmod(path, 0o644))
		}
		return os.Chmod(path, 0o755)
	})
}

// Path returns a path below the site's directory.
func (s *Site) Path(parts ...string) string {
	return filepath.Join(append([]string{s.Lab.Dir()}, parts...)...)
}

// Home is the work directory of an account; "" is the caller's own.
func (s *Site) Home(user string) string {
	if user == "" {
		return s.Path("home")
	}
	return s.Path("home", user)
}

// Down stops everything and removes every trace: daemon, Slurm, accounts, files.
func (s *Site) Down(ctx context.Context) error { return s.end(ctx, s.Lab.Down) }

// Leave is Down, except that the files stay: logs, and what jobs wrote. Down removes
// them.
func (s *Site) Leave(ctx context.Context) error { return s.end(ctx, s.Lab.Stop) }

func (s *Site) end(ctx context.Context, lab func(context.Context) error) error {
	err := errors.Join(s.Stop(), s.mounts.hide(), lab(ctx))
	for _, a := range s.accounts {
		err = errors.Join(err, a.remove())
	}
	return err
}

// Start starts sluiced as the lab's SlurmUser and waits until it answers.
func (s *Site) Start(ctx context.Context) error {
	if s.Alive() {
		return errors.New("sluiced runs already")
	}
	log, err := os.OpenFile(s.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd, err := s.daemonCommand()
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	s.daemon, s.exited = cmd, make(chan struct{})
	exited := s.exited
	go func() { // reaps the daemon, however it ends
		_ = cmd.Wait()
		close(exited)
	}()
	return s.answers(ctx)
}

// daemonCommand is the command that starts sluiced here: in system mode as the lab's
// Slurm operator, not as root if that is possible.
func (s *Site) daemonCommand() (*exec.Cmd, error) {
	if s.user != "" {
		cmd, err := s.Command(context.Background(), s.user, "sluiced", "--user", "--config", s.Conf)
		return cmd, err
	}
	owner, err := s.owner()
	if err != nil {
		return nil, err
	}
	args := []string{"--config", s.Conf}
	if owner.Uid == 0 {
		args = append(args, "--lab")
	}
	cmd := exec.Command(filepath.Join(s.bin, "sluiced"), args...)
	cmd.Env = append(s.env(), "SLUICE_CRASH="+filepath.Join(s.State, "crash"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if s.apart != "" {
		return apart(cmd, s.apart, owner), nil
	}
	if os.Geteuid() == 0 && owner.Uid != 0 {
		cmd.SysProcAttr.Credential = &owner
	}
	return cmd, nil
}

// owner is the account sluiced runs as: the lab's Slurm operator.
func (s *Site) owner() (syscall.Credential, error) {
	u, err := user.Lookup(s.Lab.SlurmUser())
	if err != nil {
		return syscall.Credential{}, err
	}
	return credential(u)
}

func (s *Site) answers(ctx context.Context) error {
	return Until(ctx, 60*time.Second, "sluiced to answer", func() (bool, error) {
		if !s.Alive() {
			return false, fmt.Errorf("sluiced ended at once; its last output:\n%s", s.Tail(20))
		}
		report, err := s.Control().Report(ctx)
		return err == nil && !report.At.IsZero(), nil
	})
}

// Alive reports whether the daemon this site started still runs.
func (s *Site) Alive() bool {
	if s.daemon == nil {
		return false
	}
	select {
	case <-s.exited:
		return false
	default:
		return true
	}
}

// Kill ends sluiced with SIGKILL, as a crash would.
func (s *Site) Kill() { s.signal(syscall.SIGKILL) }

// Stop ends sluiced with SIGTERM.
func (s *Site) Stop() error {
	if !s.Alive() {
		return nil
	}
	_ = s.daemon.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.exited:
		return nil
	case <-time.After(30 * time.Second):
		s.Kill()
		return errors.New("sluiced did not stop within 30 s and was killed")
	}
}

// Signal sends a signal to sluiced, such as SIGHUP for a reload.
func (s *Site) Signal(sig syscall.Signal) error {
	if !s.Alive() {
		return errors.New("sluiced does not run")
	}
	return s.daemon.Process.Signal(sig)
}

func (s *Site) signal(sig syscall.Signal) {
	if s.Alive() {
		_ = s.daemon.Process.Signal(sig)
		<-s.exited
	}
}

// Control returns a client of sluiced for the calling user.
func (s *Site) Control() *client.Client { return client.Dial(s.Socket) }

// Submit runs sluice submit --parsable and returns the job id.
func (s *Site) Submit(ctx context.Context, user string, args ...string) (int64, error) {
	return s.submit(ctx, user, "sluice", append([]string{"submit", "--parsable"}, args...)...)
}

// Sbatch submits an ordinary job and returns its id.
func (s *Site) Sbatch(ctx context.Context, user string, args ...string) (int64, error) {
	return s.submit(ctx, user, "sbatch", append([]string{"--parsable"}, args...)...)
}

func (s *Site) submit(ctx context.Context, user, name string, args ...string) (int64, error) {
	out, err := s.Run(ctx, user, name, args...)
	if err != nil {
		return 0, err
	}
	id, err := strconv.ParseInt(strings.TrimSpace(out), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s printed %q instead of a job id", name, out)
	}
	return id, nil
}

// JobFields asks Slurm, not sluice, for a job: the fields of "scontrol show job" by name.
// Of a repeated name the first counts; values end at their first space.
func (s *Site) JobFields(ctx context.Context, id int64) (map[string]string, error) {
	out, err := s.Run(ctx, "", "scontrol", "-o", "show", "job", strconv.FormatInt(id, 10))
	if err != nil {
		return nil, err
	}
	return jobFields(out), nil
}

func jobFields(line string) map[string]string {
	fields := map[string]string{}
	for _, word := range strings.Fields(line) {
		name, value, ok := strings.Cut(word, "=")
		if _, twice := fields[name]; ok && !twice && value != "" {
			fields[name] = value
		}
	}
	return fields
}

// Until calls done until it is true, fails, or the limit is over.
func Until(ctx context.Context, limit time.Duration, what string, done func() (bool, error)) error {
	deadline := time.Now().Add(limit)
	for {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %s without success for %s", limit, what)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func lookPath(env []string, name string) string {
	for _, e := range env {
		path, ok := strings.CutPrefix(e, "PATH=")
		if !ok || strings.Contains(name, "/") {
			continue
		}
		for _, dir := range filepath.SplitList(path) {
			if st, err := os.Stat(filepath.Join(dir, name)); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
				return filepath.Join(dir, name)
			}
		}
	}
	return name
}
