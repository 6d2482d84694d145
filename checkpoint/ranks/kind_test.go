package ranks

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestKinds(t *testing.T) {
	for _, c := range []struct{ args, word, want string }{
		{"train --x", "--and", "train --x"},
		{"train --x --and ps=2 serve -p 1 --and loader=1/node ./load", "--and", "train --x | ps 2 serve -p 1 | loader 1/node ./load"},
		{"train --and a_B9=1024/gpu b", "--and", "train | a_B9 1024/gpu b"},
		{"train --and-word --and=ps --And x", "--and", "train --and-word --and=ps --And x"},
		{"train --and @and ps=1 serve --and --", "@and", "train --and | ps 1 serve --and --"},
		{"train --and ps=1 serve @and", "--and", "train | ps 1 serve @and"},
	} {
		worker, others, err := Kinds(strings.Fields(c.args), c.word)
		got := strings.Join(worker, " ")
		for _, k := range others {
			got += fmt.Sprintf(" | %s %s %s", k.Name, k.Count, strings.Join(k.Argv, " "))
		}
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.args, got, err, c.want)
		}
	}
}

// TestNoKinds: what is wrong is named, and what to write instead.
func TestNoKinds(t *testing.T) {
	const way = "write: --and ps=2 COMMAND. If --and is an argument of a command's own, choose another word: sluice ranks --and-word WORD -- ..."
	for args, want := range map[string]string{
		"--and ps=2 serve":                      "no command before --and: the workers' comes first, as in: sluice ranks -- python3 train.py --and ps=2 python3 ps.py",
		"train --and":                           "--and: nothing after it; " + way,
		"train --and --and":                     "--and: nothing after it; " + way,
		"train --and or-not":                    "--and or-not: no NAME=COUNT; " + way,
		"train --and ps=2":                      "--and ps=2: no command after it; " + way,
		"train --and ps=2 --and b=1 x":          "--and ps=2: no command after it; " + way,
		"train --and =2 x":                      "--and =2: a kind's name is a letter, then letters, digits and _, at most 32; " + way,
		"train --and 2ps=2 x":                   "--and 2ps=2: a kind's name is",
		"train --and p-s=2 x":                   "--and p-s=2: a kind's name is",
		"train --and ä=2 x":                     "--and ä=2: a kind's name is",
		"train --and worker=2 x":                "--and worker=2: that is the first command's name; choose another",
		"train --and ps=2 x --and ps=1/node x":  "--and ps=1/node: there is a kind ps already",
		"train --and ps=0 x":                    `--and ps=0: count "0": want a number from 1 to 1024`,
		"train --and ps=1025/node x":            `--and ps=1025/node: count "1025/node": want a number from 1 to 1024`,
		"train --and ps=99999999999999999999 x": `want a number from 1 to 1024`,
		"train --and ps= x":                     `--and ps=: count "": want a number from 1 to 1024`,
		"train --and ps=/node x":                `want a number from 1 to 1024`,
		"train --and ps=two x":                  `--and ps=two: count "two": want such as 2 (in the whole job), 1/node or 2/gpu`,
		"train --and ps=-1 x":                   `want such as 2`,
		"train --and ps=1=2 x":                  `want such as 2`,
		"train --and ps=1/task x":               `want such as 2`,
		"train --and ps=1/ x":                   `want such as 2`,
		"train --and ps=1/node/gpu x":           `want such as 2`,
	} {
		_, _, err := Kinds(strings.Fields(args), AndWord)
		if err == nil || !strings.HasPrefix(err.Error(), want) && !strings.HasSuffix(err.Error(), want) && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
	if _, _, err := Kinds([]string{"train"}, ""); err == nil {
		t.Error("an empty word")
	}
	many := []string{"train"}
	for i := range maxKinds {
		many = append(many, AndWord, fmt.Sprintf("k%d=1", i), "x")
	}
	if _, _, err := Kinds(many, AndWord); err == nil || !strings.Contains(err.Error(), "65 kinds of tasks: at most 64") {
		t.Errorf("%v", err)
	}
	if _, _, err := Kinds(many[:len(many)-3], AndWord); err != nil {
		t.Error(err)
	}
}

func TestShares(t *testing.T) {
	for _, c := range []struct {
		kinds string
		gpus  []int // of the nodes
		want  string
	}{
		{"ps=2 x --and loader=1/node x --and actor=2/gpu x", []int{4}, "[2 1 8]"},
		{"ps=2 x --and loader=1/node x --and actor=2/gpu x", []int{4, 1, 2}, "[1 1 8] [1 1 2] [0 1 4]"},
		{"ps=5 x", []int{1, 1}, "[3] [2]"},
		{"a=1 x --and b=1 x --and c=3/node x --and d=1 x", []int{1, 1}, "[1 0 3 1] [0 1 3 0]"}, // each goes on behind the one before
		{"a=2 x --and b=2 x", []int{1, 1, 1}, "[1 1] [1 0] [0 1]"},
	} {
		_, kinds, err := Kinds(strings.Fields("train --and "+c.kinds), AndWord)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for node, gpus := range c.gpus {
			got = append(got, fmt.Sprint(shares(kinds, node, len(c.gpus), gpus)))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s on %v: %s, want %s", c.kinds, c.gpus, s, c.want)
		}
	}
}

// TestSharesAddUp: whatever the nodes, a count of the whole job is started in full, and
// no node has two more of it than another.
func TestSharesAddUp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		nodes := rapid.IntRange(1, 12).Draw(rt, "nodes")
		var kinds []Kind
		for _, n := range rapid.SliceOfN(rapid.IntRange(1, 40), 1, 5).Draw(rt, "counts") {
			kinds = append(kinds, Kind{Count: Count{N: n}})
		}
		sums, all := make([]int, len(kinds)), make([]int, nodes)
		low, high := slices.Repeat([]int{maxTasks}, len(kinds)), make([]int, len(kinds))
		for node := range nodes {
			for i, n := range shares(kinds, node, nodes, 1) {
				sums[i] += n
				all[node] += n
				low[i], high[i] = min(low[i], n), max(high[i], n)
			}
		}
		for i, k := range kinds {
			if sums[i] != k.Count.N || high[i]-low[i] > 1 {
				rt.Fatalf("kind %d: %d tasks, want %d; %d to %d on a node", i, sums[i], k.Count.N, low[i], high[i])
			}
		}
		if slices.Max(all)-slices.Min(all) > 1 {
			rt.Fatalf("of all kinds %v on the nodes", all)
		}
	})
}

