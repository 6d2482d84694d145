package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// habit is how a program saves on its own.
type habit struct {
	glob   string // the pattern as given
	base   string // the folder in which the pattern starts; "." = the working directory
	parts  []string
	marker string
	still  time.Duration
}

const (
	maxNames   = 10_000 // entries read in one folder
	maxMatches = 1000   // checkpoints examined, the newest by name
	// settled is how long a checkpoint with a marker must not change: one process writes
	// the marker while others may still be writing.
	settled = time.Second
	// damaged is the suffix of checkpoints that were set aside.
	damaged = ".sluice-damaged"
)

// newHabit parses the pattern. The folders before its first special character are given
// by the user and opened with links followed; below them no link is followed.
func newHabit(a Adopt, job int64) *habit {
	if a.Glob == "" {
		return nil
	}
	h := &habit{glob: strings.ReplaceAll(a.Glob, "%j", strconv.FormatInt(job, 10)), marker: a.Marker, still: a.Still, base: "."}
	h.parts = strings.Split(path.Clean(h.glob), "/")
	fixed := 0
	for fixed < len(h.parts)-1 && !strings.ContainsAny(h.parts[fixed], `*?[\`) {
		fixed++
	}
	if fixed > 0 {
		h.base = strings.Join(h.parts[:fixed], "/") + "/"
	}
	h.parts = h.parts[fixed:]
	return h
}

// wait is how long a checkpoint must not have changed.
func (h *habit) wait() time.Duration {
	if h.marker != "" {
		return min(h.still, settled)
	}
	return h.still
}

// sighting is one of the program's own checkpoints as it was seen.
type sighting struct {
	path   string // below the habit's base
	glance string // changes if the checkpoint may have changed; cheap to compute
	number int64  // the last number in its name; -1 = none
	marked bool   // its marker exists
	tree   checkpoint.Tree
	print  string
}

// looked is the result of a look.
type looked struct {
	found []sighting
	took  time.Duration
	err   error
}

// look finds what matches. Entries that appear or vanish in the meantime are seen the
// next time; a missing folder has no entries. Known checkpoints with an unchanged glance
// are not examined again.
func (h habit) look(known map[string]sighting) looked {
	base, err := checkpoint.OpenDir(h.base)
	if errors.Is(err, fs.ErrNotExist) {
		return looked{}
	}
	if err != nil {
		return looked{err: err}
	}
	defer base.Close()
	var paths []string
	if err := h.match(base, "", h.parts, &paths); err != nil {
		return looked{err: err}
	}
	slices.SortFunc(paths, func(a, b string) int {
		if na, nb := trailingNumber(a), trailingNumber(b); na != nb {
			return int(max(-1, min(1, nb-na)))
		}
		return strings.Compare(a, b)
	})
	var l looked
	for _, p := range paths[:min(len(paths), maxMatches)] {
		s, err := h.see(base, p, known[p])
		if err == nil {
			l.found = append(l.found, s)
		} else if !gone(err) && l.err == nil {
			l.err = err
		}
	}
	if len(l.found) > 0 {
		l.err = nil // an unreadable one must not hide the others
	}
	return l
}

// gone reports whether an error only means that the program is changing files there.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, checkpoint.ErrNotRegular) || errors.Is(err, checkpoint.ErrChanged)
}

func (h habit) match(dir *checkpoint.Dir, at string, parts []string, out *[]string) error {
	names, err := dir.Names(maxNames)
	if err != nil {
		return err
	}
	for _, name := range names {
		if ok, _ := path.Match(parts[0], name); !ok || strings.HasSuffix(name, damaged) ||
			(strings.HasPrefix(name, ".") && !strings.HasPrefix(parts[0], ".")) {
			continue // as in a shell, * does not match a leading dot
		}
		p := path.Join(at, name)
		if len(parts) == 1 {
			*out = append(*out, p)
			continue
		}
		sub, err := dir.Sub(name)
		if gone(err) {
			continue
		}
		if err != nil {
			return err
		}
		err = h.match(sub, p, parts[1:], out)
		sub.Close()
		if err != nil && !gone(err) {
			return err
		}
	}
	return nil
}

// see examines one match.
func (h habit) see(base *checkpoint.Dir, p string, known sighting) (sighting, error) {
	dir, name, err := base.Reach(p)
	if err != nil {
		return sighting{}, err
	}
	defer dir.Close()
	glance, err := h.glance(dir, name)
	if err != nil || (known.glance == glance && known.path == p) {
		return known, err
	}
	tree, err := dir.Tree(name)
	if err != nil {
		return sighting{}, err
	}
	s := sighting{path: p, glance: glance, number: trailingNumber(p), tree: tree, print: tree.Print()}
	s.marked = h.marker != "" && slices.ContainsFunc(tree.Entries, func(e checkpoint.Entry) bool { return e.Path == h.marker && !tree.Plain })
	return s, nil
}

// glance describes the top of a checkpoint, and its marker's time.
func (h habit) glance(dir *checkpoint.Dir, name string) (string, error) {
	info, err := dir.Lstat(name)
	if err != nil || !info.IsDir() || h.marker == "" {
		return stamp(info), err
	}
	sub, err := dir.Sub(name)
	if err != nil {
		return "", err
	}
	defer sub.Close()
	marker, err := sub.Lstat(h.marker)
	if err != nil {
		return stamp(info), nil // missing, or not readable: the tree will show it
	}
	return stamp(info) + " " + stamp(marker), nil
}

func stamp(info fs.FileInfo) string {
	if info == nil {
		return ""
	}
	return fmt.Sprint(info.ModTime().UnixNano(), " ", info.Size())
}

// maxNumber bounds the numbers in names; a longer one is not a step.
const maxNumber = 1_000_000_000_000

// trailingNumber is the last whole number in the last component of a path, as in
// checkpoint-500, epoch=3-step=500.ckpt or model_500.pt; -1 when there is none.
func trailingNumber(p string) int64 {
	name := path.Base(p)
	isDigit := func(r rune) bool { return r >= '0' && r <= '9' }
	end := strings.LastIndexFunc(name, isDigit) + 1
	start := end
	for start > 0 && isDigit(rune(name[start-1])) {
		start--
	}
	n, err := strconv.ParseInt(name[start:end], 10, 64)
	if err != nil || n > maxNumber {
		return -1
	}
	return n
}
