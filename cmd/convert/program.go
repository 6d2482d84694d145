package convert

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The statements of a plain PyTorch DDP training, each on one line.
var (
	wrapsModel = lazy(`^\s*(\w+) = (?:torch\.)?(?:nn\.)?(?:parallel\.)?(?:DistributedDataParallel|DDP)\(`)
	optimizes  = lazy(`^\s*(\w+) = (?:torch\.)?(?:optim\.)?\w+\((\w+)(?:\.module)?\.parameters\(\)`)
	schedules  = lazy(`^\s*(\w+) = .*lr_scheduler\.\w+\((\w+)`)
	samples    = lazy(`^(\s*)(\w+) = (?:[\w.]+\.)?DistributedSampler\((.*)\)\s*$`)
	loads      = lazy(`^(\s*)(\w+) = (?:[\w.]+\.)?DataLoader\((.*)\)\s*$`)
	epochLoop  = lazy(`^(\s*)for (\w+) in range\(([^,]+)\):\s*$`)
	stepLoop   = lazy(`^(\s*)for (.+) in (\w+):\s*$`)
	numbered   = lazy(`^(\s*)for (\w+), \((.+)\) in enumerate\((\w+)\):\s*$`)
	backward   = lazy(`^(\s*)(\w+)\.backward\(\)\s*$`)
	namesTaken = lazy(`(?m)^\s*(?:\w+, )*(?:training|step)\s*(?:=[^=]|,)|\bfor [^:\n]*\b(?:training|step)\b[^:\n]* in |\b(?:def|as|import) [^:\n]*\b(?:training|step)\b`)
	importsIt  = lazy(`^import torch(?:\s|$)`)
	pythonName = lazy(`^[\w.]+$`)
)

// training is what was recognised of a program. Numbers are of lines.
type training struct {
	file                                string
	lines                               []string
	model, optimizer, scheduler         string
	sampler, loader, outer, inner, from int // from: the first line after the loop over batches
	data, batch, seed, more             string
	epoch, epochs, target               string
}

// Program proposes a program whose training loop is sluice.torch.Elastic, if the loop is
// recognised as a whole. ranks is the number of processes that its script started, 0 if unknown.
func Program(file, text string, ranks int) Proposal {
	out := Proposal{Text: text}
	if regexp.MustCompile(`(?m)^\s*(import|from) sluice\b`).MatchString(text) {
		out.note("%s: it imports sluice already; nothing is changed", file)
		return out
	}
	t := training{file: file, lines: strings.SplitAfter(text, "\n")}
	changed, err := t.change(ranks)
	if err != nil {
		out.Unknown = true
		out.note("%s: %v; nothing is changed. etc/doc/programs.md shows the lines for other programs, also for those that cannot be changed", file, err)
		return out
	}
	out.note("%s: the batch of all GPUs together stays the same at every size: %s samples a step", file, t.batch)
	out.note("%s: look at what the loop does after the change; sluice.torch sees to saving, resuming and the order of the data", file)
	out.Text = changed
	return out
}

// only is the only line that matches, or an error.
func (t *training) only(e *regexp.Regexp, what string) (int, []string, error) {
	at, m := -1, []string(nil)
	for i, l := range t.lines {
		if found := e.FindStringSubmatch(strings.TrimRight(l, "\n")); found != nil {
			if at >= 0 {
				return 0, nil, fmt.Errorf("its training is not recognised: lines %d and %d both %s", at+1, i+1, what)
			}
			at, m = i, found
		}
	}
	if at < 0 {
		return 0, nil, fmt.Errorf("its training is not recognised: no line %s", what)
	}
	return at, m, nil
}

// change recognises the training and returns the changed text.
func (t *training) change(ranks int) (string, error) {
	_, m, err := t.only(wrapsModel(), "wraps the model in DistributedDataParallel")
	if err != nil {
		return "", err
	}
	t.model = m[1]
	if _, m, err = t.only(optimizes(), "makes the optimizer of the model's parameters"); err != nil {
		return "", err
	}
	t.optimizer = m[1]
	if _, m, err := t.only(schedules(), "makes a scheduler"); err == nil && m[2] == t.optimizer {
		t.scheduler = m[1]
	} else if strings.Contains(strings.Join(t.lines, ""), "lr_scheduler.") && err != nil {
		return "", err
	}
	if err := t.feed(ranks); err != nil {
		return "", err
	}
	if err := t.loops(); err != nil {
		return "", err
	}
	return t.rewritten()
}