// FuzzKinds: what is read is written the same way again.
func FuzzKinds(f *testing.F) {
	for _, seed := range []string{"train", "a\x00--and\x00ps=2\x00b", "a\x00--and\x00ps=1/node\x00b\x00--and\x00x=3/gpu\x00c", "--and", "a\x00--and\x00=\x00", "a\x00--and\x00p=+1\x00b"} {
		f.Add(seed, AndWord)
	}
	f.Fuzz(func(t *testing.T, line, word string) {
		args := strings.Split(line, "\x00")
		worker, others, err := Kinds(args, word)
		if err != nil {
			return
		}
		again := slices.Clone(worker)
		for _, k := range others {
			if k.Count.N < 1 || k.Count.N > maxTasks || k.Name == Worker || len(k.Argv) == 0 {
				t.Fatalf("%q: %+v", args, k)
			}
			count, err := ParseCount(k.Count.String())
			if err != nil || count != k.Count {
				t.Fatalf("%v: %v, %v", k.Count, count, err)
			}
			again = append(append(again, word, k.Name+"="+k.Count.String()), k.Argv...)
		}
		// A count may be written with zeros in front.
		if len(again) != len(args) || !slices.Equal(cut(again, word)[0], worker) {
			t.Fatalf("%q became %q", args, again)
		}
	})
}
