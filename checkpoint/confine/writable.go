package confine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// A read-only mount stops no write into a pipe, and no connection to a socket: what others put below the system and
// software folders of a fence carries data out of it.

// Writable is what is below the folders that a fence shows, and should not be. Each list has some paths, not all.
type Writable struct {
	Ways   []string // named pipes and sockets that this process could write to
	Open   []string // folders in which every user can make some
	Others []string // folders in which their owner or group can, which is not of the system
	Whole  bool     // everything that can be read was looked at
}

// mostNamed bounds the lists of a Writable.
const mostNamed = 5

// people is the least number of an account or a group that is not of the system.
const people = 1000

// errEnough ends a walk.
var errEnough = errors.New("enough")

// LookForWays looks below the software and the system of a fence, the software first, at most entries files and folders
// or until ctx ends. Links are not followed; a fence does not show where they lead, unless that is listed, too.
func LookForWays(ctx context.Context, f Fence, entries int) Writable {
	w := Writable{Whole: true}
	var seen []string
	for _, top := range slices.Concat(f.Software, f.System) {
		real, err := filepath.EvalSymlinks(top)
		if err != nil || slices.ContainsFunc(seen, func(s string) bool { return within(s, real) }) {
			continue // left out of the fence, or looked at
		}
		seen = append(seen, real)
		err = filepath.WalkDir(real, func(name string, e fs.DirEntry, err error) error {
			if entries--; entries < 0 || ctx.Err() != nil {
				return errEnough
			}
			if err == nil {
				w.note(name, e)
			}
			return nil // what cannot be read here cannot be read inside
		})
		if errors.Is(err, errEnough) {
			w.Whole = false
			return w
		}
	}
	return w
}

func (w *Writable) note(name string, e fs.DirEntry) {
	keep := func(list *[]string) {
		if len(*list) < mostNamed && !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	switch {
	case e.Type()&(os.ModeNamedPipe|os.ModeSocket) != 0:
		if unix.Access(name, unix.W_OK) == nil {
			keep(&w.Ways)
		}
	case e.IsDir():
		info, err := e.Info()
		if err != nil || unix.Access(name, unix.X_OK) != nil {
			return // nothing below it can be reached
		}
		of, known := info.Sys().(*syscall.Stat_t)
		switch mode := info.Mode().Perm(); {
		case mode&0o002 != 0:
			keep(&w.Open)
		case known && (of.Uid >= people && mode&0o200 != 0 || of.Gid >= people && mode&0o020 != 0):
			keep(&w.Others)
		}
	}
}
