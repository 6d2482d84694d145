package command

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluice-hpc/sluice/slurm"
)

func FuzzParseJobs(f *testing.F) {
	for _, release := range releases {
		for _, kind := range kinds {
			f.Add(fixture(f, release, "jobs", kind.name+".squeue"))
		}
	}
	f.Fuzz(func(t *testing.T, out string) {
		details, err := parseJobs(out, fixtureDelimiter)
		if err != nil && details != nil {
			t.Fatalf("both jobs and %v", err)
		}
		if err == nil && out != "" && len(details) == 0 {
			t.Fatal("something passed for an empty queue")
		}
		for _, d := range details {
			if d.ID < 1 || d.GPUs < 0 || d.NodeCount < 0 || d.TimeLimit < 0 || d.TimeLeft < 0 || d.State == "" || d.Split != nil ||
				d.Priority < 0 || d.Priority > noValue || d.Held && d.Priority != 0 {
				t.Fatalf("%+v", d)
			}
		}
	})
}

func FuzzParseNodes(f *testing.F) {
	for _, release := range releases {
		for _, name := range []string{"sinfo.txt", "sinfo-down.txt", "sinfo-drained.txt"} {
			f.Add(fixture(f, release, name))
		}
	}
	f.Fuzz(func(t *testing.T, out string) {
		nodes, err := parseNodes(out, fixtureDelimiter)
		if err != nil && nodes != nil || err == nil && out != "" && len(nodes) == 0 {
			t.Fatalf("%d nodes, %v", len(nodes), err)
		}
		for _, n := range nodes {
			if n.Name == "" || len(n.States) == 0 || n.GPUs < 0 || n.GPUsUsed < 0 || n.CPUs < 0 || n.MemoryMB < 0 {
				t.Fatalf("%+v", n)
			}
		}
	})
}

func FuzzParseSplit(f *testing.F) {
	for _, release := range releases {
		for _, kind := range kinds {
			f.Add(fixture(f, release, "jobs", kind.name+".scontrol"), kind.name)
		}
		f.Add(fixture(f, release, "jobs", "hostile.scontrol"), hostileName)
	}
	f.Fuzz(func(t *testing.T, out, name string) {
		for _, id := range []slurm.JobID{1, 2, 20} {
			split, err := parseSplit(out, id, name)
			if (err == nil) != (len(split) > 0) {
				t.Fatalf("%v, %v", split, err)
			}
			for _, s := range split {
				if s.Node == "" || s.GPUs < 0 {
					t.Fatalf("%+v", s)
				}
			}
		}
	})
}

func FuzzGPUs(f *testing.F) {
	for _, s := range []string{"gpu:4", "gres:gpu:a100:4(S:0-1),shard:2", "gpu:(null):4(IDX:0-3)", "cpu=1,gres/gpu=4", "gpu:2(IDX:0", "((((", "gpu:)(,"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, list string) {
		if g, err := parseGPUs(list); g.count < 0 || len(g.ids) > maxIndex*(strings.Count(list, ",")+1) || err != nil && g.count != 0 {
			t.Fatalf("%+v, %v", g, err)
		}
	})
}

func FuzzValues(f *testing.F) {
	for _, s := range []string{"1-02:03:04", "UNLIMITED", "1795230697", "0:15", "768", "-1", "4294967294", "draining*", "mixed+drain", "slurm-%4j.out"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d, _ := duration(s); d < 0 {
			t.Fatalf("duration %v", d)
		}
		if n, _ := count(s); n < 0 {
			t.Fatalf("count %d", n)
		}
		if c, sig, _ := exitStatus(s); c < 0 || sig < 0 {
			t.Fatalf("exit %d:%d", c, sig)
		}
		if at, _ := epoch(s); !at.IsZero() && at.Unix() < 1 {
			t.Fatalf("time %v", at)
		}
		if len(nodeStates(s, s)) == 0 && strings.Trim(s, "+") != "" {
			t.Fatal("no state")
		}
		_ = outputFile(s, slurm.Job{ID: 1})
	})
}

func FuzzPrintedWords(f *testing.F) {
	f.Add("Submitted batch job 12 on cluster a\n")
	f.Add("12;alpha")
	f.Add("SLURM_VERSION           = 22.05.8\n")
	f.Add("scontrol: error: \x1b[2J\u202e")
	f.Fuzz(func(t *testing.T, s string) {
		if id, line := parseSubmitted(s); id < 0 || (id == 0) != (line == "") || strings.ContainsAny(line, "\n") {
			t.Fatalf("%d, %q", id, line)
		}
		if v, ok := parseVersion(s); ok && v.Year < 1 {
			t.Fatalf("%v", v)
		}
		words := clean(s)
		if len(words) > maxWords+3 || !utf8.ValidString(words) || strings.ContainsFunc(words, func(r rune) bool { return r != ' ' && printable(r) != r }) {
			t.Fatalf("%q", words)
		}
	})
}
