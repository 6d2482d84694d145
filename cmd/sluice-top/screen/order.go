package screen

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/terminal"
)

// longest bounds what is typed, in characters.
const longest = 400

// ask opens a prompt.
func (m Model) ask(kind promptKind, label, word, value string) Model {
	in := textinput.New()
	in.Prompt, in.CharLimit = "", longest
	in.KeyMap.Paste.SetEnabled(false) // it would run programs to read a clipboard; terminals paste by themselves
	in.SetValue(value)
	in.CursorEnd()
	in.Focus()
	m.prompt = &prompt{label: label, kind: kind, word: word, input: in}
	return m
}

// typed passes a message to the prompt.
func (m Model) typed(msg tea.Msg) (Model, []Effect) {
	next := *m.prompt
	if key, is := msg.(tea.KeyPressMsg); is {
		switch key.String() {
		case "esc", "ctrl+g":
			m.prompt = nil
			return m, nil
		case "enter":
			return m.entered()
		}
	}
	next.input, _ = next.input.Update(msg)
	next.err = ""
	m.prompt = &next
	return m, nil
}

// entered takes what was typed, or says what is wrong with it.
func (m Model) entered() (Model, []Effect) {
	next := *m.prompt
	value := strings.TrimSpace(next.input.Value())
	fail := func(err error) (Model, []Effect) {
		next.err = errText(err)
		m.prompt = &next
		return m, nil
	}
	switch next.kind {
	case askFilter:
		f, err := present.ParseFilter(value)
		if err != nil {
			return fail(err)
		}
		m.prompt = nil
		return m.filtered(value, f)
	case askSort:
		if err := present.Jobs.Sort(nil, value); err != nil {
			return fail(err)
		}
		m.o.Sort, m.prompt = value, nil
		return m.rebuild(), nil
	case askSize:
		var n int
		if _, err := fmt.Sscanf(value+"\n", "%d\n", &n); value != "auto" && (err != nil || n < 1) {
			return fail(fmt.Errorf("want a number of GPUs, or auto"))
		}
		m.prompt = nil
		return m.order("resize", next.word, "--gpus", value), nil
	case askDeadline:
		if value == "" {
			return fail(fmt.Errorf("want a time as --deadline takes it, such as 18:00 or now+4hours, or none"))
		}
		m.prompt = nil
		return m.order("deadline", next.word, "--at", value), nil
	}
	m.prompt = nil
	return m, nil
}

func (m Model) filtered(value string, f present.Filter) (Model, []Effect) {
	all := m.filter.Ended()
	m.filter, m.o.Filter = f, value
	m = m.rebuild()
	if f.Ended() != all {
		return m.fetch()
	}
	return m, nil
}

// order proposes a command, which runs once it is confirmed.
func (m Model) order(args ...string) Model {
	m.confirm = append(slices.Clone(m.o.Prefix), args...)
	return m
}

// confirmed takes the key after the question.
func (m Model) confirmed(key string) (Model, []Effect) {
	args := m.confirm
	m.confirm = nil
	if key != "y" && key != "Y" {
		m.answer = &answer{command: shown(args), lines: []string{"not run"}}
		return m, nil
	}
	m.running++
	m.answer = &answer{command: shown(args), lines: []string{"running"}}
	return m, []Effect{Run{Args: args, For: "order"}}
}

// shown is the command as it would be typed.
func shown(args []string) string {
	words := []string{"sluice"}
	for _, a := range args {
		if a == "" || strings.ContainsAny(a, " \t\"'\\$&|;<>()*?[]#~`!{}") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		words = append(words, terminal.Escape(a))
	}
	return strings.Join(words, " ")
}

// ran takes the output of a command.
func (m Model) ran(msg RanMsg) (Model, []Effect) {
	if msg.Run.For == "sweep" {
		if m.sweep != nil && msg.Run.Seq == m.sweep.seq {
			next := *m.sweep
			next.lines = outputLines(msg.Output)
			m.sweep = next.clamp(m)
		}
		return m, nil
	}
	if msg.Run.For != "order" {
		if m.job != nil && msg.Run.Seq == m.job.seq {
			m.job = m.job.explained(msg)
		}
		return m, nil
	}
	m.running = max(m.running-1, 0)
	lines := outputLines(msg.Output)
	if len(lines) == 0 {
		lines = []string{"done"}
		if msg.Failed {
			lines = []string{"failed, and printed nothing"}
		}
	}
	m.answer = &answer{command: shown(msg.Run.Args), lines: lines, failed: msg.Failed}
	return m.fetch()
}
