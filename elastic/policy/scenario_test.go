package policy_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/policy/policytest"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// sweepToken is the token of a sweep of that number.
func sweepToken(n int) string { return fmt.Sprintf("%032x", n) }

var update = flag.Bool("update", false, "rewrite the expected allocations in testdata")

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Format of the scenarios in testdata, one item per line:
//
//	policy knapsack
//	limits cooldown=60s payback=2 deaf=3 preempt overload=0.5 wait=1h anysplit sharenodes
//	costs value=1 gpu=0.1 types=a100:0.5,t4:0.1 peak=0.5 surcharge=3
//	node n1 gpus=4 foreign=1 partition=gpu,fast down cpus=16 type=t4
//	    unfit (a job reported its GPUs)
//	job 7 on=n1:2+n2:2 min=1 max=8 step=1 sizes=1,2,4 pin=4 uneven
//	    done=3 total=10 curve=100/60/40 (seconds a unit on 1, 2, 3 GPUs; one node)
//	    over2=-/55/-/20 (the same on two nodes; - = not measured)
//	    profile=1,2,4 began=5m (ago, its first run) steps=3/2/-/1 (seconds a step,
//	    twice on each) moves=2 (so far)
//	    asked=4 had=100 (GPU-seconds) waited=1h (since submit) ran=5m (since its start)
//	    price=12s moved=30s (ago) silent deaf=2 unusable=2 partition=gpu
//	    due=2h (from now) soft promised curve.t4=300/160 (on nodes of that type)
//	    held userhold suspended queued completing moving=n1:4 starting=n1:4 parking=n1:4
//	    limit=2h (its time limit; of a running one, what is left of it)
//	tenant 8 on=n1:2 left=1h (an ordinary job among foreign; until its time limit)
//	    scavenger (its QOS is low, a scavenger)
//	share most=4 jobs=1,2 (their users' part of the GPUs, as a cap that reclaims)
//	    sweep=11 (it is a lane of that sweep; sweeps 10 to 19 are of one user)
//	sweep 11 wants=3 level=1 trials=20 bid=0.1 paused over
//	demand 9 gpus=4 nodes=1 partition=gpu
//
// A partition with an @, such as lab@n3, is a node of an edge pool.
//
// The expected output is below the line of dashes.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			in, want, _ := strings.Cut(string(text), "----\n")
			p, snap, err := parse(in)
			if err != nil {
				t.Fatal(err)
			}
			got := render(snap, p.Decide(snap))
			if *update {
				if err := os.WriteFile(file, []byte(in+"----\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != want {
				t.Errorf("got\n%s\nwant\n%s\nRead the difference; if it is meant, run with -update.", got, want)
			}
		})
	}
}

// render prints the allocation, its arrangement, and the reasons, by codes and arguments.
func render(s elastic.Snapshot, a elastic.Allocation) string {
	var b bytes.Buffer
	where := plan.Arrange(s, a)
	for _, j := range s.Jobs {
		d := a[j.ID]
		fmt.Fprintf(&b, "job %d: %d -> %d on %v: %s\n", j.ID, s.Committed(j).GPUs(), d.GPUs, where.Target[j.ID], reason.String(d.Why))
	}
	return b.String()
}

