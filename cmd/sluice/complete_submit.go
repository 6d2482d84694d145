package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// listed are the options of a verb that parses its command line itself, as its help lists
// them, and the words of those whose values are a closed set or known to sluiced.
type listed struct {
	help  string
	words map[string]completer
}

// listedOptions are the verbs whose command line is sbatch's with some more options. Of
// sbatch's own options, which pass through, those are completed that sluiced knows words for.
var listedOptions = map[string]listed{
	"submit":  {submitHelp, submitWords},
	"profile": {profileHelp + "\n" + submitHelp, profileWords},
}

var submitWords = map[string]completer{
	"gpu-sizes": fixed("pow2\tpowers of two"), "gpu-types": reports(false, gpuTypesOf),
	"deadline-mode": fixed("soft\trun even if the deadline cannot be admitted"), "model": reports(true, modelsOf),
	"checkpoint-signal": fixed("USR1", "USR2", "HUP"), "checkpoint-every": fixed("auto", "off"),
	"retries": fixed("auto"), "on-timeout": fixed("requeue", "end"),
	"partition": reports(false, partitionsOf), "dependency": fixed("afterok:", "afterany:", "after:", "afternotok:", "singleton"),
	"account": column(func(j *wire.Job) string { return j.Account }), "qos": column(func(j *wire.Job) string { return j.QOS }),
	"sweep": searchWords, "trial": fixed("job\teach trial is an elastic job of its own", "lane\tlanes run trials one after the other"),
	"notify":  fixed("mail", "webhook:\ta URL that the site allows"),
	"data":    dataSets,
	"exclude": reports(false, nodesOf(func(*wire.Node) bool { return true })),
}

// searchWords are the values of --sweep.
func searchWords(*cobra.Command, []string) (out []cobra.Completion) {
	for _, s := range sweep.Searches() {
		if out = append(out, s); s != "asha" && s != "pbt" {
			out = append(out, "asha+"+s)
		}
	}
	return out
}

// profileWords are submit's: profile's own options take numbers, times and a file.
var profileWords = submitWords

// short are sbatch's one-letter options with words.
var short = map[string]string{"-p": "partition", "-A": "account", "-q": "qos", "-d": "dependency", "-x": "exclude"}

// optionLine is an entry of the list of options in a help text.
var optionLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^  (?:-., )?--([a-z][a-z-]+)(\[?=)?`)
})

// names returns the options, those that take a value with "=" after them.
func (l listed) names() (out []cobra.Completion) {
	seen := map[string]bool{}
	for _, m := range optionLine().FindAllStringSubmatch(l.help, -1) {
		if !seen[m[1]] {
			seen[m[1]] = true
			out = append(out, "--"+m[1]+strings.TrimPrefix(m[2], "["))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.words)) {
		if !seen[name] {
			out = append(out, "--"+name+"=")
		}
	}
	return out
}

// complete completes an option, or its value after "=" or as the next word; any other word
// is a script or one of its arguments, where the shell offers files.
func (l listed) complete(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	name, value, given := strings.Cut(typed, "=")
	if !given && len(args) > 0 {
		if last := args[len(args)-1]; short[last] != "" || strings.HasPrefix(last, "--") && l.words[last[2:]] != nil {
			name, value, given = last, typed, true
		}
	}
	if long := short[name]; long != "" {
		name = "--" + long
	}
	switch {
	case given && strings.HasPrefix(name, "--") && l.words[name[2:]] != nil:
		return l.words[name[2:]].listed(cmd, nil, value)
	case strings.HasPrefix(typed, "-") && !given:
		return startingWith(l.names(), typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	return nil, cobra.ShellCompDirectiveDefault
}