// feed recognises sampler and loader.
func (t *training) feed(ranks int) error {
	at, m, err := t.only(samples(), "makes a DistributedSampler")
	if err != nil {
		return err
	}
	sampler := m[2]
	args, named := arguments(m[3])
	if len(args) != 1 || !pythonName().MatchString(args[0]) || !onlyNamed(named, "num_replicas", "rank", "shuffle", "seed", "drop_last") || named["shuffle"] != "" && named["shuffle"] != "True" {
		return fmt.Errorf("line %d: this DistributedSampler is not understood", at+1)
	}
	t.sampler, t.data, t.seed = at, args[0], named["seed"]
	at, m, err = t.only(loads(), "makes a DataLoader")
	if err != nil {
		return err
	}
	loader := m[2]
	args, named = arguments(m[3])
	batch := named["batch_size"]
	if len(args) == 2 {
		batch = args[1]
	}
	if len(args) < 1 || len(args) > 2 || args[0] != t.data || named["sampler"] != sampler || batch == "" ||
		!onlyNamed(named, "batch_size", "sampler", "drop_last", "num_workers", "pin_memory", "collate_fn", "shuffle", "persistent_workers") || named["shuffle"] != "" && named["shuffle"] != "False" {
		return fmt.Errorf("line %d: this DataLoader is not understood", at+1)
	}
	t.loader = at
	if t.batch, err = t.wholeBatch(at, batch, ranks); err != nil {
		return err
	}
	if err := t.sameEverywhere(); err != nil {
		return err
	}
	for _, o := range [][2]string{{"num_workers", "workers"}, {"pin_memory", "pin_memory"}, {"collate_fn", "collate"}} {
		if v := named[o[0]]; v != "" {
			t.more += ", " + o[1] + "=" + v
		}
	}
	text := strings.Join(t.lines, "")
	if n := len(regexp.MustCompile(`\b`+sampler+`\b`).FindAllString(text, -1)); n != 4 && !(n == 3 && !strings.Contains(text, sampler+".set_epoch")) { // made, sampler=, set_epoch
		return fmt.Errorf("%s is used in more places than the training loop", sampler)
	}
	if n := len(regexp.MustCompile(`\b`+loader+`\b`).FindAllString(text, -1)); n != 2 {
		return fmt.Errorf("%s is used in more places than the training loop", loader)
	}
	return nil
}

// arguments splits the arguments of a call.
func arguments(list string) (placed []string, named map[string]string) {
	named = map[string]string{}
	depth, from := 0, 0
	add := func(arg string) {
		arg = strings.TrimSpace(arg)
		key, value, is := strings.Cut(arg, "=")
		switch {
		case arg == "":
		case is && pythonName().MatchString(key):
			named[key] = value
		default:
			placed = append(placed, arg)
		}
	}
	for i, r := range list {
		switch r {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ',':
			if depth == 0 {
				add(list[from:i])
				from = i + 1
			}
		}
	}
	add(list[from:])
	return placed, named
}

func onlyNamed(named map[string]string, names ...string) bool {
	for key := range named {
		if !slices.Contains(names, key) {
			return false
		}
	}
	return true
}

// indent is the white space before a line.
func indent(l string) string { return l[:len(l)-len(strings.TrimLeft(l, " \t"))] }

func blank(l string) bool {
	l = strings.TrimSpace(l)
	return l == "" || strings.HasPrefix(l, "#")
}

// blockEnd is the first line after the block below line i.
func (t *training) blockEnd(i int) int {
	outer, end := indent(t.lines[i]), i+1
	for k := i + 1; k < len(t.lines); k++ {
		if blank(t.lines[k]) {
			continue
		}
		if in := indent(t.lines[k]); len(in) <= len(outer) || !strings.HasPrefix(in, outer) {
			break
		}
		end = k + 1
	}
	return end
}

// loops recognises the loop over epochs around the loop over the loader.
func (t *training) loops() error {
	loader := loads().FindStringSubmatch(strings.TrimRight(t.lines[t.loader], "\n"))[2]
	t.inner = -1
	for i, l := range t.lines {
		l = strings.TrimRight(l, "\n")
		if m := stepLoop().FindStringSubmatch(l); m != nil && m[3] == loader {
			t.inner, t.target = i, m[2]
		}
		if m := numbered().FindStringSubmatch(l); m != nil && m[4] == loader {
			t.inner, t.target = i, m[3]
			for k := i + 1; k < t.blockEnd(i); k++ {
				if regexp.MustCompile(`\b` + m[2] + `\b`).MatchString(t.lines[k]) {
					return fmt.Errorf("line %d: the loop uses the number of the batch, %s", k+1, m[2])
				}
			}
		}
	}
	if t.inner < 0 {
		return fmt.Errorf("its training is not recognised: no loop over %s", loader)
	}
	for i := t.inner - 1; i > t.loader && i > t.sampler; i-- {
		if m := epochLoop().FindStringSubmatch(strings.TrimRight(t.lines[i], "\n")); m != nil && t.blockEnd(i) >= t.blockEnd(t.inner) {
			t.outer, t.epoch, t.epochs = i, m[2], m[3]
			break
		}
	}
	if t.outer == 0 {
		return fmt.Errorf("line %d: the loop over batches is in no loop `for epoch in range(EPOCHS)` below the DataLoader", t.inner+1)
	}
	t.from = t.blockEnd(t.inner)
	for k := t.outer + 1; k < t.inner; k++ {
		if l := strings.TrimSpace(t.lines[k]); !blank(l) && indent(t.lines[k]) != indent(t.lines[t.inner]) {
			return fmt.Errorf("line %d: between the two loops there is more than plain statements", k+1)
		}
	}
	return nil
}

