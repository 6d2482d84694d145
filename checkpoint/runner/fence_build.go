package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-hpc/sluice/checkpoint/confine"
	"github.com/sluice-hpc/sluice/checkpoint/process"
)

// builder builds the fence of a job on one of its nodes.
type builder struct {
	confine.Fence
	bwrap string
	tally *tally
}

// vault is the job's folder in the vault.
func (b *builder) vault() string { return filepath.Dir(b.Inner) }

// prepare finds what the fence needs on this node, and makes this process fit to start it.
func (b *builder) prepare(node string, now func() time.Time) error {
	if err := b.Valid(); err != nil {
		return err
	}
	if err := b.missing(); err != nil {
		return err
	}
	var err error
	if b.bwrap, err = confine.Program(); err != nil {
		return err
	}
	if b.tally, err = newTally(b.vault(), node, now); err != nil {
		return err
	}
	if err := noCores(); err != nil {
		return fmt.Errorf("switching core dumps off: %w", err)
	}
	return closeOnExec()
}

// mayHave returns why the job may not have so many nodes.
func (b *builder) mayHave(nodes int) error {
	switch {
	case b.Network == "":
		return fmt.Errorf("%w: %d nodes; at this site a confined job has one: submit it with --nodes=1", errConfined, nodes)
	case nodes > confine.MaxNodes:
		return fmt.Errorf("%w: %d nodes, at most %d", errConfined, nodes, confine.MaxNodes)
	}
	if b.Network == confine.OfSite {
		return nil
	}
	return confine.Connectable()
}

// missing returns an error that names the first folder of the fence that does not exist.
func (b *builder) missing() error {
	folders := map[string]string{"the program's folder": b.Inner, "the job's code": b.Code, "the folder for its output": b.Output}
	for name, set := range b.Data {
		folders["the data set "+name] = set
	}
	for _, what := range slices.Sorted(maps.Keys(folders)) {
		if info, err := os.Stat(folders[what]); err != nil || !info.IsDir() {
			return fmt.Errorf("%s is not on this node, or no folder: %s; ask the owner of the data", what, folders[what])
		}
	}
	return nil
}

// noCores prevents core dumps. The limit is 1 byte: with it the kernel neither writes a file
// nor calls a handler, which it does with a limit of 0.
func noCores() error {
	err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1})
	if errors.Is(err, unix.EPERM) { // the hard limit is 0
		return nil
	}
	return err
}

// closeOnExec keeps what this process inherited open from the programs that it starts: bwrap
// passes on every descriptor.
func closeOnExec() error {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range open {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// enclosure is a fence that was started.
type enclosure struct {
	child   *process.Child
	status  *status
	release *os.File // a byte starts its command; nil = nothing holds it back
}

// enclose starts a command inside of the fence, with this output. It gets the files passed, and their numbers as its
// last arguments; they are closed here.
func (b *builder) enclose(family *process.Family, s confine.Start, argv []string, out *os.File, passed ...*os.File) (e *enclosure, err error) {
	s.UID, s.GID = os.Geteuid(), os.Getegid()
	plan := confine.Build(s, confine.Look(b.Fence))
	var files []*os.File // the child's, closed here once it has them
	e = &enclosure{}
	defer func() {
		for _, file := range slices.Concat(files, passed) {
			file.Close()
		}
		if err != nil {
			e.status.close()
			if e.release != nil {
				e.release.Close()
			}
		}
	}()
	memory := func(name string, content []byte) {
		if err == nil {
			var file *os.File
			if file, err = confine.Memory(name, content); err == nil {
				files = append(files, file)
			}
		}
	}
	pipe := func() (read, write *os.File) {
		if err == nil {
			read, write, err = os.Pipe()
		}
		return read, write
	}
	memory("options", plan.Data())
	memory("filter", b.tally.filter)
	read, write := pipe()
	e.status = &status{file: read}
	if err == nil {
		files = append(files, write)
	}
	if plan.Waits {
		var held *os.File
		if held, e.release = pipe(); err == nil {
			files = append(files, held)
		}
	}
	for _, content := range plan.Files {
		memory("file", []byte(content.Content))
	}
	if err != nil {
		return nil, err
	}
	for _, file := range passed {
		argv, files = append(argv, strconv.Itoa(confine.First+len(files))), append(files, file)
	}
	passed = nil
	if argv, files, err = b.tally.guard(argv, files); err != nil {
		return nil, err
	}
	e.child, err = family.Start(process.Command{Argv: confine.Argv(b.bwrap, argv), Env: []string{"PATH=/usr/bin:/bin"}, Stdout: out, Stderr: out, More: files})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// status is what bwrap says of a fence: JSON, a line at a time.
type status struct {
	mu   sync.Mutex
	file *os.File
	said []byte
}

// until reads until a line is enough, or bwrap has nothing more to say, or it is late. The error is that of reading.
func (s *status) until(late time.Time, enough func(line []byte) bool) (found bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.file.SetReadDeadline(late); err != nil {
		return false, err
	}
	for buffer := make([]byte, 4096); ; {
		for line := range bytes.Lines(s.said) {
			if enough(line) {
				return true, nil
			}
		}
		n, err := s.file.Read(buffer)
		if s.said = append(s.said, buffer[:n]...); err != nil || len(s.said) > smallFile {
			return false, err
		}
	}
}

// exited reports whether the fence's command has run, once bwrap has ended, and whether that is known.
func (s *status) exited(late time.Time) (ran, known bool) {
	ran, err := s.until(late, func(line []byte) bool {
		var said struct {
			Exit *int `json:"exit-code"`
		}
		return json.Unmarshal(line, &said) == nil && said.Exit != nil
	})
	return ran, err == nil || errors.Is(err, io.EOF)
}

// inside returns a process of the fence, by its number outside, once its user namespaces are complete. ctx
// must have a deadline.
func (s *status) inside(ctx context.Context) (pid int, err error) {
	late, _ := ctx.Deadline()
	found, err := s.until(late, func(line []byte) bool {
		var said struct {
			Child int `json:"child-pid"`
		}
		if json.Unmarshal(line, &said) == nil && said.Child > 0 {
			pid = said.Child
		}
		return pid > 0
	})
	for found && ctx.Err() == nil {
		if users, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/uid_map"); err != nil || len(users) > 0 {
			return pid, err
		}
		time.Sleep(pause)
	}
	return 0, errors.Join(errors.New("bubblewrap did not build the fence"), err)
}

// pause is the time between two looks at a fence that is being built.
const pause = 5 * time.Millisecond

func (s *status) close() {
	if s != nil && s.file != nil {
		s.file.Close()
	}
}
