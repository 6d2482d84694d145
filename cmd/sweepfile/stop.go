package sweepfile

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// early_terminate of Weights & Biases, as its documentation and its own code have it: brackets at
// min_iter, min_iter*eta, ..., or at max_iter/eta, max_iter/eta^2, ..., s of them, cut to whole
// numbers. Of the runs that reach one, 1/eta go on. An iteration is a report of the metric.

// usualEta is its eta.
const usualEta = 3

// earlyTerminate imports the brackets as rungs.
func (w *wandb) earlyTerminate(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return w.wrong(n, "early_terminate: want type: hyperband, and min_iter, or max_iter and s")
	}
	has := map[string]*yaml.Node{}
	for k, v := range pairs(n) {
		switch k.Value {
		case "type", "min_iter", "max_iter", "s", "eta", "strict":
			has[k.Value] = v
		default:
			return w.wrong(k, "early_terminate: %s: Weights & Biases has type, min_iter, max_iter, s, eta and strict", k.Value)
		}
	}
	switch {
	case has["type"] == nil:
		return w.wrong(n, "early_terminate: there is no type; want hyperband")
	case has["type"].Value != "hyperband":
		return w.wrong(has["type"], "early_terminate: type %q: want hyperband", has["type"].Value)
	case has["strict"] != nil && has["strict"].Value != "false":
		return w.wrong(has["strict"], "early_terminate: strict is not imported; leave it out")
	case has["min_iter"] != nil && has["max_iter"] != nil:
		return w.wrong(has["max_iter"], "early_terminate: want either min_iter, or max_iter and s")
	case has["min_iter"] == nil && has["max_iter"] == nil:
		return w.wrong(n, "early_terminate: want min_iter, or max_iter and s")
	case has["max_iter"] != nil && has["s"] == nil:
		return w.wrong(has["max_iter"], "early_terminate: max_iter needs s, the number of brackets")
	case has["max_iter"] == nil && has["s"] != nil:
		return w.wrong(has["s"], "early_terminate: s counts brackets below max_iter; leave it out")
	}
	eta, err := w.whole(has["eta"], "eta", usualEta, 2, sweep.MaxReduction)
	if err != nil {
		return err
	}
	rungs, err := w.brackets(has, eta)
	if err != nil {
		return err
	}
	w.give(n, "rungs", rungs)
	w.give(n, "reduction", strconv.Itoa(eta))
	if most := has["max_iter"]; most != nil {
		w.give(most, "epochs", most.Value)
	}
	return nil
}

// brackets are the rungs, as typed after --rungs.
func (w *wandb) brackets(has map[string]*yaml.Node, eta int) (string, error) {
	var rungs []string
	if first := has["min_iter"]; first != nil {
		at, err := w.whole(first, "min_iter", 0, 1, sweep.MaxRung)
		if err != nil {
			return "", err
		}
		for ; at <= sweep.MaxRung && len(rungs) < sweep.MaxRungs; at *= eta {
			rungs = append(rungs, strconv.Itoa(at))
		}
		return strings.Join(rungs, ","), nil
	}
	most, err := w.whole(has["max_iter"], "max_iter", 0, 1, sweep.MaxRung)
	if err != nil {
		return "", err
	}
	s, err := w.whole(has["s"], "s", 0, 1, sweep.MaxRungs)
	if err != nil {
		return "", err
	}
	power := 1
	for range s {
		if power *= eta; power > most {
			break
		}
		rungs = append([]string{strconv.Itoa(most / power)}, rungs...)
	}
	if len(rungs) == 0 {
		return "", w.wrong(has["max_iter"], "early_terminate: max_iter %d is below eta %d: there is no bracket", most, eta)
	}
	return strings.Join(rungs, ","), nil
}

// whole reads a whole number; usual where it is not given.
func (w *wandb) whole(n *yaml.Node, name string, usual, least, most int) (int, error) {
	if n == nil {
		return usual, nil
	}
	x, err := strconv.Atoi(n.Value)
	if err != nil || x < least || x > most {
		return 0, w.wrong(n, "early_terminate: %s %q: want a whole number from %d to %d", name, n.Value, least, most)
	}
	return x, nil
}

// halve makes the search one that pauses trials, wherever early_terminate stands.
func (w *wandb) halve() {
	for i, g := range w.given {
		if g.Option == "sweep" && w.stops {
			w.given[i].Value = fmt.Sprintf("asha+%s", g.Value)
		}
	}
}
