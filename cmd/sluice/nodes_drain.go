package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/reach"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/etc"
	planner "github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/command"
)

// drainOptions are the options of "sluice nodes" that change nodes in Slurm.
type drainOptions struct {
	drain, resume string // host lists
	reason        string
	dry           bool
}

func (o *drainOptions) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.drain, "drain", "", "drain these nodes in Slurm; elastic jobs leave them (administrators)")
	f.StringVar(&o.resume, "resume", "", "return these nodes to service in Slurm (administrators)")
	f.StringVar(&o.reason, "reason", "", "with --drain: why, as Slurm shows it")
	f.BoolVar(&o.dry, "dry-run", false, "with --drain or --resume: only say what would be done")
}

// check refuses invalid combinations.
func (o *drainOptions) check() error {
	switch {
	case o.drain != "" && o.resume != "":
		return errors.New("--drain and --resume: give one of them")
	case o.drain != "" && strings.TrimSpace(o.reason) == "":
		return errors.New(`give a reason, which Slurm requires too: --reason "kernel update"`)
	case o.drain == "" && o.reason != "":
		return errors.New("--reason belongs to --drain")
	case o.drain == "" && o.resume == "" && o.dry:
		return errors.New("--dry-run belongs to --drain or --resume")
	}
	return nil
}

// change prints what will be done, and runs scontrol as the calling user, with that
// user's rights, not the daemon's.
func (o *drainOptions) change(cmd *cobra.Command, report wire.Report) error {
	names, err := known(cmp.Or(o.drain, o.resume), report.Nodes)
	if err != nil {
		return err
	}
	out, list := cmd.OutOrStdout(), slurm.Compress(names)
	plan := ""
	if o.drain != "" {
		plan = drainPlan(report, names, o.reason)
	}
	if o.dry {
		fmt.Fprint(out, plan)
		return nil
	}
	site, err := reach.Site(cmd)
	if err != nil {
		return err
	}
	if err := setNodes(cmd.Context(), site, command.NodeUpdate{Nodes: list, Reason: o.reason}); err != nil {
		return err
	}
	fmt.Fprint(out, plan) // only what is true now
	if o.drain != "" {
		fmt.Fprintf(out, "%s drained; `sluice nodes` shows what is left on it, `sluice nodes --resume %s` undoes this\n", isOrAre(list, names), list)
		return nil
	}
	fmt.Fprintf(out, "%s back in service\n", isOrAre(list, names))
	return nil
}

func isOrAre(list string, names []string) string {
	if len(names) == 1 {
		return list + " is"
	}
	return list + " are"
}

// setNodes changes nodes with the rights of the calling user.
func setNodes(ctx context.Context, site etc.Config, u command.NodeUpdate) error {
	client, err := slurmFor(site)
	if err != nil {
		return err
	}
	if err = client.SetNodes(ctx, u); errors.Is(err, slurm.ErrPermission) {
		return fmt.Errorf("you may not change nodes: that needs the rights of a Slurm operator or administrator, which sluice does not give to users and a 'sluiced --user' does not have; nothing was changed; ask your administrators for: scontrol %s",
			strings.Join(quoted(u.Args()), " "))
	}
	return err
}

