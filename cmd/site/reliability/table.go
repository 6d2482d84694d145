package reliability

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
)

// Options of a table.
type Options struct {
	Folder string    // records, as etc/campaign keeps them
	Track  string    // TRACKRECORD.md; "" or not there = its bugs are not counted
	Out    io.Writer // the table
}

// figure is a row: its name and how it is computed from facts with a name.
type figure struct {
	title string
	name  string // records of its facts
	read  func([]fact) string
}

// notRun stands for every figure without a record.
const notRun = "not run here"

// figures are the rows, in order.
var figures = []figure{
	{"crash boundaries: killed before and after each / all", "boundaries", func(f []fact) string {
		n := whole(last(f).number("total"))
		return fmt.Sprintf("%s / %s", n, n)
	}},
	{"pairs of kills within some effects of each other, all of every scenario", "pairs", func(f []fact) string {
		return fmt.Sprintf("%s of %d scenarios, %s effects apart at most", whole(sum(f, "pairs")), len(f), last(f).values["apart"])
	}},
	{"seeds of random scenarios; simulated years; failed", "seeds", func(f []fact) string {
		return fmt.Sprintf("%s (%s with a store on disk); %.1f years; %s failed",
			whole(sum(f, "seeds")), whole(sum(f, "disk")), sum(f, "days")/365.25, whole(sum(f, "failed")))
	}},
	{"conformance, checks passed per release", "conform", func(f []fact) string {
		return each(latest(f, "release"), func(c fact) string {
			return fmt.Sprintf("%s: %s/%s", c.values["release"], c.values["kept"], c.values["total"])
		})
	}},
	{"planted bugs caught / planted", "planted", func(f []fact) string {
		return last(f).values["caught"] + " / " + last(f).values["planted"]
	}},
	{"mutants caught / tried, by room (equivalents apart)", "mutants", func(f []fact) string {
		return each(latest(f, "room"), func(c fact) string {
			return fmt.Sprintf("%s: %s/%s", c.values["room"], c.values["caught"], c.values["tried"])
		})
	}},
	{"adversaries: seeds each; time the luckiest gained by false speeds; by a lie that could be true", "liars", liars},
	{"database: bytes flipped", "store-byte-flips", count},
	{"database: of these harmless, set aside and rebuilt", "store-byte-flips-harmless", count},
	{"database: calls that write", "store-write-calls", count},
	{"database: writes that failed (ENOSPC, EDQUOT, EROFS, EIO)", "store-write-failures", count},
	{"database: moments at which the power went", "store-power-loss-boundaries", count},
	{"database: power losses tried", "store-power-losses", count},
	{"database: kills of a real process", "store-daemon-kills", count},
	{"checkpoints: mutations refused / tried (the rest changed nothing that counts)", "manifests", func(f []fact) string {
		return last(f).values["refused"] + " / " + last(f).values["total"]
	}},
	{"attack matrix: requests; denied, each of them logged", "matrix", func(f []fact) string {
		return last(f).values["requests"] + "; " + last(f).values["denials"]
	}},
	{"systemd exposure of the units (0 closed, 10 open)", "exposure", func(f []fact) string {
		return each(latest(f, "unit"), func(c fact) string { return c.values["unit"] + " " + c.values["score"] })
	}},
	{"live kills on a real Slurm; wrong losses, steps missing", "exact", func(f []fact) string {
		return fmt.Sprintf("%s; %s, %s", whole(sum(f, "kills")), whole(sum(f, "wrong_losses")), whole(sum(f, "missing")))
	}},
	{"slurmctld killed in the middle of moves, its backup takes over: kills", "failovers", count},
	{"live resizes beside them", "exact", func(f []fact) string { return whole(sum(f, "resizes")) }},
	{"job folders on NFS: words from one machine to another, each seen at once", "nfs-exchanges", count},
	{"job folders on NFS: kills of program, run and sluiced in the middle of saves and moves", "nfs-kills", count},
	{"job folders on NFS: kills of the server in the middle of saves and moves", "nfs-server-kills", count},
	{"confined jobs: ways out that were tried", "confined-ways", total},
	{"confined jobs: of these open, each named in SECURITY.md", "confined-open", total},
	{"confined jobs: bytes that left in these tests", "confined-left", total},
	{"confined jobs: bytes that the budgets allowed", "confined-budget", total},
	{"confined jobs: denied calls in the record", "confined-attempts", total},
	{"confined jobs: kinds of denied calls that are not in the record", "confined-untold", total},
	{"confined jobs: start-up beside the same job without a fence", "confined-startup", func(f []fact) string {
		return fmt.Sprintf("%s ms, %s ms (middle of %s pairs)", last(f).values["inside_ms"], last(f).values["outside_ms"], last(f).values["pairs"])
	}},
	{"confined jobs: CPU time of a step beside that without a fence, a loop in Python", "confined-steps-loop", ratio},
	{"confined jobs: the same, PyTorch on a CPU", "confined-steps-torch", ratio},
	{"confined jobs on two nodes: MB/s and round trip through the relay, beside plain TCP on loopback", "confined-relay", func(f []fact) string {
		v := last(f).values
		return fmt.Sprintf("%s, %s us; %s, %s us (%s MB)", v["relayed_mb_s"], v["relayed_trip_us"], v["plain_mb_s"], v["plain_trip_us"], v["megabytes"])
	}},
	{"confined jobs on two nodes: an all-reduce of 25 MB through the relay, beside loopback (gloo)", "confined-reduce", func(f []fact) string {
		return fmt.Sprintf("%s ms, %s ms", last(f).values["relayed_ms"], last(f).values["loopback_ms"])
	}},
	{"soak: hours; jobs, resizes, kills; violations", "soak", func(f []fact) string {
		return fmt.Sprintf("%.2f h; %s, %s, %s; %s", sum(f, "hours"), whole(sum(f, "submits")), whole(sum(f, "resizes")),
			whole(sum(f, "kills")), whole(sum(f, "promises_broken")))
	}},
	{"soak, the longest: memory, file descriptors, goroutines of one life", "soak", func(f []fact) string {
		l := slices.MaxFunc(f, func(a, b fact) int { return int(1000 * (a.number("hours") - b.number("hours"))) })
		return fmt.Sprintf("%s min: %s KiB (%s, %s beyond the jobs that ended), %s, %s", l.values["life_minutes"], l.values["rss_kib"], l.values["rss_slope"],
			cmp.Or(l.values["rss_unexplained"], "unknown"), l.values["fds"], l.values["goroutines"])
	}},
}

