package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Mailbox is the daemon's access to the two folders of every job: it writes below the
// outbox, which is its own, and reads below jobs, where every folder belongs to a user
// who may write anything there. Reads are bounded, follow no link and accept only files
// that the job's user owns. It keeps nothing open, so it works again after a file system
// was away.
type Mailbox struct {
	jobs, outbox string
}

// NewMailbox returns the mailbox over two existing or creatable directories, given as
// absolute paths, neither inside the other. A missing outbox is created; jobs, in which
// all users write, must be created by the administrator.
func NewMailbox(jobsBase, outboxBase string) (*Mailbox, error) {
	m := &Mailbox{jobs: filepath.Clean(jobsBase), outbox: filepath.Clean(outboxBase)}
	for _, p := range []string{m.jobs, m.outbox} {
		if !filepath.IsAbs(p) {
			return nil, fmt.Errorf("checkpoint: directory %q: want an absolute path", p)
		}
	}
	if inside(m.jobs, m.outbox) || inside(m.outbox, m.jobs) {
		return nil, fmt.Errorf("checkpoint: jobs %s and outbox %s must not lie in each other: users write in the one, the daemon in the other", m.jobs, m.outbox)
	}
	if err := makeOutbox(m.outbox); err != nil {
		return nil, fmt.Errorf("checkpoint: outbox: %w", err)
	}
	return m, nil
}

// makeOutbox creates a missing directory in which every user may open a name but not list
// names, whatever the umask: a user who cannot see a job cannot name its folder. An
// existing directory is not changed.
func makeOutbox(p string) error {
	if _, err := os.Stat(p); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(p, 0o755); err != nil {
		return err
	}
	return os.Chmod(p, 0o711)
}

func inside(base, p string) bool {
	rel, err := filepath.Rel(base, p)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// Ask writes a request into the job's outbox folder, replacing any other. Repeating it is
// harmless; a later Deadline extends it.
func (m *Mailbox) Ask(token string, r Request) error {
	r.Version = Version
	return m.post(token, RequestFile, r)
}

// Aim writes the Target of the job's next run.
func (m *Mailbox) Aim(token string, t Target) error {
	t.Version = Version
	return m.post(token, TargetFile, t)
}

// post writes one small file after parsing it as its reader will: a request that the
// runner would refuse is refused here.
func (m *Mailbox) post(token, name string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("outbox %s: %w", token, err)
	}
	switch name {
	case RequestFile:
		_, err = ParseRequest(data)
	case TargetFile:
		_, err = ParseTarget(data)
	}
	if err == nil && len(data) >= maxSmallFile {
		err = fmt.Errorf("%s: %d bytes: %w", name, len(data), ErrTooLarge)
	}
	if err != nil {
		return fmt.Errorf("outbox %s: %w", token, err)
	}
	dir, err := m.folder(token, true)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Write(name, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("outbox %s: %w", token, err)
	}
	return nil
}

// Withdraw removes the request, if there is one.
func (m *Mailbox) Withdraw(token string) error {
	dir, err := m.folder(token, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := errors.Join(dir.Remove(RequestFile), dir.Sync()); err != nil {
		return fmt.Errorf("outbox %s: %w", token, err)
	}
	return nil
}

// Forget removes the job's outbox folder, if there is one.
func (m *Mailbox) Forget(token string) error {
	if !ValidToken(token) {
		return fmt.Errorf("outbox: token %q: %w", token, ErrName)
	}
	base, err := OpenDir(m.outbox)
	if err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	defer base.Close()
	if err := base.RemoveAll(token); err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	return nil
}

// folder opens the job's outbox folder, and creates it if create is set.
func (m *Mailbox) folder(token string, create bool) (*Dir, error) {
	if !ValidToken(token) {
		return nil, fmt.Errorf("outbox: token %q: %w", token, ErrName)
	}
	base, err := OpenDir(m.outbox)
	if err != nil {
		return nil, fmt.Errorf("outbox: %w", err)
	}
	defer base.Close()
	open := base.Sub
	if create {
		open = func(name string) (*Dir, error) { return base.Make(name, 0o755) }
	}
	dir, err := open(token)
	if err != nil {
		return nil, fmt.Errorf("outbox: %w", err)
	}
	return dir, nil
}

// Runner reads the runner's note. ok is false if there is none yet; an error says which
// file is wrong and where: *FormatError, ErrOwner, ErrNotRegular, ErrTooLarge or the file
// system's.
func (m *Mailbox) Runner(token string, uid uint32) (r Runner, ok bool, err error) {
	dir, err := m.job(token, uid)
	if err != nil {
		return Runner{}, false, none(err)
	}
	defer dir.Close()
	data, err := dir.Read(RunnerFile, maxSmallFile)
	if err != nil {
		return Runner{}, false, none(jobError(token, err))
	}
	if r, err = ParseRunner(data); err != nil {
		return Runner{}, false, jobError(token, err)
	}
	return r, true, nil
}

// maxHook bounds the bytes of a job's Hook.
const maxHook = 4096

// Hook reads the URL that the job's user wants messages posted to. It is one line; nothing else about it is
// checked.
func (m *Mailbox) Hook(token string, uid uint32) (string, error) {
	dir, err := m.job(token, uid)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	data, err := dir.Read(Hook, maxHook)
	if err != nil {
		return "", jobError(token, err)
	}
	return strings.TrimSuffix(string(data), "\n"), nil
}

// RunnerNow is Runner: the file is always read, never cached.
func (m *Mailbox) RunnerNow(token string, uid uint32) (Runner, bool, error) {
	return m.Runner(token, uid)
}

// job opens a job's folder, which the uid must own.
func (m *Mailbox) job(token string, uid uint32) (*Dir, error) {
	if !ValidToken(token) {
		return nil, fmt.Errorf("job folder: token %q: %w", token, ErrName)
	}
	base, err := OpenDir(m.jobs)
	if err != nil {
		return nil, fmt.Errorf("job folders: %w", err)
	}
	defer base.Close()
	dir, err := base.Owned(token, uid)
	if err != nil {
		return nil, jobError(token, err)
	}
	return dir, nil
}

func jobError(token string, err error) error { return fmt.Errorf("job folder %s: %w", token, err) }

// none turns "does not exist" into no error.
func none(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
