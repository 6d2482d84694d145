package page

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/sbatch"
)

// submitView is the form that submits a script.
type submitView struct {
	Script, Options, Folder string
	Checked                 checkedView
}

// checkedView is what a script and its options mean, or what is wrong with them.
type checkedView struct {
	Empty   bool
	Wrong   []string
	Facts   []fact
	Command string
}

type fact struct{ What, Value string }

const exampleScript = `#!/bin/bash
#SBATCH --job-name=train
#SBATCH --time=4:00:00
#SLUICE --max-gpus=8
#SLUICE --epochs=90

python train.py
`

func (p *Pages) submitForm(*visit) (*sheet, error) {
	view := submitView{Script: exampleScript}
	view.Checked = checked(view.Script, "")
	return &sheet{name: "submit", title: "Submit", view: view}, nil
}

// check answers while the user types.
func (p *Pages) check(v *visit) (*sheet, error) {
	return &sheet{name: "checked", view: checked(v.PostFormValue("script"), v.PostFormValue("options")), bare: true}, nil
}

// arguments are the options of the form, one a line, as the words of a command line.
func arguments(options string) (args []string) {
	for line := range strings.Lines(options) {
		if word := strings.TrimSpace(line); word != "" {
			args = append(args, word)
		}
	}
	return args
}

// checked reads a script and its options as sluice submit does, and asks neither Slurm nor sluiced.
func checked(body, options string) checkedView {
	args := arguments(options)
	view := checkedView{Command: command(append([]string{"submit"}, args...)) + " < script"}
	if strings.TrimSpace(body) == "" {
		view.Empty = true
		return view
	}
	line, err := sbatch.ParseCommandLine(args)
	if err == nil && line.Script != "" {
		err = fmt.Errorf("%.60q is not an option; write one option on each line, with its value, as --max-gpus=8", line.Script)
	}
	if err == nil && line.Wrap != nil {
		err = errors.New("--wrap and a script exclude each other; the script is the one above")
	}
	var script sbatch.Script
	if err == nil {
		script, err = sbatch.ParseScript("script", unix(body))
	}
	var request sbatch.Request
	if err == nil {
		request, err = sbatch.Merge(line, nil, script)
	}
	if err == nil {
		err = request.Sized()
	}
	if err != nil {
		for text := range strings.Lines(err.Error()) {
			if view.Wrong = append(view.Wrong, strings.TrimSpace(text)); len(view.Wrong) == 20 {
				break
			}
		}
		return view
	}
	view.Facts = meaning(request)
	return view
}

// unix is a text field's content with the line ends of a script: browsers send CR LF.
func unix(body string) []byte { return []byte(strings.ReplaceAll(body, "\r\n", "\n")) }

// meaning is what a request asks for, in words.
func meaning(r sbatch.Request) (out []fact) {
	s := r.Spec
	j := wire.Job{Min: s.Min, Max: s.Max, Sizes: s.Sizes, Step: s.Step}
	out = append(out, fact{"GPUs", sizes(&j)})
	if s.Total > 0 {
		out = append(out, fact{"work", amount(s.Total) + " " + string(s.Unit) + "s"})
	} else {
		out = append(out, fact{"work", "not declared: the end is not predicted (--epochs or --steps)"})
	}
	if s.Model != "" {
		out = append(out, fact{"model", short(s.Model, 60)})
	}
	if limit, ok := r.TimeLimit(); ok {
		out = append(out, fact{"time limit", "from " + limit.At})
	}
	return out
}

// submit submits the script by sluice submit, as the viewer.
func (p *Pages) submit(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), orderWithin)
	defer cancel()
	v, err := p.visit(r.WithContext(ctx))
	if err == nil && (p.Tool == nil || p.Orders == nil) {
		err = wire.Fail(wire.Denied, p.NoOrders, "this page submits no jobs")
	}
	body, options, folder := r.PostFormValue("script"), r.PostFormValue("options"), strings.TrimSpace(r.PostFormValue("folder"))
	if err == nil && folder != "" && !strings.HasPrefix(folder, "/") && folder != "~" && !strings.HasPrefix(folder, "~/") {
		err = wire.Fail(wire.BadRequest, "", "the folder %.60q is not absolute; it begins with / or ~/", folder)
	}
	if err != nil {
		p.write(w, r, v, failed(err))
		return
	}
	if c := checked(body, options); c.Empty || len(c.Wrong) > 0 {
		p.write(w, r, v, &sheet{name: "submit", title: "Submit", status: http.StatusUnprocessableEntity, view: submitView{body, options, folder, c}})
		return
	}
	args := append([]string{"submit"}, arguments(options)...)
	out, errs, err := p.Tool.Sluice(ctx, folder, strings.NewReader(string(unix(body))), 64<<10, args...)
	g := given{Command: command(args) + " < script", Said: strings.TrimSpace(string(out) + string(errs)), Failed: err != nil}
	if err != nil && g.Said == "" {
		g.Said = err.Error()
	}
	_, _ = fmt.Sscanf(string(out), "Submitted batch job %d", &g.Job)
	p.goOn(w, r, v, g)
}
