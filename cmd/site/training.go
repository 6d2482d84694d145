package site

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// step is one line of a job's steps.log: a step that was really trained.
type step struct {
	restart, epoch, step, world int
}

// Training is what a job's own log shows.
type Training struct {
	Steps    int // different steps trained
	Repeated int // steps trained more than once: work lost after a checkpoint
	Missing  int // steps missing, of those expected
	Grown    int // runs with more GPUs than the run before
	Shrunk   int // runs with fewer
	Moves    int // runs after the first
	Worlds   []int
}

// ReadTraining reads a log of steps, one line "restart epoch step loss world" per step,
// and compares it with the expected steps; epochs is 0 if the job was not meant to
// finish. An unreadable line is an error that names it.
func ReadTraining(path string, epochs, perEpoch int) (Training, error) {
	f, err := os.Open(path)
	if err != nil {
		return Training{}, err
	}
	defer f.Close()
	var steps []step
	for in := bufio.NewScanner(f); in.Scan(); {
		s, err := parseStep(in.Text())
		if err != nil {
			return Training{}, fmt.Errorf("%s: line %d: %w", path, len(steps)+1, err)
		}
		steps = append(steps, s)
	}
	return judge(steps, epochs, perEpoch), nil
}

// parseStep reads "restart epoch step loss world".
func parseStep(line string) (step, error) {
	f := strings.Fields(line)
	if len(f) != 5 {
		return step{}, fmt.Errorf("%q: want 5 fields", line)
	}
	var n [4]int
	for i, at := range []int{0, 1, 2, 4} {
		v, err := strconv.Atoi(f[at])
		if err != nil {
			return step{}, fmt.Errorf("%q: field %d is no number", line, at+1)
		}
		n[i] = v
	}
	return step{restart: n[0], epoch: n[1], step: n[2], world: n[3]}, nil
}

func judge(steps []step, epochs, perEpoch int) Training {
	var t Training
	times := map[[2]int]int{}
	restart := -1
	for _, s := range steps {
		times[[2]int{s.epoch, s.step}]++
		if s.restart != restart {
			restart = s.restart
			t.Worlds = append(t.Worlds, s.world)
		}
	}
	for i := 1; i < len(t.Worlds); i++ {
		t.Moves++
		switch {
		case t.Worlds[i] > t.Worlds[i-1]:
			t.Grown++
		case t.Worlds[i] < t.Worlds[i-1]:
			t.Shrunk++
		}
	}
	t.Steps = len(times)
	for _, n := range times {
		t.Repeated += n - 1
	}
	for e := range epochs {
		for s := range perEpoch {
			if times[[2]int{e, s}] == 0 {
				t.Missing++
			}
		}
	}
	return t
}
