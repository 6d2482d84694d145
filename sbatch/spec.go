package sbatch

import (
	"fmt"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
)

// spec reads sluice's own options into the Spec.
func (m *merger) spec() {
	spec := &m.request.Spec
	before := len(m.errs)
	_, step := m.chosen["gpu-step"]
	_, sizes := m.chosen["gpu-sizes"]
	pow2 := false
	m.value("min-gpus", func(v string) (err error) { spec.Min, err = parseCount(v, 1); return err })
	m.value("max-gpus", func(v string) (err error) { spec.Max, err = parseCount(v, 0); return err })
	m.value("gpu-step", func(v string) (err error) { spec.Step, err = parseCount(v, 1); return err })
	m.value("gpu-sizes", func(v string) (err error) { spec.Sizes, pow2, err = parseSizes(v); return err })
	m.value("allow-uneven", func(v string) (err error) { spec.AllowUneven, err = parseYes(v); return err })
	m.value("epochs", func(v string) (err error) { spec.Unit = elastic.Epochs; spec.Total, err = parseTotal(v); return err })
	m.value("steps", func(v string) (err error) { spec.Unit = elastic.Steps; spec.Total, err = parseTotal(v); return err })
	m.value("deadline", func(v string) (err error) { m.request.due, err = parseWhen(v); return err })
	m.value("deadline-mode", func(v string) (err error) { spec.Soft, err = parseMode(v); return err })
	m.dated()
	m.value("model", func(v string) error { spec.Model = v; return checkModel(v) })
	m.value("checkpoint-signal", func(v string) (err error) { spec.Signal, err = parseSignal(v); return err })
	m.adopt()
	m.value("retries", func(v string) (err error) { m.request.Retries, err = parseRetries(v); return err })
	m.value("checkpoint-every", func(v string) (err error) { m.request.Every, err = parseEvery(v); return err })
	m.value("on-timeout", func(v string) (err error) { m.request.OnTimeout, err = parseOnTimeout(v); return err })
	m.value("grace", func(v string) (err error) { spec.Grace, err = ParseDuration(v); return err })
	m.value("gpu-types", func(v string) (err error) { spec.Types, err = parseTypes(v); return err })
	m.value("cpus-per-gpu", func(v string) (err error) { spec.CPUsPerGPU, err = parseCount(v, 1); return err })
	m.value("mem-per-gpu", func(v string) (err error) { spec.MemPerGPUMB, err = parseMemory(v); return err })
	if len(m.errs) == before && !(step && sizes) {
		m.sizes(pow2)
	}
	m.sweeps()
}

// value reads one option, if it was given.
func (m *merger) value(name string, read func(string) error) {
	s, ok := m.chosen[name]
	if !ok {
		return
	}
	if s.value == "" && s.takes == valued {
		m.fail(s.fail("needs a value", ""))
		return
	}
	if err := read(s.value); err != nil {
		m.fail(s.fail(err.Error(), ""))
	}
}

// dated checks that the job's end can be predicted, which a deadline needs.
func (m *merger) dated() {
	due, dated := m.chosen["deadline"]
	mode, moded := m.chosen["deadline-mode"]
	switch {
	case dated && m.request.Spec.Total == 0:
		m.fail(due.fail("without --epochs or --steps the job's end cannot be predicted", "say how much work it has"))
	case moded && !dated:
		m.fail(mode.fail("there is no --deadline", "give one, or leave it out"))
	}
}

func checkModel(name string) error {
	if elastic.ValidModel(name) {
		return nil
	}
	return fmt.Errorf("want at most 64 letters, digits and . _ + - / : @, the first a letter or digit")
}

// sizes determines the minimum and refuses sizes that contradict it.
func (m *merger) sizes(pow2 bool) {
	spec := &m.request.Spec
	if m.fixed.gpus > 0 {
		spec.Min, spec.Max = m.fixed.gpus, m.fixed.gpus
		if m.fixed.perNode {
			spec.Nodes = 1
		}
		if m.fixed.kind != "" {
			spec.Types = []string{m.fixed.kind}
		}
		m.settleProfile()
		return
	}
	if s, asked := m.chosen["min-gpus"]; asked {
		m.request.least = s.where()
	} else {
		spec.Min = 1
		if len(spec.Sizes) > 0 {
			spec.Min = spec.Sizes[0]
			m.request.least = m.chosen["gpu-sizes"].where()
		}
	}
	if spec.Max != 0 && spec.Max < spec.Min {
		m.fail(m.chosen["max-gpus"].fail(fmt.Sprintf("the maximum is below the minimum of %d, %s", spec.Min, m.minimumFrom()), ""))
		return
	}
	if pow2 {
		spec.Sizes = powersOfTwo(spec.Min, spec.Max)
	}
	if sizes, ok := m.chosen["gpu-sizes"]; ok && !spec.Allows(spec.Min, spec.Min) {
		m.fail(sizes.fail(fmt.Sprintf("the minimum of %d, %s, is not among the sizes", spec.Min, m.minimumFrom()),
			"choose a minimum that is"))
		return
	}
	check := *spec
	check.Token, check.Soft = strings.Repeat("0", 32), false // Date sets its deadline
	if err := check.Validate(); err != nil {
		m.errs = append(m.errs, &Error{Why: err.Error()})
		return
	}
	m.settleProfile()
}

// minimumFrom is the option that gives the minimum.
func (m *merger) minimumFrom() string {
	if s, ok := m.chosen["min-gpus"]; ok {
		return "from " + s.where()
	}
	if s, ok := m.chosen["gpu-sizes"]; ok {
		return "the smallest size of " + s.where()
	}
	return "the default"
}
