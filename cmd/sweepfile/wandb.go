package sweepfile

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sluice-hpc/sluice/sbatch"
)

// wandb is a sweep's file of Weights & Biases while it is read.
type wandb struct {
	file
	program string
	params  []string
	args    []*yaml.Node
	stops   bool // early_terminate is there
}

// readYAML imports a sweep of Weights & Biases. What sluice cannot do is refused, not left out.
func readYAML(name string, body []byte) (file, error) {
	w := wandb{file: file{name: name}}
	var doc yaml.Node
	if err := yaml.Unmarshal(body, &doc); err != nil {
		return w.file, fmt.Errorf("%s: %w", name, err)
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return w.file, fmt.Errorf("%s:1:1: want a sweep of Weights & Biases: program, method, metric, parameters", name)
	}
	var errs []error
	for key, value := range pairs(doc.Content[0]) {
		if err := w.key(key, value); err != nil {
			errs = append(errs, err)
		}
	}
	if w.program == "" && len(w.args) == 0 {
		errs = append(errs, fmt.Errorf("%s: there is no program", name))
	}
	w.halve()
	w.run()
	return w.file, errors.Join(errs...)
}

// pairs are the keys and values of a mapping, in order.
func pairs(n *yaml.Node) func(func(*yaml.Node, *yaml.Node) bool) {
	return func(yield func(*yaml.Node, *yaml.Node) bool) {
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}

func (w *wandb) wrong(at *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s:%d:%d: %s", w.name, at.Line, at.Column, fmt.Sprintf(format, args...))
}

func (w *wandb) give(at *yaml.Node, option, value string) {
	w.given = append(w.given, sbatch.Given{Option: option, Value: value, Line: at.Line, Column: at.Column})
}

func (w *wandb) key(key, value *yaml.Node) error {
	switch key.Value {
	case "program":
		w.program = value.Value
	case "command":
		w.args = value.Content
	case "name":
		w.words = append(w.words, sbatch.Given{Value: "--job-name=" + value.Value, Line: value.Line, Column: value.Column})
	case "description", "project", "entity":
	case "method":
		method, known := map[string]string{"bayes": "tpe", "random": "random", "grid": "grid"}[value.Value]
		if !known {
			return w.wrong(value, "method %q: want bayes, random or grid", value.Value)
		}
		w.give(value, "sweep", method)
	case "run_cap":
		w.give(value, "trials", value.Value)
	case "metric":
		return w.metric(value)
	case "parameters":
		return w.parameters(value)
	case "early_terminate":
		w.stops = true
		return w.earlyTerminate(value)
	default:
		return w.wrong(key, "%s: sluice does not know this key of Weights & Biases", key.Value)
	}
	return nil
}

func (w *wandb) metric(value *yaml.Node) error {
	name, goal := "", "min"
	for k, v := range pairs(value) {
		switch {
		case k.Value == "name":
			name = v.Value
		case k.Value == "goal" && v.Value == "maximize":
			goal = "max"
		case k.Value == "goal" && v.Value == "minimize":
		case k.Value == "target":
			w.give(v, "goal", v.Value)
		default:
			return w.wrong(k, "metric: %s: %s: want name, goal (minimize or maximize) and target", k.Value, v.Value)
		}
	}
	if name == "" {
		return w.wrong(value, "metric: there is no name")
	}
	w.give(value, "metric", name+":"+goal)
	return nil
}

func (w *wandb) parameters(value *yaml.Node) error {
	var errs []error
	for k, v := range pairs(value) {
		domain, err := w.domain(v)
		if err != nil {
			errs = append(errs, w.wrong(v, "parameter %s: %v", k.Value, err))
			continue
		}
		w.params = append(w.params, k.Value)
		w.give(k, "param", k.Value+"="+domain)
	}
	return errors.Join(errs...)
}

// domain is a parameter as sluice writes it.
func (w *wandb) domain(n *yaml.Node) (string, error) {
	has := map[string]*yaml.Node{}
	for k, v := range pairs(n) {
		has[k.Value] = v
	}
	text := func(key string) string {
		if has[key] == nil {
			return ""
		}
		return has[key].Value
	}
	least, most := text("min"), text("max")
	power := func(x string) string {
		f, err := strconv.ParseFloat(x, 64)
		if err != nil {
			return x
		}
		return strconv.FormatFloat(math.Exp(f), 'g', 6, 64)
	}
	whole := func(x string) bool { _, err := strconv.Atoi(x); return err == nil }
	distribution := text("distribution")
	switch {
	case has["parameters"] != nil:
		return "", errors.New("nested parameters are not imported; give each a name of its own")
	case has["value"] != nil:
		return "fixed:" + text("value"), nil
	case has["values"] != nil:
		var all []string
		for _, v := range has["values"].Content {
			all = append(all, v.Value)
		}
		return "choice:" + strings.Join(all, ","), nil
	case least == "" || most == "":
		return "", errors.New("want value, values, or min and max")
	case distribution == "int_uniform", distribution == "" && whole(least) && whole(most):
		return "int:" + least + ":" + most, nil
	case distribution == "uniform", distribution == "":
		return "float:" + least + ":" + most, nil
	case distribution == "q_uniform" && has["q"] != nil:
		return "float:" + least + ":" + most + ":" + text("q"), nil
	case distribution == "log_uniform_values":
		return "log:" + least + ":" + most, nil
	case distribution == "log_uniform":
		return "log:" + power(least) + ":" + power(most), nil
	}
	return "", fmt.Errorf("distribution %s is not imported; there are uniform, q_uniform, int_uniform, log_uniform, log_uniform_values, categorical and constant", distribution)
}

// run makes the command line, by default that of Weights & Biases: every parameter as --name=value.
func (w *wandb) run() {
	var args []string
	for _, name := range w.params {
		args = append(args, "--"+name+"={"+name+"}")
	}
	words := []string{"python3", "${program}", "${args}"}
	if len(w.args) > 0 {
		words = nil
		for _, n := range w.args {
			words = append(words, n.Value)
		}
	}
	var out []string
	for _, word := range words {
		switch word {
		case "${env}", "/usr/bin/env":
		case "${interpreter}":
			out = append(out, "python3")
		case "${program}":
			out = append(out, ShellWord(w.program))
		case "${args}":
			out = append(out, args...)
		case "${args_no_hyphens}":
			for _, a := range args {
				out = append(out, strings.TrimPrefix(a, "--"))
			}
		default:
			out = append(out, ShellWord(word))
		}
	}
	w.command = strings.Join(out, " ")
}
