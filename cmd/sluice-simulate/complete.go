package main

import (
	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

// addCompletion completes the options of a command whose values are a closed set; those that
// take several values complete the first.
func addCompletion(c *cobra.Command) *cobra.Command {
	var policies, generators []cobra.Completion
	for _, p := range policy.All {
		policies = append(policies, cobra.CompletionWithDesc(p.Name, p.Doc))
	}
	for _, g := range workload.Generators() {
		generators = append(generators, "gen:"+g.Name)
	}
	generators = append(generators, workload.SweepsPrefix+"generated")
	formats, _ := workload.Formats()
	for name, words := range map[string][]cobra.Completion{
		"policy": policies, "format": formats,
		"info": {string(replay.Oracle), string(replay.Learned)}, "placing": {string(replay.Ours), string(replay.Published)},
		"output": {"table", "json", "csv", "html"}, "restart": {"model\teach job by its model's size"},
	} {
		if f := c.Flags().Lookup(name); f != nil && f.Value.Type() != "duration" {
			_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
		}
	}
	if c.Flags().Lookup("workload") != nil { // a generator, or a file
		_ = c.RegisterFlagCompletionFunc("workload", cobra.FixedCompletions(generators, cobra.ShellCompDirectiveDefault))
	}
	return c
}