func parse(text string) (p policy.Policy, s elastic.Snapshot, err error) {
	s.Now = now
	s.Limits = elastic.Limits{Cooldown: time.Minute, Payback: 2, DeafAfter: 3}
	p, _ = policy.ByName("knapsack") // unless the scenario names another
	for n, line := range strings.Split(strings.ReplaceAll(text, "\n    ", " "), "\n") {
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		args := words(f[1:])
		switch f[0] {
		case "policy":
			p, err = policy.ByName(f[1])
		case "limits":
			s.Limits = elastic.Limits{
				Cooldown: args.span("cooldown"), Payback: args.number("payback"), DeafAfter: args.int("deaf"),
				Overload: args.number("overload"), Wait: args.span("wait"), Preempt: args["preempt"] != "", Placement: policytest.Placement(args["anysplit"] != ""), ShareNodes: args["sharenodes"] != "",
			}
		case "costs":
			s.Limits.Costs = args.costs()
		case "node":
			n := args.node(f[1])
			for _, p := range n.Partitions {
				if nodes.ParsePartition(p).Virtual() {
					if s.Edges == nil {
						s.Edges = map[string]bool{}
					}
					s.Edges[p] = true
				}
			}
			s.Nodes = append(s.Nodes, n)
		case "job":
			args.job(&s, f[1])
		case "tenant":
			tenant := elastic.Tenant{Place: args.place("on")}
			if args["left"] != "" {
				tenant.Ends = now.Add(args.span("left"))
			}
			s.Tenants = append(s.Tenants, tenant)
		case "share":
			s.Caps = append(s.Caps, args.share())
		case "sweep":
			n, _ := strconv.Atoi(f[1])
			if s.Sweeps == nil {
				s.Sweeps = map[string]elastic.Sweep{}
			}
			s.Sweeps[sweepToken(n)] = elastic.Sweep{Number: elastic.JobID(n), Metric: "acc", Paused: args["paused"] != "", Over: args["over"] != "",
				Wants: args.int("wants"), Level: args.int("level"), Trials: args.int("trials"), Gap: 0.002, Bid: max(args.number("bid"), 1e-9)}
		case "demand":
			id, _ := strconv.Atoi(f[1])
			s.Demands = append(s.Demands, elastic.Demand{ID: elastic.JobID(id), Partition: args["partition"], Nodes: max(1, args.int("nodes")), GPUs: args.int("gpus")})
		default:
			err = fmt.Errorf("line %d: %q", n+1, line)
		}
		if err != nil {
			return p, s, err
		}
	}
	s.Expect()
	// Slurm counts what sluice's jobs hold as used.
	for _, j := range s.Jobs {
		s.Nodes = nodes.With(s.Nodes, nodes.Load{Place: j.Place, CPUsPerGPU: j.Spec.CPUsPerGPU})
	}
	return p, s, nil
}

// arguments are a line's key=value words; a word without = has the value "1".
type arguments map[string]string

func words(fields []string) arguments {
	out := arguments{}
	for _, f := range fields {
		k, v, found := strings.Cut(f, "=")
		if !found {
			v = "1"
		}
		out[k] = v
	}
	return out
}

func (a arguments) int(key string) int { n, _ := strconv.Atoi(a[key]); return n }

func (a arguments) number(key string) float64 { x, _ := strconv.ParseFloat(a[key], 64); return x }

func (a arguments) span(key string) time.Duration { d, _ := time.ParseDuration(a[key]); return d }

func (a arguments) place(key string) nodes.Placement {
	var p nodes.Placement
	for _, part := range strings.Split(a[key], "+") {
		if node, g, found := strings.Cut(part, ":"); found {
			k, _ := strconv.Atoi(g)
			p = append(p, nodes.Share{Node: node, GPUs: k})
		}
	}
	return p
}

func (a arguments) share() elastic.Cap {
	c := elastic.Cap{Name: "share", Of: elastic.GPUs, Most: a.int("most"), Reclaims: true, Jobs: map[elastic.JobID]bool{}}
	c.Why = reason.Deserved{Account: "phys", User: "ann", GPUs: c.Most}
	for _, id := range strings.Split(a["jobs"], ",") {
		k, _ := strconv.Atoi(id)
		c.Jobs[elastic.JobID(k)] = true
	}
	return c
}

func (a arguments) costs() *elastic.Costs {
	c := elastic.Costs{Value: a.number("value"), GPU: a.number("gpu"), Types: map[string]float64{}, Peak: a.number("peak"), Surcharge: a.number("surcharge")}
	for _, word := range strings.Split(a["types"], ",") {
		if name, cost, named := strings.Cut(word, ":"); named {
			c.Types[name], _ = strconv.ParseFloat(cost, 64)
		}
	}
	return &c
}

func (a arguments) node(name string) nodes.Node {
	n := nodes.Node{Name: name, GPUs: a.int("gpus"), Used: a.int("foreign"), Usable: a["down"] == "" && a["unfit"] == "", CPUs: a.int("cpus"), Type: a["type"], Partitions: []string{"gpu"}}
	switch {
	case a["unfit"] != "":
		n.Why = nodes.Unusable{State: nodes.Unfit, Note: "GPU 0: XID 79"}
	case !n.Usable:
		n.Why = nodes.Unusable{State: "DRAIN", Note: "by hand"}
	}
	if a["partition"] != "" {
		n.Partitions = strings.Split(a["partition"], ",")
	}
	return n
}

