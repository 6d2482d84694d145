package runner

import (
	"bytes"
	"io"
	"os"
	"path/filepath"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// progressSize is the size of the progress log in bytes.
func (f folders) progressSize() int64 {
	info, err := os.Lstat(filepath.Join(f.program(), checkpoint.ProgressFile))
	if err != nil {
		return 0
	}
	return info.Size()
}

// reached is how far the present start of the script has come. If it was started from a
// checkpoint and ended before it reported progress, it is at that checkpoint.
func (r *run) reached() reached {
	if r.alone {
		return reached{}
	}
	at := reached{checkpoint: r.newestSealed()}
	at.came = r.from.name != "" || at.checkpoint > r.from.name
	at.known = r.from.name != "" && at.checkpoint == r.from.name
	if at.known {
		at.step, at.epoch = r.from.step, r.from.epoch
	}
	for _, p := range r.job.progressSince(r.offset) {
		if p.Event == "progress" && p.Restarts == r.job.restarts {
			at.came, at.known, at.step, at.epoch, at.done = true, true, p.Step, p.Epoch, p.Done
		}
	}
	return at
}

// progressSince returns the lines at the end of the progress log, from an offset on.
func (f folders) progressSince(offset int64) (lines []checkpoint.Progress) {
	dir, err := checkpoint.OpenDir(f.program())
	if err != nil {
		return nil
	}
	defer dir.Close()
	file, info, err := dir.Open(checkpoint.ProgressFile)
	if err != nil {
		return nil
	}
	defer file.Close()
	from := max(0, offset, info.Size()-progressTail)
	tail, err := io.ReadAll(io.NewSectionReader(file, from, max(0, info.Size()-from)))
	if err != nil {
		return nil
	}
	for line := range bytes.Lines(tail) {
		if p, err := checkpoint.ParseProgress(bytes.TrimSpace(line)); err == nil {
			lines = append(lines, p)
		}
	}
	return lines
}