// Print writes the table. It fails if a record cannot be read.
func Print(o Options) error {
	records, err := readAll(o.Folder)
	if err != nil {
		return err
	}
	by := map[string][]fact{}
	for _, r := range records {
		for _, f := range r.facts {
			by[f.name] = append(by[f.name], f)
		}
	}
	out := bufio.NewWriter(o.Out)
	fmt.Fprintf(out, "| figure | value | record |\n|---|---|---|\n")
	for _, row := range figures {
		printRow(out, row.title, by[row.name], row.read)
	}
	printFuzz(out, by["fuzz"])
	bugs, err := countBugs(o.Track)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "| real bugs found, with what still catches them | %s | TRACKRECORD.md |\n", bugs)
	return out.Flush()
}

func printRow(out io.Writer, title string, facts []fact, say func([]fact) string) {
	if len(facts) == 0 {
		fmt.Fprintf(out, "| %s | %s | |\n", title, notRun)
		return
	}
	fmt.Fprintf(out, "| %s | %s | %s |\n", title, say(facts), sources(facts))
}

// printFuzz writes a row for each parser, and their sum. Executions of all runs add up as
// long as the source of the parser's package is that of the newest run.
func printFuzz(out io.Writer, facts []fact) {
	newest := map[string]string{}
	for _, f := range facts {
		newest[f.values["target"]] = f.values["source"]
	}
	facts = slices.DeleteFunc(slices.Clone(facts), func(f fact) bool { return f.values["source"] != newest[f.values["target"]] })
	execs := map[string][]fact{}
	for _, f := range facts {
		execs[f.values["target"]] = append(execs[f.values["target"]], f)
	}
	printRow(out, "fuzz executions, all parsers as they are", facts, func(f []fact) string {
		return fmt.Sprintf("%s of %d parsers", whole(sum(f, "execs")), len(execs))
	})
	for _, target := range slices.Sorted(maps.Keys(execs)) {
		printRow(out, "fuzz executions, "+target, execs[target], func(f []fact) string { return whole(sum(f, "execs")) })
	}
}

// sources lists the commits of the records, and which of them failed.
func sources(facts []fact) string {
	var words []string
	for _, f := range facts {
		word := f.record.commit
		if word == "" {
			word = f.record.file
		}
		if f.record.bad() {
			word += " (FAILED or broken off)"
		}
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return strings.Join(words, ", ")
}

func last(facts []fact) fact { return facts[len(facts)-1] }

func count(facts []fact) string { return whole(last(facts).number("count")) }

// total adds up what the parts of the newest campaign counted.
func total(facts []fact) string {
	newest := last(facts).record
	return whole(sum(slices.DeleteFunc(slices.Clone(facts), func(f fact) bool { return f.record != newest }), "count"))
}

func ratio(facts []fact) string { return last(facts).values["ratio"] }

func sum(facts []fact, key string) float64 {
	all := 0.
	for _, f := range facts {
		all += f.number(key)
	}
	return all
}

// liars reports the most that any adversary gained on average, and separately those whose
// reports agree with each other and with the clock.
func liars(facts []fact) string {
	most := map[string]fact{}
	now := latest(facts, "in")
	for _, f := range now {
		if m, some := most[f.values["detectable"]]; !some || m.number("gain_percent") < f.number("gain_percent") {
			most[f.values["detectable"]] = f
		}
	}
	gain := func(f fact) string { return f.values["gain_percent"] + " +-" + f.values["give_percent"] + " %" }
	return fmt.Sprintf("%d with %s; %s; %s", len(now), last(facts).values["seeds"], gain(most["true"]), gain(most["false"]))
}

// latest is the newest fact of each value of a key, in order of the values.
func latest(facts []fact, key string) []fact {
	newest := map[string]fact{}
	for _, f := range facts {
		newest[f.values[key]] = f
	}
	var list []fact
	for _, value := range slices.Sorted(maps.Keys(newest)) {
		list = append(list, newest[value])
	}
	return list
}

func each(facts []fact, say func(fact) string) string {
	words := make([]string, len(facts))
	for i, f := range facts {
		words[i] = say(f)
	}
	return strings.Join(words, ", ")
}

// whole formats a count with its thousands separated: 1,234,567.
func whole(n float64) string {
	text := fmt.Sprintf("%.0f", n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// countBugs counts the rows of the tables in TRACKRECORD.md whose first column is the
// bug.
func countBugs(path string) (string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || path == "" {
		return notRun, nil
	}
	if err != nil {
		return "", err
	}
	rows, bugs := 0, false
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, "| bug |"):
			bugs = true
		case !strings.HasPrefix(line, "|"):
			bugs = false
		case bugs && !strings.HasPrefix(line, "|---"):
			rows++
		}
	}
	return whole(float64(rows)), nil
}
