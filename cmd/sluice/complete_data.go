package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/reach"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

// vaultWords returns words that are made from an answer of sluice-vaultd.
func vaultWords(do wire.Verb, words func(wire.Answer) []cobra.Completion) completer {
	return func(cmd *cobra.Command, args []string) []cobra.Completion {
		site, err := reach.Site(cmd)
		if err != nil {
			return nil
		}
		vault, err := reach.Vault(site)
		if err != nil {
			return nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), completionTime)
		defer cancel()
		a, err := vault.Do(ctx, wire.Request{Do: do}, nil, nil)
		if err != nil {
			return nil
		}
		return words(a)
	}
}

// dataSets offers the data sets that the user owns or may train on.
var dataSets = vaultWords(wire.List, func(a wire.Answer) (out []cobra.Completion) {
	for _, s := range a.Sets {
		out = append(out, cobra.CompletionWithDesc(s.Name, s.Release+"  "+s.Owner))
	}
	return out
})

// jobsWithData offers the user's confined jobs, the newest first.
var jobsWithData = vaultWords(wire.Jobs, func(a wire.Answer) (out []cobra.Completion) {
	for i := len(a.Jobs) - 1; i >= 0; i-- {
		if j := a.Jobs[i]; j.JobID > 0 {
			out = append(out, cobra.CompletionWithDesc(strconv.FormatInt(j.JobID, 10), fmt.Sprintf("%s  %s  %s", j.Script, strings.Join(j.Data, ","), j.State)))
		}
	}
	return out
})
