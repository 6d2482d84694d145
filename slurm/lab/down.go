package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// stopGrace is how long a daemon may take to end after SIGTERM before it is killed.
const stopGrace = 15 * time.Second

// Down stops the lab and its jobs, and removes its directory with the logs and everything
// that jobs wrote below it. It also works on a lab that is partly down, and returns an
// error naming what could not be ended or removed.
func (l *Lab) Down(ctx context.Context) error { return l.end(ctx, "lab down", l.remove) }

// Stop stops the lab and its jobs, and keeps its logs and what jobs wrote; devices and
// sockets are removed. The directory cannot be used again until Down.
func (l *Lab) Stop(ctx context.Context) error { return l.end(ctx, "lab stop", l.removeDevices) }

func (l *Lab) end(ctx context.Context, op string, finish func() error) error {
	if err := l.mayChange(op); err != nil {
		return err
	}
	unlock, err := lock(ctx, l.Dir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was removed in the meantime
	}
	if err != nil {
		return wrap(op, l.Dir(), err, "")
	}
	defer unlock()
	if err := l.teardown(ctx); err != nil {
		return wrap(op, l.Dir(), err, "repeat: sluice lab down --dir "+l.Dir())
	}
	if err := finish(); err != nil {
		return wrap(op, l.Dir(), err, "")
	}
	return nil
}

// teardown ends all processes. The controller is first, so that it starts no further job
// and does not see the nodes disappear; munged is last, because the others need it to the
// end. Jobs get no notice: KillWait would be 30 s.
func (l *Lab) teardown(ctx context.Context) error {
	return errors.Join(
		l.halt(ctx, ofKind(slurmctld, backup), stopGrace),
		l.halt(ctx, ofKind(script), 0),
		l.halt(ctx, ofKind(slurmd), stopGrace),
		l.halt(ctx, ofKind(stepd, task), 0),
		l.halt(ctx, ofKind(slurmdbd), stopGrace),
		l.halt(ctx, ofKind(database), stopGrace),
		l.halt(ctx, ofKind(munged), stopGrace),
	)
}

// removeDevices removes the devices and sockets, which only a running lab needs.
func (l *Lab) removeDevices() error {
	d := l.layout()
	return errors.Join(os.RemoveAll(d.join("dev")), os.RemoveAll(d.join("run")), os.RemoveAll(d.join("spool")), os.RemoveAll(d.database()))
}

// remove removes the directory, or only its contents if it existed before. It refuses
// while anything is mounted below it: the contents of the mount would be deleted.
func (l *Lab) remove() error {
	if below, err := mountedBelow(l.Dir()); err != nil || below != "" {
		return errors.Join(err, fmt.Errorf("%s is a mount point, unmount it first: umount %s", below, below))
	}
	if l.rec.MadeDir {
		return os.RemoveAll(l.Dir())
	}
	entries, err := os.ReadDir(l.Dir())
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(l.layout().join(e.Name())))
	}
	return err
}

// mountedBelow returns a mount point below dir, "" when there is none.
func mountedBelow(dir string) (string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		// ID PARENT MAJ:MIN ROOT MOUNTPOINT ...; blanks are octal, and a lab's path has
		// none.
		if f := strings.Fields(line); len(f) > 4 && strings.HasPrefix(f[4], dir+"/") {
			return f[4], nil
		}
	}
	return "", nil
}
