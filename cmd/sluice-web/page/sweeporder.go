package page

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// sweepOrders are the orders about a sweep, as verbs of sluice sweep.
var sweepOrders = []string{"pause", "resume", "stop"}

// sweepOrderView is an order about a sweep before it is given.
type sweepOrderView struct {
	sweepRow
	Verb, Text, Command, Means string
}

// sweepButtons are the orders that make sense in a state.
func sweepButtons(state string) []sweepButton {
	switch state {
	case "over":
		return nil
	case "paused":
		return []sweepButton{{"resume", "Resume"}, {"stop", "Stop …"}}
	}
	return []sweepButton{{"pause", "Pause …"}, {"stop", "Stop …"}}
}

// sweepMeans says what an order does.
var sweepMeans = map[string]string{
	"pause":  "All running trials save, and the sweep's GPUs are given back. The trials go on when you resume the sweep.",
	"resume": "The sweep's lanes start again as GPUs become free, and its trials go on.",
	"stop":   "All running trials save and end, waiting lanes are cancelled, and the sweep is over.",
}

// sweepOrderOf returns the order that a request names, if the viewer may give it.
func (p *Pages) sweepOrderOf(v *visit) (sweepOrderView, Order, error) {
	o := Order{Verb: "sweep", Sweep: v.PathValue("order")}
	if !slices.Contains(sweepOrders, o.Sweep) {
		return sweepOrderView{}, o, wire.Fail(wire.NotFound, "", "there is no such page")
	}
	if p.Tool == nil || !p.may("sweep") {
		hint := "type sluice sweep " + o.Sweep + " on a login node"
		return sweepOrderView{}, o, wire.Fail(wire.Denied, hint, "these pages give no orders about sweeps")
	}
	row, _, err := p.sweepOf(v)
	if err != nil {
		return sweepOrderView{}, o, err
	}
	if !row.Mine || !row.own {
		return sweepOrderView{}, o, wire.Fail(wire.Denied, "", "sweep %d is not yours", row.Number)
	}
	o.Job = elastic.JobID(row.Number)
	text := strings.ToUpper(o.Sweep[:1]) + o.Sweep[1:]
	return sweepOrderView{sweepRow: row, Verb: o.Sweep, Text: text, Command: command(o.Command()), Means: sweepMeans[o.Sweep]}, o, nil
}

// sweepConfirm asks whether an order is meant.
func (p *Pages) sweepConfirm(v *visit) (*sheet, error) {
	view, _, err := p.sweepOrderOf(v)
	if err != nil {
		return nil, err
	}
	return &sheet{name: "sweeporder", title: fmt.Sprintf("%s sweep %d", view.Text, view.Number), view: view}, nil
}

// sweepOrder gives an order about a sweep by sluice sweep, and goes on to the page of its result.
func (p *Pages) sweepOrder(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), orderWithin)
	defer cancel()
	v, err := p.visit(r.WithContext(ctx))
	var o Order
	if err == nil {
		_, o, err = p.sweepOrderOf(v)
	}
	if err == nil {
		err = o.Validate()
	}
	if err != nil {
		p.write(w, r, v, failed(err))
		return
	}
	said, err := p.Orders.Give(ctx, v.viewer, o)
	g := given{Command: command(o.Command()), Said: said, Sweep: int64(o.Job)}
	if err != nil {
		g.Failed, g.Said = true, strings.TrimSpace(said+"\n"+err.Error())
	}
	p.goOn(w, r, v, g)
}
