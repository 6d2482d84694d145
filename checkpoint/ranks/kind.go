package ranks

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Kind is a kind of task that runs beside the workers and starts together with
// them: parameter servers, actors, data loaders.
type Kind struct {
	Name  string
	Count Count
	Argv  []string // at least the program
}

// Count is how many tasks of a kind there are.
type Count struct {
	N   int    // 1 to maxTasks
	Per string // "node", "gpu", or "" for N in the whole job, whatever its size
}

const (
	// Worker is the kind of the first command, one process for each GPU.
	Worker = "worker"
	// AndWord is what separates the commands of a gang, unless another word is chosen.
	AndWord = "--and"
	// maxTasks bounds the tasks of all kinds on a node, and a written count.
	maxTasks = 1024
	// maxKinds bounds the kinds of a gang, the workers among them.
	maxKinds = 64
)

var kindName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,31}$`) })

// Kinds splits "COMMAND --and NAME=COUNT COMMAND --and ..." into the workers'
// command and the other kinds. Every argument that is the word begins a kind: an
// argument that looks like it and is a command's own is a mistake that is named, not
// guessed at.
func Kinds(args []string, word string) (worker []string, others []Kind, err error) {
	if word == "" {
		return nil, nil, errors.New("--and-word: at least one character")
	}
	commands := cut(args, word)
	worker = commands[0]
	if len(worker) == 0 {
		return nil, nil, fmt.Errorf("no command before %s: the workers' comes first, as in: sluice ranks -- python3 train.py %s ps=2 python3 ps.py", word, word)
	}
	for _, command := range commands[1:] {
		k, err := kind(command, word)
		if err == nil && slices.ContainsFunc(others, func(o Kind) bool { return o.Name == k.Name }) {
			err = fmt.Errorf("%s %s: there is a kind %s already", word, command[0], k.Name)
		}
		if err != nil {
			return nil, nil, err
		}
		others = append(others, k)
	}
	if len(others) >= maxKinds {
		return nil, nil, fmt.Errorf("%d kinds of tasks: at most %d", len(others)+1, maxKinds)
	}
	return worker, others, nil
}

// cut cuts the arguments at each that is the word, which is left out.
func cut(args []string, word string) [][]string {
	parts := [][]string{nil}
	for _, arg := range args {
		if arg == word {
			parts = append(parts, nil)
			continue
		}
		last := len(parts) - 1
		parts[last] = append(parts[last], arg)
	}
	return parts
}

// kind reads "NAME=COUNT COMMAND", what follows one word.
func kind(args []string, word string) (k Kind, err error) {
	if len(args) == 0 {
		return k, fmt.Errorf("%s: nothing behind it; %s", word, howTo(word))
	}
	name, count, ok := strings.Cut(args[0], "=")
	if !ok {
		return k, fmt.Errorf("%s %s: no NAME=COUNT; %s", word, clip(args[0]), howTo(word))
	}
	what := word + " " + clip(args[0])
	switch {
	case !kindName().MatchString(name):
		return k, fmt.Errorf("%s: a kind's name is a letter, then letters, digits and _, at most 32; %s", what, howTo(word))
	case name == Worker:
		return k, fmt.Errorf("%s: that is the first command's name; choose another", what)
	case len(args) == 1 || args[1] == "":
		return k, fmt.Errorf("%s: no command behind it; %s", what, howTo(word))
	}
	if k.Count, err = ParseCount(count); err != nil {
		return k, fmt.Errorf("%s: %w", what, err)
	}
	k.Name, k.Argv = name, args[1:]
	return k, nil
}

// howTo ends a complaint of what follows the word. Whoever meant an argument of a
// command learns the way out.
func howTo(word string) string {
	return fmt.Sprintf("write: %s ps=2 COMMAND. If %s is an argument of a command's own, choose another word: sluice ranks --and-word WORD -- ...", word, word)
}

// ParseCount reads "2", "1/node" or "2/gpu".
func ParseCount(s string) (c Count, err error) {
	number, per, each := strings.Cut(s, "/")
	if each && per != "node" && per != "gpu" || strings.Trim(number, "0123456789") != "" {
		return c, fmt.Errorf("count %q: want such as 2 (in the whole job), 1/node or 2/gpu", clip(s))
	}
	c.Per = per
	if c.N, err = strconv.Atoi(number); err != nil || c.N < 1 || c.N > maxTasks {
		return Count{}, fmt.Errorf("count %q: want a number from 1 to %d", clip(s), maxTasks)
	}
	return c, nil
}

// String is how the count is written.
func (c Count) String() string {
	if c.Per == "" {
		return strconv.Itoa(c.N)
	}
	return strconv.Itoa(c.N) + "/" + c.Per
}

// shares returns how many tasks of each kind a node starts. Those counted in the whole
// job go round the nodes, each kind from where the one before stopped: two kinds of one
// task are not both on the first node.
func shares(kinds []Kind, node, nodes, gpus int) []int {
	out := make([]int, len(kinds))
	turn := 0
	for i, k := range kinds {
		switch k.Count.Per {
		case "node":
			out[i] = k.Count.N
		case "gpu":
			out[i] = k.Count.N * gpus
		default:
			out[i] = k.Count.N / nodes
			if (node-turn+nodes)%nodes < k.Count.N%nodes {
				out[i]++
			}
			turn = (turn + k.Count.N) % nodes
		}
	}
	return out
}

// maxClip bounds how much of an argument or a reason a message repeats, in bytes.
const maxClip = 400

// clip shortens a text for a message.
func clip(s string) string {
	if len(s) <= maxClip {
		return s
	}
	return strings.ToValidUTF8(s[:maxClip], "") + "..."
}
