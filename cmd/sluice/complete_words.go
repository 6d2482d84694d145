package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/reach"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/etc"
)

var (
	changeable = myJobs(func(*wire.Job) bool { return true })
	onGPUs     = myJobs(func(j *wire.Job) bool { return j.GPUs > 0 })
)

// argumentWords completes the arguments of verbs. The two whose command line is sbatch's are
// in listedOptions.
var argumentWords = map[string]completer{
	"show": anyJob, "explain": oneOf(anyJob), "history": oneOf(anyJob), "logs": oneOf(anyJob),
	"cancel": changeable, "resize": changeable, "deadline": changeable,
	"hold":    myJobs(func(j *wire.Job) bool { return !j.OnHold }),
	"release": myJobs(func(j *wire.Job) bool { return j.OnHold }),
	"requeue": onGPUs, "checkpoint": onGPUs,
	"speed": oneOf(reports(true, modelsOf)), "results": oneOf(jobsWithData),
}

// optionWords completes the values of options, by verb and option.
var optionWords = map[string]map[string]completer{
	"queue": {
		"users": column(func(j *wire.Job) string { return j.User }), "partition": reports(false, partitionsOf),
		"account": column(func(j *wire.Job) string { return j.Account }), "qos": column(func(j *wire.Job) string { return j.QOS }),
		"jobs": anyJob, "states": stateWords, "format": fieldWords(""), "sort": fieldWords("-"),
		"nodelist": reports(false, nodesOf(func(*wire.Node) bool { return true })),
	},
	"deadline": {"mode": fixed("hard", "soft"), "at": fixed("none", "now+")},
	"nodes":    {"format": nodeFieldWords(""), "sort": nodeFieldWords("-"), "trust": reports(false, nodesOf(unfit)), "drain": reports(false, nodesOf(usable)), "resume": reports(false, nodesOf(unusable))},
	"report":   {"by": fixed("account", "user", "model"), "since": fixed("1d", "7d", "30d")},
	"resize":   {"gpus": sizesOf},
	"logs":     {"segment": runsOf},
	"speed":    {"of-user": column(func(j *wire.Job) string { return j.User })},
	"event":    {"job": anyJob, "kind": fixed("submit", "cancel", "end")},
	"run": {"checkpoint-every": fixed("auto", "off"), "checkpoint-signal": fixed("USR1", "USR2", "HUP"),
		"retries": fixed("auto"), "unit": fixed("epoch", "step")},
}

// column offers the different values of a field of the jobs that have not ended.
func column(of func(j *wire.Job) string) completer {
	return reports(false, func(_ etc.Config, r wire.Report, _ []string) (out []cobra.Completion) {
		for i := range r.Jobs {
			out = append(out, of(&r.Jobs[i]))
		}
		return distinct(out)
	})
}

// modelsOf are the models of the jobs that sluiced remembers.
func modelsOf(_ etc.Config, r wire.Report, _ []string) (out []cobra.Completion) {
	for _, j := range r.Jobs {
		out = append(out, j.Model)
	}
	return distinct(out)
}

// gpuTypesOf are the types of GPU.
func gpuTypesOf(_ etc.Config, r wire.Report, _ []string) (out []cobra.Completion) {
	for _, n := range r.Nodes {
		out = append(out, strings.Split(n.Type, "+")...)
	}
	return distinct(out)
}

func partitionsOf(_ etc.Config, r wire.Report, _ []string) (out []cobra.Completion) {
	for _, n := range r.Nodes {
		out = append(out, n.Partitions...)
	}
	return distinct(out)
}

// distinct sorts the values; empty ones are left out.
func distinct(all []string) []string {
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(s string) bool { return s == "" })
}

func usable(n *wire.Node) bool   { return n.Usable }
func unusable(n *wire.Node) bool { return !n.Usable }
func unfit(n *wire.Node) bool    { return n.Health != nil }