func (a arguments) job(s *elastic.Snapshot, name string) {
	id, _ := strconv.Atoi(name)
	j := elastic.Job{
		ID: elastic.JobID(id), Partition: "gpu", Place: a.place("on"), Speaks: a["silent"] == "", Deaf: a.int("deaf"), Unusable: a.int("unusable"),
		Done: a.number("done"), UserHold: a["userhold"] != "", Phase: elastic.Running,
		Spec: elastic.Spec{
			Min: max(1, a.int("min")), Max: a.int("max"), Step: a.int("step"), AllowUneven: a["uneven"] != "",
			Total: a.number("total"), CPUsPerGPU: a.int("cpus"),
		},
		Directive: elastic.Directive{Pin: a.int("pin"), Hold: a["held"] != ""},
		Price:     elastic.Price{Start: a.span("price")},
		Asked:     a.int("asked"), Attained: a.number("had"),
	}
	if a["partition"] != "" {
		j.Partition = a["partition"]
	}
	if n := a.int("sweep"); n > 0 {
		j.Spec.Sweep, j.UID = sweepToken(n), uint32(1000+n/10)
	}
	if a["scavenger"] != "" {
		j.Scavenger, j.QOS = true, "low"
	}
	if a["due"] != "" {
		j.Spec.Deadline, j.Spec.Soft, j.Promised = now.Add(a.span("due")), a["soft"] != "", a["promised"] != ""
	}
	if a["moved"] != "" {
		j.Moved = now.Add(-a.span("moved"))
	}
	if a["waited"] != "" {
		j.Submitted = now.Add(-a.span("waited"))
	}
	if j.TimeLimit = a.span("limit"); len(j.Place) > 0 {
		j.TimeLeft = a.span("limit")
	}
	if a["left"] != "" {
		j.TimeLeft = a.span("left")
	}
	if a["ran"] != "" {
		j.Started = now.Add(-a.span("ran"))
	}
	if a["sizes"] != "" {
		for _, n := range strings.Split(a["sizes"], ",") {
			k, _ := strconv.Atoi(n)
			j.Spec.Sizes = append(j.Spec.Sizes, k)
		}
	}
	if a["profile"] != "" {
		for _, n := range strings.Split(a["profile"], ",") {
			k, _ := strconv.Atoi(n)
			j.Spec.Profile = append(j.Spec.Profile, k)
		}
		j.Incarnation = 1 + a.int("moves")
	}
	if a["began"] != "" {
		j.Begun = now.Add(-a.span("began"))
	}
	if len(j.Place) == 0 {
		j.Phase = elastic.Waiting
	}
	for _, phase := range []elastic.Phase{elastic.Suspended, elastic.Queued, elastic.Completing} {
		if a[string(phase)] != "" {
			j.Phase = phase
		}
	}
	j.Curve = a.curve()
	for _, kind := range []elastic.Kind{elastic.Resize, elastic.Start} {
		if target := a.place(map[elastic.Kind]string{elastic.Resize: "moving", elastic.Start: "starting"}[kind]); target != nil {
			s.Intents = append(s.Intents, elastic.Intent{Job: j.ID, Kind: kind, From: j.Place, Target: target, Cause: reason.Text{Text: "decided before"}})
		}
	}
	if from := a.place("parking"); from != nil {
		s.Intents = append(s.Intents, elastic.Intent{Job: j.ID, Kind: elastic.Park, From: from, Cause: reason.Text{Text: "decided before"}})
	}
	s.Jobs = append(s.Jobs, j)
}

func (a arguments) curve() *speed.Curve {
	var samples, steps []speed.Sample
	for key, values := range a {
		of, kind, _ := strings.Cut(key, ".")
		for i, v := range strings.Split(values, "/") {
			x, err := strconv.ParseFloat(v, 64)
			one := speed.Sample{Shape: speed.Shape{GPUs: i + 1, Nodes: 1}, Seconds: x, Units: 1, At: now, Kind: kind}
			switch {
			case err != nil:
			case of == "curve":
				samples = append(samples, one)
			case of == "over2":
				one.Nodes = 2
				samples = append(samples, one)
			case of == "steps":
				steps = append(steps, one, one)
			}
		}
	}
	return speed.FitWith(samples, steps, now)
}