// quoted formats arguments as they would be typed.
func quoted(args []string) []string {
	out := slices.Clone(args)
	for i, arg := range out {
		if strings.ContainsAny(arg, " '\"$`\\") {
			out[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return out
}

// known parses a host list of existing nodes.
func known(list string, nodes []wire.Node) ([]string, error) {
	names, err := slurm.Expand(list)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", list, err)
	}
	for _, name := range names {
		if !slices.ContainsFunc(nodes, func(n wire.Node) bool { return n.Name == name }) {
			return nil, fmt.Errorf("%s: no such node with GPUs; `sluice nodes` lists them", terminal.Escape(name))
		}
	}
	return names, nil
}

// drainPlan describes what a drain of the nodes does to the jobs on them, at present.
func drainPlan(report wire.Report, names []string, reason string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Slurm starts nothing new on %s (%s).\n", slurm.Compress(names), terminal.Escape(reason))
	left := inventoryWithout(report.Nodes, names) // each job takes its new GPUs out of it
	for _, j := range report.Jobs {
		if j.Ended || !slices.ContainsFunc(names, func(n string) bool { return j.Place.On(n) > 0 }) { // an ended job's placement is its last
			continue
		}
		fmt.Fprintf(&b, "  job %d (%s) of %s, %s: %s\n", j.JobID, terminal.Escape(j.Name), terminal.Escape(j.User), terminal.Plural(j.Place.GPUs(), "GPU"), fateOnDrain(j, left))
	}
	others := 0
	for _, n := range report.Nodes {
		if slices.Contains(names, n.Name) {
			others += max(0, n.Used-n.Elastic)
		}
	}
	if others > 0 {
		fmt.Fprintf(&b, "  other jobs have %s there and run on until they end\n", terminal.Plural(others, "GPU"))
	}
	return b.String()
}

// inventoryWithout is the daemon's inventory as if some nodes were drained.
func inventoryWithout(all []wire.Node, names []string) []planner.Node {
	out := make([]planner.Node, len(all))
	for i, n := range all {
		out[i] = planner.Node{Name: n.Name, Partitions: n.Partitions, Type: n.Type, GPUs: n.GPUs, Used: n.Used,
			Usable: n.Usable && !slices.Contains(names, n.Name), CPUs: n.CPUs, CPUsUsed: n.CPUsUsed, MemoryMB: n.MemoryMB, MemUsedMB: n.MemUsedMB}
		for _, t := range n.Types {
			out[i].Types = append(out[i].Types, planner.OfType{Type: t.Type, GPUs: t.GPUs, Used: t.Used})
		}
	}
	return out
}

// accepts reports whether the node has GPUs of a type that the job accepts. A job that
// accepts several types uses nodes with a single one.
func accepts(j wire.Job, n planner.Node) bool {
	has := func(t planner.OfType) bool { return t.Type == typeOf(j) }
	return len(j.Types) == 0 || slices.Contains(j.Types, n.Type) || len(j.Types) == 1 && slices.ContainsFunc(n.Types, has)
}

// typeOf is the single GPU type that the job requests; "" if it accepts several or any.
func typeOf(j wire.Job) string {
	if len(j.Types) == 1 {
		return j.Types[0]
	}
	return ""
}

// placeOf is where the job would be placed at that size.
func placeOf(j wire.Job, gpus int, left []planner.Node) planner.Placement {
	ask := planner.Request{ID: j.JobID, Partition: j.Partition, GPUs: gpus, Uneven: j.Uneven, Type: typeOf(j)}
	return planner.Place(left, []planner.Request{ask})[0].Placement
}

// fateOnDrain describes what happens to a job, and subtracts its new GPUs from the
// inventory.
func fateOnDrain(j wire.Job, left []planner.Node) string {
	switch {
	case !j.Speaks:
		return "stays until it ends: no checkpoint seen yet"
	case j.OnHold:
		return "stays until it ends: held by its user"
	case j.MIG:
		return "stays until it ends: it runs on MIG slices"
	}
	sizes := elastic.Spec{Min: j.Min, Max: j.Max, Step: j.Step, Sizes: j.Sizes, AllowUneven: j.Uneven}.Options(j.Place.GPUs())
	if j.Pinned > 0 || j.Promised {
		sizes = []int{j.Place.GPUs()}
	}
	freed := planner.Without(left, planner.Load{Place: j.Place, Type: typeOf(j)})
	for i := range freed {
		freed[i].Usable = freed[i].Usable && accepts(j, freed[i])
	}
	for _, n := range slices.Backward(sizes) {
		if to := placeOf(j, n, freed); len(to) > 0 {
			planner.Charge(left, planner.Load{Place: to, Type: typeOf(j)})
			if have := j.Place.GPUs(); n < have {
				return fmt.Sprintf("saves and moves to %s, with %s instead of %d (as things stand)", to, terminal.Plural(n, "GPU"), have)
			}
			return fmt.Sprintf("saves and moves to %s (as things stand)", to)
		}
	}
	return "runs on until it ends or there is room elsewhere; then it saves and moves"
}

// changeNodes is "sluice nodes --drain" and "--resume".
func (o *drainOptions) changeNodes(cmd *cobra.Command, client *client.Client, errs io.Writer) error {
	report, err := client.Report(cmd.Context())
	if err != nil {
		return err
	}
	warnBlind(errs, report.Blind, report.BlindFor, report.At)
	if err := o.change(cmd, report); err != nil || o.dry {
		return err
	}
	// Otherwise jobs on a drained node would stay for up to two periods. If sluiced is
	// not reached it notices by itself.
	_ = client.Event(cmd.Context(), 0, "nodes")
	return nil
}