// nodesOf offers nodes, each with its GPUs and its state.
func nodesOf(offer func(n *wire.Node) bool) func(etc.Config, wire.Report, []string) []cobra.Completion {
	return func(_ etc.Config, r wire.Report, _ []string) (out []cobra.Completion) {
		for i := range r.Nodes {
			if n := &r.Nodes[i]; offer(n) {
				about := fmt.Sprintf("%d of %d GPUs free", n.Free, n.GPUs)
				if n.State != "" {
					about += "  " + strings.ToLower(n.State)
				}
				out = append(out, cobra.CompletionWithDesc(n.Name, about))
			}
		}
		return out
	}
}

// stateWords are the states that queue -t takes.
func stateWords(*cobra.Command, []string) (out []cobra.Completion) {
	for compact, full := range present.States {
		if compact != "ALL" {
			out = append(out, cobra.CompletionWithDesc(compact, full), full)
		}
	}
	slices.Sort(out)
	return append(out, "all")
}

// fieldWords are the fields that queue shows and sorts by, also with the sign that reverses
// the order.
func fieldWords(sign string) completer { return wordsOf(present.Jobs.Fields, sign) }

// nodeFieldWords are those of nodes.
func nodeFieldWords(sign string) completer { return wordsOf(present.Nodes.Fields, sign) }

func wordsOf[T any](fields []present.Field[T], sign string) completer {
	return func(*cobra.Command, []string) (out []cobra.Completion) {
		for _, f := range fields {
			if out = append(out, f.Name); sign != "" {
				out = append(out, sign+f.Name)
			}
		}
		return out
	}
}

// ownSweeps offers the user's sweeps, the newest first, from the user's own folders.
func ownSweeps(cmd *cobra.Command, args []string) (out []cobra.Completion) {
	site, err := reach.Site(cmd)
	if err != nil || len(args) > 0 {
		return nil
	}
	all, err := sweepsIn(site.Paths.Jobs)
	if err != nil {
		return nil
	}
	for _, v := range slices.Backward(all) {
		if v.Number > 0 {
			out = append(out, cobra.CompletionWithDesc(strconv.FormatInt(v.Number, 10), v.Name))
		}
	}
	return out
}

// sizesOf offers the sizes that the one job of the command line accepts, up to 16 GPUs above
// its minimum, and auto.
func sizesOf(cmd *cobra.Command, args []string) []cobra.Completion {
	words := []cobra.Completion{cobra.CompletionWithDesc("auto", "sluice decides again")}
	if len(args) != 1 {
		return words
	}
	return append(words, reports(false, func(_ etc.Config, r wire.Report, _ []string) (out []cobra.Completion) {
		for _, j := range r.Jobs {
			if strconv.FormatInt(j.JobID, 10) != args[0] {
				continue
			}
			sizes := j.Sizes
			for n := j.Min; len(j.Sizes) == 0 && n <= min(max(j.Max, j.Min), j.Min+16); n += max(1, j.Step) {
				sizes = append(sizes, n)
			}
			for _, n := range sizes {
				out = append(out, strconv.Itoa(n))
			}
		}
		return out
	})(cmd, args)...)
}

// runsOf offers the runs of the job on the command line.
func runsOf(cmd *cobra.Command, args []string) []cobra.Completion {
	words := []cobra.Completion{cobra.CompletionWithDesc("last", "the newest run")}
	if len(args) != 1 {
		return words
	}
	id, err := strconv.ParseInt(args[0], 10, 64)
	_, daemon := quietly(cmd)
	if err != nil || daemon == nil {
		return words
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionTime)
	defer cancel()
	history, err := daemon.History(ctx, elastic.JobID(id))
	if err != nil {
		return words
	}
	for _, s := range history.Segments {
		words = append(words, cobra.CompletionWithDesc(strconv.Itoa(s.Incarnation), fmt.Sprintf("%d GPUs on %s", s.GPUs, s.Place)))
	}
	return words
}
