package searcher

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// transcript is what the program was told and what it answered, in order.
type transcript struct {
	lines  []sweep.Spoken
	points map[int]bool
	none   bool
	file   *os.File
}

// keptTranscripts is how many transcripts stay. Each has all lines of the one before, and with --trial=job each
// trial is another turn: all of them would take space with the square of the number of trials. sluiced reads
// the one of the present turn. Those before it are for a lane that is about to begin a turn, and for people.
const keptTranscripts = 3

// openTranscript opens the transcript of a turn. A new one begins with all lines of the newest earlier
// one. It appears as a whole, so that sluiced never reads a part of it as the whole. Old ones are removed AFTER
// that; a lane that still writes into one was replaced, and is not read any more.
func openTranscript(folder string, turn int) (*transcript, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	name := sweep.Transcript(turn)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".jsonl") && e.Name() <= name {
			names = append(names, e.Name())
		}
	}
	t := &transcript{points: map[int]bool{}}
	if len(names) > 0 {
		data, err := read(folder, slices.Max(names))
		if err != nil {
			return nil, err
		}
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			if s, err := sweep.ParseSpoken(line); err == nil { // else it was cut off by a kill
				t.take(s)
			}
		}
	}
	var all bytes.Buffer
	for _, s := range t.lines {
		line, err := json.Marshal(s)
		if err != nil {
			return nil, err
		}
		all.Write(append(line, '\n'))
	}
	if err := write(folder, name, all.Bytes()); err != nil {
		return nil, err
	}
	if t.file, err = os.OpenFile(filepath.Join(folder, name), os.O_WRONLY|os.O_APPEND, 0); err != nil {
		return nil, err
	}
	for _, old := range outdated(names, turn) {
		_ = os.Remove(filepath.Join(folder, old)) // the next turn tries again
	}
	return t, nil
}

// outdated are the transcripts that no turn needs any more. now is the present turn; transcripts of later
// turns, which a lane that was replaced may see, stay.
func outdated(names []string, now int) (out []string) {
	var turns []int
	for _, n := range names {
		if turn, is := sweep.TurnOf(n); is && turn < now {
			turns = append(turns, turn)
		}
	}
	slices.Sort(turns)
	for _, turn := range turns[:max(0, len(turns)+1-keptTranscripts)] {
		out = append(out, sweep.Transcript(turn))
	}
	return out
}

func (t *transcript) take(s sweep.Spoken) {
	t.lines = append(t.lines, s)
	t.none = t.none || s.None
	if s.Point != nil {
		t.points[s.Point.Trial] = true
	}
}

// add records a line, durably.
func (t *transcript) add(s sweep.Spoken) error {
	line, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if _, err := t.file.Write(append(line, '\n')); err != nil {
		return err
	}
	if err := t.file.Sync(); err != nil {
		return err
	}
	t.take(s)
	return nil
}

func (t *transcript) close() error {
	if err := t.file.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return err
	}
	return nil
}
