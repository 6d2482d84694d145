package control

import (
	"math"
	"slices"
	"strconv"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/elastic/learn/predict"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/nodes"
)

// maxModel is the longest model name that is looked up, in bytes.
const maxModel = 256

// speed returns the learned throughput of a model: for the caller's own jobs, or for those of
// the user given by uid. A caller that may see a user's jobs may see their throughput.
func (s *Server) speed(q request) (any, error) {
	model, uid := q.URL.Query().Get("model"), q.caller.UID
	if model == "" || len(model) > maxModel {
		return nil, wire.Fail(wire.BadRequest, "", "model %.80q: want a name of 1 to %d bytes", model, maxModel)
	}
	if text := q.URL.Query().Get("uid"); text != "" {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return nil, wire.Fail(wire.BadRequest, "", "%.40q is not a user's number", text)
		}
		uid = uint32(n)
	}
	if !may(verbSpeed, q.options.role(q.caller, uid), q.options.Private) {
		s.denied(Denial{Caller: q.caller, From: q.caller.Host, Verb: string(verbSpeed), Why: "they are another user's jobs"})
		return nil, wire.Fail(wire.Denied, "only that user and operators may", "%s may not see the speeds of other users' jobs", q.caller.Name)
	}
	r, err := s.published()
	if err != nil {
		return nil, err
	}
	got, err := s.service.Speeds(q.Context(), uid, model)
	if err != nil {
		return nil, err
	}
	if got.Count == 0 {
		return nil, wire.Fail(wire.NotFound, "speeds are kept by model of jobs submitted with --model", "nothing was measured of model %q of %s", model, s.names.of(uid, q.options.Now()))
	}
	out := viewSpeeds(r, &got)
	out.Model, out.User = model, s.names.of(uid, q.options.Now())
	return out, nil
}

// viewSpeeds lists measured shapes, then predictions for shapes that the cluster could give. A
// shape that was measured is not predicted.
func viewSpeeds(r *publish.Report, s *engine.Speeds) wire.Speeds {
	out := wire.Speeds{Version: wire.Version, At: r.At, Shared: s.Shared, Unit: string(s.Unit), Samples: s.Count, Shapes: s.Shapes, Enough: s.Enough,
		Forms: []wire.SpeedForm{}, Measured: []wire.SpeedShape{}, Predicted: []wire.SpeedShape{}}
	if c := s.Choice; c != nil {
		out.HeldWithin, out.HeldBeyond = c.Within.Held, c.Beyond.Held
		for i, f := range c.Forms {
			out.Forms = append(out.Forms, wire.SpeedForm{Name: f.Name, Within: errorOf(c.Within, i), Beyond: errorOf(c.Beyond, i), UsedWithin: c.Within.Best == i, UsedBeyond: c.Beyond.Best == i})
		}
	}
	for _, o := range slices.SortedFunc(slices.Values(s.Seen), predict.Observation.Compare) {
		row := viewShape(o.Configuration)
		row.Samples, row.Seconds, row.Source = int(o.Weight), rounded(o.Seconds), string(speed.Measured)
		if c := s.Choice; c != nil {
			for i := range c.Forms {
				row.Says = append(row.Says, rounded(c.Says(i, o.Configuration)))
			}
		}
		out.Measured = append(out.Measured, row)
	}
	for _, split := range shapesOf(r.Nodes) {
		a := s.Ask(split, "")
		if a.Source == speed.Measured {
			continue
		}
		row := viewShape(a.Configuration)
		row.Seconds, row.Source, row.By = rounded(a.Seconds), string(a.Source), a.By
		for _, v := range a.Says {
			row.Says = append(row.Says, rounded(v))
		}
		out.Predicted = append(out.Predicted, row)
	}
	return out
}

func viewShape(c predict.Configuration) wire.SpeedShape {
	return wire.SpeedShape{GPUs: c.GPUs(), Nodes: len(c.Split), Split: c.Split, Kind: c.Kind, Beside: c.Beside}
}

// errorOf returns the mean relative error of a form; nil if it is not known.
func errorOf(t predict.Trial, form int) *float64 {
	if form >= len(t.Errors) || math.IsInf(t.Errors[form], 0) || math.IsNaN(t.Errors[form]) {
		return nil
	}
	e := rounded(t.Errors[form])
	return &e
}

// rounded keeps four digits: more than the precision of any measurement, and the same on every
// processor.
func rounded(v float64) float64 {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(finite(v), 'g', 4, 64), 64) // a number that was just written can be read
	return short
}

// shownSizes are the numbers of GPUs for which predictions are shown.
var shownSizes = []int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512}

// shapesOf lists the even splits of some sizes that an inventory allows: on the fewest nodes,
// and on twice as many.
func shapesOf(inventory []nodes.Node) (out [][]int) {
	perNode, count := 0, 0
	for _, n := range inventory {
		if n.GPUs > 0 {
			perNode, count = max(perNode, n.GPUs), count+1
		}
	}
	for _, g := range shownSizes {
		if perNode == 0 || g > perNode*count {
			break
		}
		fewest := (g + perNode - 1) / perNode
		for _, n := range []int{fewest, 2 * fewest} {
			if n <= count && g%n == 0 {
				out = append(out, speed.Shape{GPUs: g, Nodes: n}.Even())
			}
		}
	}
	return out
}
