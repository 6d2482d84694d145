package present

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/nodes"
)

// Filter selects jobs of a report: the options of 'sluice queue', which a filter of the
// terminal screen is written in too. Its zero value selects all jobs that have not ended.
type Filter struct {
	Me, All            bool
	Users, Jobs        []string
	Partitions, States []string
	Accounts, QOS      []string
	Nodes              []string // that a job has GPUs on
	Words              []string // each is part of the job's name, user, model, account or reason
}

// Flags adds the options of the filter to a command.
func (f *Filter) Flags(flags *pflag.FlagSet) {
	flags.VarP((*list)(&f.Users), "users", "u", "only jobs of these users, names or numbers")
	flags.BoolVar(&f.Me, "me", false, "only your own jobs")
	flags.StringArrayVarP(&f.Jobs, "jobs", "j", nil, "only these jobs, ended ones too")
	flags.VarP((*list)(&f.Partitions), "partition", "p", "only jobs of these partitions")
	flags.VarP((*list)(&f.Accounts), "account", "A", "only jobs of these Slurm accounts")
	flags.VarP((*list)(&f.QOS), "qos", "q", "only jobs of these QOS")
	flags.VarP((*list)(&f.States), "states", "t", "only jobs in these states, such as R or PENDING; 'all' for ended ones too")
	flags.VarP((*list)(&f.Nodes), "nodelist", "w", "only jobs with GPUs on these nodes")
	flags.BoolVarP(&f.All, "all", "a", false, "ended jobs too")
}

// maxFilter bounds the length of a filter's text, in bytes.
const maxFilter = 4096

// ParseFilter parses a filter as it is typed after 'sluice queue': options, and words that jobs
// must contain. Quotes hold words with spaces together.
func ParseFilter(text string) (Filter, error) {
	var f Filter
	if len(text) > maxFilter {
		return f, fmt.Errorf("the filter is longer than %d characters", maxFilter)
	}
	args, err := split(text)
	if err != nil {
		return f, err
	}
	flags := pflag.NewFlagSet("filter", pflag.ContinueOnError)
	flags.Usage = func() {}
	f.Flags(flags)
	if err := flags.Parse(args); err != nil {
		if err == pflag.ErrHelp {
			return Filter{}, fmt.Errorf("want options of 'sluice queue', such as --me, -t R or -u ann, or words")
		}
		return Filter{}, err
	}
	f.Words = flags.Args()
	return f, f.Check()
}

// String returns the filter as it is typed.
func (f Filter) String() string {
	var words []string
	put := func(option string, values []string) {
		if len(values) > 0 {
			words = append(words, option, quoted(strings.Join(values, ",")))
		}
	}
	if f.Me {
		words = append(words, "--me")
	}
	put("-u", f.Users)
	for _, j := range f.Jobs {
		put("-j", []string{j})
	}
	put("-t", f.States)
	put("-p", f.Partitions)
	put("-A", f.Accounts)
	put("-q", f.QOS)
	put("-w", f.Nodes)
	if f.All {
		words = append(words, "-a")
	}
	if slices.ContainsFunc(f.Words, func(w string) bool { return strings.HasPrefix(w, "-") }) {
		words = append(words, "--")
	}
	for _, w := range f.Words {
		words = append(words, quoted(w))
	}
	return strings.Join(words, " ")
}

func quoted(word string) string {
	switch {
	case word != "" && !strings.ContainsAny(word, " \t\n'\""):
		return word
	case strings.Contains(word, "'"):
		return `"` + strings.ReplaceAll(word, `"`, `"'"'"`) + `"`
	}
	return "'" + word + "'"
}

// split splits a line into words as a shell does, without any of its expansions.
func split(line string) (words []string, err error) {
	var word strings.Builder
	inside, quote := false, rune(0)
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inside = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if inside {
				words = append(words, word.String())
			}
			word.Reset()
			inside = false
		default:
			word.WriteRune(r)
			inside = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("the quote %c is not closed", quote)
	}
	if inside {
		words = append(words, word.String())
	}
	return words, nil
}

// Ended reports whether ended jobs may be listed, too.
func (f Filter) Ended() bool { return f.All || len(f.Jobs) > 0 || len(f.States) > 0 }

// Check returns what is wrong with the filter itself, whatever jobs there are: -j, -t, and lists with an empty name.
func (f Filter) Check() error {
	if _, err := JobWords(f.Jobs); err != nil {
		return err
	}
	for _, o := range []struct {
		names               []string
		option, want, whose string
	}{
		{f.Users, "-u", "a user: -u ann", "of all users"},
		{f.Partitions, "-p", "a partition: -p gpu", "of all partitions"},
		{f.Accounts, "-A", "an account: -A phys", "of all accounts"},
		{f.QOS, "-q", "a QOS: -q normal", "of all QOS"},
		{f.Nodes, "-w", "a node: -w gpu1", "on all nodes"},
	} {
		if slices.Contains(o.names, "") {
			return fmt.Errorf("%s was given an empty name; want %s. Without %s the jobs %s are listed", o.option, o.want, o.option, o.whose)
		}
	}
	return knownStates(f.States)
}

// Matcher returns a function that reports whether a job of the report is selected. me is the
// uid of the caller.
func (f Filter) Matcher(report wire.Report, me uint32) (func(*wire.Job) bool, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	words, err := JobWords(f.Jobs)
	if err != nil {
		return nil, err
	}
	ids, err := Expand(words, Reported(report), me)
	if err != nil {
		return nil, err
	}
	users := f.Users
	if f.Me {
		users = append(slices.Clone(users), fmt.Sprint(me))
	}
	anyState := slices.ContainsFunc(f.States, func(s string) bool { return strings.EqualFold(s, "all") })
	return func(j *wire.Job) bool {
		return (f.Ended() || !j.Ended) &&
			(len(ids) == 0 || slices.Contains(ids, elastic.JobID(j.JobID))) &&
			(len(users) == 0 || slices.Contains(users, j.User) || slices.Contains(users, fmt.Sprint(j.UID))) &&
			(len(f.Accounts) == 0 || slices.Contains(f.Accounts, j.Account)) &&
			(len(f.QOS) == 0 || slices.Contains(f.QOS, j.QOS)) &&
			(len(f.Partitions) == 0 || inPartitions(j, f.Partitions)) &&
			(len(f.States) == 0 || anyState || inStates(j, f.States)) &&
			(len(f.Nodes) == 0 || slices.ContainsFunc(j.Place, func(on nodes.Share) bool { return slices.Contains(f.Nodes, on.Node) })) &&
			f.contains(j)
	}, nil
}

// contains reports whether each word is part of one of the job's texts, in any case.
func (f Filter) contains(j *wire.Job) bool {
	for _, word := range f.Words {
		word = strings.ToLower(word)
		if !slices.ContainsFunc([]string{fmt.Sprint(j.JobID), j.Name, j.User, j.Model, j.Account, j.Comment, Reason(j)}, func(text string) bool {
			return strings.Contains(strings.ToLower(text), word)
		}) {
			return false
		}
	}
	return true
}
