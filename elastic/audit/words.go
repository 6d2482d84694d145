package audit

import (
	"strconv"
	"strings"
	"time"
)

// Share is a run's part of one node.
type Share struct {
	Node string
	GPUs int
	Bits []int // indices of the GPUs; empty if the record does not say
}

// move is what an open or taken event says about a move.
type move struct {
	kind        string // start, resize, park, revive, clear, save
	target      []Share
	incarnation int
	step        int
	checkpoint  string
}

// moveOf reads an open or a taken event.
func moveOf(e Event) (move, bool) {
	target, err := parsePlace(e.Target)
	if err != nil || e.Move == "" {
		return move{}, false
	}
	return move{kind: e.Move, target: target, incarnation: e.Incarnation, step: e.Step, checkpoint: e.Checkpoint}, true
}

// parsePlace reads "gpu1:4+gpu2:2"; "-" is no place.
func parsePlace(text string) ([]Share, error) {
	if text == "-" || text == "" {
		return nil, nil
	}
	var out []Share
	for _, part := range strings.Split(text, "+") {
		node, count, _ := strings.Cut(part, ":")
		n, err := strconv.Atoi(count)
		if err != nil {
			return nil, err
		}
		out = append(out, Share{Node: node, GPUs: n})
	}
	return out, nil
}

// began is what a run event says about where a run started from.
type began struct {
	restarts, incarnation int
	at                    time.Time // by the clock of its node
	checkpoint            string    // "" = no checkpoint
	passed                []string
}

func beganOf(e Event) (began, bool) {
	at, err := time.Parse(time.RFC3339Nano, e.Began)
	if err != nil || strings.Trim(e.Checkpoint, "0123456789") != "" {
		return began{}, false
	}
	return began{restarts: e.Run, incarnation: e.Incarnation, at: at, checkpoint: e.Checkpoint, passed: e.Passed}, true
}

// act is a kind of effect, as sluiced announces it (the field of an act event) and as Slurm
// records it.
type act string

const (
	actAsk      act = "ask"
	actWithdraw act = "withdraw"
	actRequeue  act = "requeue"
	actRevive   act = "revive" // of a failed job
	actClear    act = "clear"  // of a job that Slurm still counts where it no longer runs
	actCancel   act = "cancel" // of a lane that waits though its sweep is over
	actDefer    act = "defer"  // a later begin time
	actStart    act = "start"  // the begin time is the next second
	actHold     act = "hold"
	actRelease  act = "release"
	actWrite    act = "write"
	actAnnotate act = "annotate"
	actPass     act = "pass" // a scheduling pass, on request
)

// number reads digits that a pattern has matched; 0 if there are too many.
func number(digits string) int {
	n, err := strconv.ParseInt(digits, 10, 62)
	if err != nil {
		return 0
	}
	return int(n)
}