// rewritten is the changed text.
func (t *training) rewritten() (string, error) {
	whole, step := "training", "step"
	text := strings.Join(t.lines, "")
	if namesTaken().MatchString(text) {
		whole, step = "elastic_training", "elastic_step"
	}
	body, err := t.body(step)
	if err != nil {
		return "", err
	}
	made := fmt.Sprintf("%s%s = sluice.torch.Elastic(%s, %s", indent(t.lines[t.outer]), whole, t.model, t.optimizer)
	if t.scheduler != "" {
		made += ", " + t.scheduler
	}
	made += fmt.Sprintf(", dataset=%s, batch=%s, epochs=%s", t.data, t.batch, t.epochs)
	if t.seed != "" {
		made += ", seed=" + t.seed
	}
	made += t.more + ")\n"
	var b strings.Builder
	imported := false
	sampler := samples().FindStringSubmatch(strings.TrimRight(t.lines[t.sampler], "\n"))[2]
	for i := 0; i < len(t.lines); i++ {
		l := t.lines[i]
		switch {
		case importsIt().MatchString(l) && !imported:
			imported = true
			b.WriteString("import sluice.torch\n" + l)
		case i == t.sampler, i == t.loader:
		case i == t.outer:
			b.WriteString(made + indent(l) + "for " + t.epoch + " in " + whole + ".epochs():\n")
		case i > t.outer && i < t.inner && strings.HasPrefix(strings.TrimSpace(l), sampler+".set_epoch("):
		case i == t.inner:
			b.WriteString(indent(l) + "for " + step + " in " + whole + ".steps():\n" + body)
			i = t.from - 1
		default:
			b.WriteString(l)
		}
	}
	if !imported {
		return "", fmt.Errorf("no line is `import torch`")
	}
	return b.String(), nil
}

// body is the loop's body: what happens for each part of a batch, and once for the step.
func (t *training) body(step string) (string, error) {
	deep := ""
	var before, each, after []string
	passed := false
	once := regexp.MustCompile(`^(?:` + t.optimizer + `\.(?:zero_grad|step)\(.*\)|` + t.model + `\.zero_grad\(.*\)|(?:torch\.)?nn\.utils\.clip_grad_norm_\(.*\)` + orNothing(t.scheduler) + `)$`)
	for k := t.inner + 1; k < t.from; k++ {
		l := strings.TrimRight(t.lines[k], "\n")
		if deep == "" && !blank(l) {
			deep = indent(l)
		}
		words := strings.TrimSpace(l)
		switch m := backward().FindStringSubmatch(l); {
		case m != nil && m[1] == deep && !passed:
			passed = true
			each = append(each, deep+step+".backward("+m[2]+")")
		case m != nil:
			return "", fmt.Errorf("line %d: more than one plain backward()", k+1)
		case once.MatchString(words) && indent(l) == deep && !passed:
			before = append(before, l)
		case once.MatchString(words) && indent(l) == deep:
			after = append(after, l)
		case passed && !blank(l):
			return "", fmt.Errorf("line %d: %q after backward() is not understood: it would run once for the step, not for each batch", k+1, words)
		case passed:
			after = append(after, l)
		case strings.Contains(words, "break") || strings.Contains(words, "continue"):
			return "", fmt.Errorf("line %d: %q leaves the loop", k+1, words)
		default:
			each = append(each, l)
		}
	}
	if !passed {
		return "", fmt.Errorf("line %d: no plain LOSS.backward() in this loop", t.inner+1)
	}
	more := strings.TrimPrefix(deep, indent(t.lines[t.inner]))
	var b strings.Builder
	for _, l := range before {
		b.WriteString(l + "\n")
	}
	b.WriteString(deep + "for " + t.target + " in " + step + ":\n")
	for _, l := range each {
		if strings.TrimSpace(l) != "" {
			l = more + l
		}
		b.WriteString(l + "\n")
	}
	for _, l := range after {
		b.WriteString(l + "\n")
	}
	return b.String(), nil
}

func orNothing(scheduler string) string {
	if scheduler == "" {
		return ""
	}
	return `|` + scheduler + `\.step\(\)`
}
