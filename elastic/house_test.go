package elastic_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/sluice-hpc/sluice/"

// may lists, package by package, which other packages of sluice it may import. Imports point
// down only; a package that is not listed may import none. The order is that in
// ARCHITECTURE.md.
var may = map[string][]string{
	"slurm":                       {},
	"elastic/audit":               {},
	"elastic/planted":             {},
	"nodes":                       {},
	"nodes/nvml":                  {"nodes"},
	"etc":                         {"elastic/message"},
	"etc/notices":                 {},
	"etc/man":                     {},
	"elastic/solve/knapsack":      {},
	"elastic/solve/costate":       {},
	"elastic/solve/deadline":      {},
	"elastic/solve/joint":         {},
	"elastic/solve/anneal":        {"elastic/solve/joint"},
	"elastic/solve/welfare":       {},
	"elastic/saved":               {},
	"elastic/draw":                {},
	"elastic/share":               {},
	"elastic/learn/speed":         {},
	"elastic/learn/length":        {},
	"elastic/learn/bandit":        {},
	"elastic/learn/network":       {},
	"elastic/learn/predict":       {"elastic/learn/network", "elastic/learn/speed"},
	"elastic/sweep/space":         {},
	"elastic/sweep/search":        {"elastic/sweep/space"},
	"elastic/sweep/rung":          {"elastic/sweep/search"},
	"elastic/sweep/level":         {},
	"elastic/sweep":               {},
	"elastic/sweep/sharing":       {"elastic/sweep"},
	"elastic/sweep/book":          {"elastic/sweep"},
	"elastic/sweep/digest":        {"elastic/sweep", "elastic/sweep/book"},
	"elastic/sweep/own":           {"checkpoint", "elastic/sweep", "elastic/sweep/book", "elastic/sweep/digest"},
	"elastic/sweep/keeper":        {"elastic/sweep", "elastic/sweep/book", "elastic/sweep/rung", "elastic/sweep/search", "elastic/sweep/space"},
	"checkpoint/python":           {},
	"checkpoint/pythontest":       {},
	"checkpoint/disktest":         {},
	"checkpoint/confine":          {},
	"checkpoint/tunnel":           {"checkpoint/confine"},
	"checkpoint/tunneltest":       {"checkpoint/confine"},
	"checkpoint/gate":             {"checkpoint"},
	"checkpoint/attempts":         {"checkpoint/confine"},
	"checkpoint/process":          {},
	"elastic/reason":              {"nodes"},
	"elastic/reason/reasontest":   {"elastic/reason", "nodes"},
	"elastic/message":             {},
	"elastic/vault/wire":          {},
	"elastic/vault/client":        {"elastic/vault/wire"},
	"elastic/vault/bundle":        {},
	"elastic/vault":               {"elastic/vault/wire"},
	"elastic/say":                 {"elastic/message", "elastic/reason", "nodes"},
	"elastic":                     {"nodes", "elastic/learn/length", "elastic/reason", "elastic/learn/speed"},
	"elastic/plan":                {"elastic", "elastic/reason", "nodes"},
	"elastic/resize":              {"elastic", "elastic/plan", "elastic/reason", "nodes"},
	"sbatch":                      {"elastic", "elastic/message", "elastic/sweep", "elastic/sweep/space", "slurm"},
	"checkpoint":                  {"nodes"},
	"checkpoint/supervise":        {"checkpoint/process"},
	"checkpoint/ranks":            {"checkpoint", "checkpoint/process", "checkpoint/supervise", "nodes", "slurm"},
	"checkpoint/step":             {"checkpoint/confine", "checkpoint/process", "checkpoint/supervise", "checkpoint/tunnel"},
	"checkpoint/searcher":         {"checkpoint", "checkpoint/process", "checkpoint/supervise", "elastic/sweep", "elastic/sweep/book", "elastic/sweep/space"},
	"checkpoint/lane":             {"checkpoint", "checkpoint/process", "checkpoint/searcher", "checkpoint/supervise", "elastic/sweep", "elastic/sweep/sharing"},
	"checkpoint/runner":           {"checkpoint", "checkpoint/attempts", "checkpoint/confine", "checkpoint/gate", "checkpoint/process", "checkpoint/python", "checkpoint/ranks", "checkpoint/step", "checkpoint/supervise", "checkpoint/tunnel", "nodes", "slurm"},
	"slurm/command":               {"slurm"},
	"slurm/fake":                  {"slurm"},
	"slurm/lab":                   {"slurm"},
	"slurm/lab/labtest":           {"slurm", "slurm/lab"},
	"slurm/conform":               {"nodes", "slurm", "slurm/fake", "slurm/lab", "slurm/lab/labtest", "slurm/command"},
	"elastic/policy/roles":        {"elastic", "elastic/learn/length", "elastic/learn/speed", "elastic/reason", "nodes"},
	"elastic/policy/admission":    {"elastic", "elastic/learn/speed", "elastic/policy/roles", "elastic/reason", "elastic/solve/deadline"},
	"elastic/policy/greedy":       {"elastic", "elastic/plan", "elastic/learn/speed", "elastic/policy/admission", "elastic/policy/roles", "elastic/reason", "elastic/solve/deadline", "elastic/solve/knapsack", "nodes"},
	"elastic/policy/lookahead":    {"elastic", "elastic/plan", "elastic/learn/bandit", "elastic/learn/speed", "elastic/policy/admission", "elastic/policy/roles", "elastic/reason", "elastic/solve/anneal", "elastic/solve/costate", "elastic/solve/deadline", "elastic/solve/joint", "elastic/solve/knapsack", "elastic/solve/welfare", "nodes"},
	"elastic/share/claim":         {"elastic", "elastic/learn/speed", "elastic/policy/roles", "elastic/reason", "elastic/share", "nodes"},
	"elastic/policy/policytest":   {"elastic", "elastic/learn/speed", "nodes"},
	"elastic/policy":              {"elastic", "elastic/plan", "elastic/learn/speed", "elastic/policy/greedy", "elastic/policy/lookahead", "elastic/policy/roles", "elastic/reason", "elastic/sweep/level", "nodes"},
	"elastic/engine/event":        {"elastic", "elastic/reason", "elastic/resize", "nodes"},
	"elastic/engine/eligible":     {"elastic", "elastic/reason", "elastic/share", "elastic/share/claim", "nodes", "slurm"},
	"elastic/engine/learn":        {"elastic", "elastic/learn/predict", "elastic/learn/speed"},
	"elastic/engine/journal":      {"elastic", "elastic/engine/learn", "elastic/learn/speed", "elastic/reason", "nodes", "checkpoint"},
	"elastic/engine/observe":      {"elastic", "elastic/engine/journal", "checkpoint", "slurm"},
	"elastic/engine/track":        {"elastic", "elastic/resize", "elastic/engine/eligible", "elastic/engine/event", "elastic/engine/journal", "elastic/engine/learn", "elastic/engine/observe", "elastic/learn/length", "elastic/learn/speed", "elastic/reason", "elastic/say", "elastic/share", "elastic/share/claim", "nodes", "checkpoint", "slurm"},
	"elastic/engine/execute":      {"elastic", "elastic/resize", "elastic/engine/event", "elastic/engine/journal", "elastic/engine/observe", "elastic/engine/track", "elastic/reason", "elastic/say", "checkpoint", "slurm"},
	"elastic/engine/watch":        {"elastic", "elastic/engine/event", "elastic/engine/execute", "elastic/engine/journal", "elastic/engine/observe", "elastic/engine/track", "slurm"},
	"elastic/engine/publish":      {"elastic", "elastic/past", "elastic/engine/eligible", "elastic/engine/journal", "elastic/engine/track", "elastic/learn/speed", "elastic/policy", "elastic/reason", "elastic/share", "elastic/share/claim", "nodes", "checkpoint", "slurm"},
	"elastic/engine":              {"elastic", "elastic/plan", "elastic/engine/eligible", "elastic/engine/event", "elastic/engine/execute", "elastic/engine/journal", "elastic/engine/learn", "elastic/engine/observe", "elastic/engine/publish", "elastic/engine/track", "elastic/engine/watch", "elastic/policy", "elastic/reason", "nodes", "slurm"},
	"elastic/store":               {"elastic", "elastic/past", "elastic/engine/journal", "elastic/reason", "elastic/learn/speed", "nodes"},
	"elastic/store/contract":      {"checkpoint", "elastic", "elastic/engine/journal", "elastic/reason", "elastic/learn/speed", "nodes"},
	"elastic/feed":                {},
	"elastic/past":                {"elastic", "elastic/reason", "nodes"},
	"elastic/forecast":            {"elastic", "elastic/learn/speed", "elastic/sweep/level", "nodes"},
	"elastic/usage":               {"elastic/engine/journal", "elastic/reason", "slurm"},
	"elastic/offcycle":            {"checkpoint", "elastic", "elastic/past", "elastic/reason", "elastic/engine/journal", "elastic/engine/observe", "elastic/learn/speed", "slurm", "elastic/sweep", "elastic/sweep/book", "elastic/sweep/keeper", "elastic/sweep/level", "elastic/sweep/digest"},
	"elastic/metrics":             {"elastic", "elastic/engine/event", "elastic/engine/journal", "elastic/engine/publish", "elastic/usage", "nodes", "slurm"},
	"elastic/notify":              {"elastic", "elastic/engine/event", "elastic/engine/journal", "elastic/engine/publish", "elastic/message", "elastic/say"},
	"elastic/notify/deliver":      {"elastic", "elastic/message", "elastic/notify", "elastic/say"},
	"elastic/control/munge":       {},
	"elastic/control/wire":        {"elastic", "elastic/control/munge", "elastic/reason", "nodes", "elastic/sweep/digest"},
	"elastic/control/client":      {"elastic", "elastic/control/munge", "elastic/control/wire", "elastic/sweep/digest"},
	"elastic/control/local":       {},
	"elastic/control/seats":       {},
	"elastic/control":             {"elastic", "elastic/control/local", "elastic/control/munge", "elastic/control/seats", "elastic/control/wire", "elastic/engine", "elastic/policy", "elastic/learn/predict", "elastic/reason", "elastic/say", "elastic/learn/speed", "elastic/usage", "nodes", "slurm", "elastic/engine/journal", "elastic/engine/publish", "elastic/feed", "elastic/forecast", "elastic/past", "elastic/sweep/digest"},
	"elastic/control/controltest": {"elastic", "elastic/feed", "elastic/forecast", "elastic/past", "elastic/control", "elastic/control/wire", "elastic/engine", "elastic/reason", "elastic/learn/speed", "elastic/share", "elastic/share/claim", "nodes", "slurm", "elastic/engine/journal", "elastic/engine/publish", "elastic/sweep", "elastic/sweep/book", "elastic/sweep/digest"},
	"elastic/world":               {"elastic", "elastic/engine/event", "elastic/engine/observe", "nodes", "checkpoint", "slurm", "slurm/fake"},
	"elastic/world/records":       {"elastic", "elastic/audit", "elastic/engine/event", "elastic/world", "slurm/fake"},
	"elastic/world/story":         {"elastic", "elastic/engine", "elastic/policy", "elastic/reason", "elastic/learn/speed", "elastic/world", "elastic/world/records", "nodes", "checkpoint", "slurm", "slurm/fake", "elastic/engine/event", "elastic/engine/journal", "elastic/engine/observe", "elastic/engine/track"},
	"elastic/sim/sweeps":          {"elastic/sweep/level", "elastic/sweep/rung", "elastic/sweep/search", "elastic/sweep/space"},
	"elastic/sim/workload":        {"elastic", "elastic/learn/speed", "elastic/sim/sweeps", "nodes"},
	"elastic/sim/replay":          {"elastic", "elastic/plan", "elastic/policy", "elastic/reason", "elastic/learn/speed", "elastic/share", "elastic/share/claim", "elastic/sim/sweeps", "elastic/sim/workload", "nodes"},
	"elastic/sim/bound":           {"elastic", "elastic/learn/speed", "elastic/sim/workload", "elastic/sim/replay", "nodes"},
	"elastic/sim/report":          {"elastic", "elastic/draw", "elastic/reason", "elastic/say", "elastic/sim/workload", "elastic/sim/replay", "nodes"},
	"elastic/sim/figures":         {"elastic", "elastic/plan", "elastic/learn/bandit", "elastic/solve/deadline", "elastic/policy", "elastic/policy/lookahead", "elastic/learn/predict", "elastic/learn/speed", "elastic/share", "elastic/solve/knapsack", "elastic/sim/workload", "elastic/sim/replay", "elastic/sim/report", "elastic/sim/bound", "elastic/solve/welfare", "nodes", "elastic/sim/sweeps", "elastic/sweep/level"},
	"elastic/sim/whole":           {"elastic", "elastic/engine", "elastic/policy", "elastic/reason", "elastic/say", "elastic/learn/speed", "elastic/world", "elastic/sim/workload", "elastic/sim/replay", "nodes", "slurm/fake", "checkpoint", "slurm", "elastic/engine/event", "elastic/engine/journal", "elastic/engine/track"},
	"cmd/help":                    {},
	"cmd/site":                    {"*"},
	"cmd/site/demo":               {"*"},
	"cmd/site/bench":              {"*"},
	"cmd/site/exact":              {"*"},
	"cmd/site/reliability":        {"*"},
	"cmd/site/soak":               {"*"},
	"cmd/terminal":                {"cmd/help", "sbatch"},
	"cmd/present":                 {"cmd/terminal", "elastic", "elastic/control/wire", "elastic/reason", "elastic/sweep/book", "nodes", "sbatch"},
	"cmd/convert":                 {"cmd/present", "sbatch"},
	"cmd/bundle":                  {"elastic/vault/wire"},
	"cmd/sweepfile":               {"cmd/terminal", "elastic/sweep", "sbatch"},
	"cmd/reach":                   {"cmd/terminal", "elastic/control/client", "elastic/control/munge", "elastic/vault/client", "etc"},
	"cmd/sluice-top":              {"*"},
	"cmd/sluice-top/screen":       {"cmd/present", "cmd/terminal", "elastic/control/wire", "elastic/sweep/book"},
	"cmd/sluice-lab":              {"*"},
	"cmd/sluice-nvml":             {"*"},
	"cmd/sluice-plot":             {"*"},
	"cmd/sluice-web":              {"*"},
	"cmd/sluice-web/door":         {},
	"cmd/sluice-web/page":         {"cmd/present", "elastic", "elastic/control/client", "elastic/control/wire", "elastic/draw", "elastic/saved", "elastic/sweep", "elastic/sweep/book", "elastic/sweep/own", "nodes", "sbatch", "elastic/sweep/digest"},
	"cmd/sluice-web/webtest":      {"elastic", "elastic/control/client", "elastic/control/wire", "elastic/sweep", "elastic/sweep/book", "elastic/sweep/own", "nodes", "elastic/sweep/digest"},
	"cmd/sluice-simulate":         {"*"},
	"cmd/sluice":                  {"*"},
	"cmd/sluiced":                 {"*"},
	"cmd/sluice-vaultd":           {"*"},
}

// pure lists the packages that import only the standard library.
var pure = map[string]string{
	"slurm": "", "elastic/audit": "", "nodes": "", "elastic": "", "elastic/plan": "", "elastic/resize": "", "elastic/solve/knapsack": "", "elastic/learn/length": "", "elastic/reason": "", "elastic/say": "", "elastic/share": "", "elastic/share/claim": "", "elastic/usage": "", "elastic/feed": "", "elastic/past": "", "elastic/forecast": "", "elastic/policy": "", "elastic/policy/roles": "", "elastic/policy/admission": "", "elastic/policy/greedy": "", "elastic/engine": "", "elastic/engine/eligible": "", "elastic/engine/event": "", "elastic/engine/execute": "", "elastic/engine/journal": "", "elastic/engine/learn": "", "elastic/engine/observe": "", "elastic/engine/publish": "", "elastic/engine/track": "", "elastic/engine/watch": "", "elastic/learn/speed": "", "elastic/message": "", "elastic/notify": "", "elastic/notify/deliver": "", "elastic/saved": "", "elastic/sweep/space": "", "elastic/sweep/rung": "", "elastic/sweep/level": "", "elastic/sweep": "", "elastic/sweep/book": "", "elastic/sweep/sharing": "",
	"elastic/control/munge": "",
	"elastic/control/local": "golang.org/x/sys/",
	"elastic/vault":         "", "elastic/vault/wire": "", "elastic/vault/bundle": "", "elastic/vault/client": "",
	"checkpoint": "golang.org/x/sys/",
}

type pkg struct {
	ImportPath string
	Imports    []string
	CgoFiles   []string
	GoFiles    []string
	Dir        string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,CgoFiles,GoFiles,Dir", module+"...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p pkg
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// TestImportsPointDown: to let a package import another, change ARCHITECTURE.md first.
func TestImportsPointDown(t *testing.T) {
	for _, p := range packages(t) {
		room := strings.TrimPrefix(p.ImportPath, module)
		allowed, known := may[room]
		if !known {
			t.Errorf("%s is not a room of the house; add it to the table and to ARCHITECTURE.md", room)
			continue
		}
		for _, imp := range p.Imports {
			if other, ours := strings.CutPrefix(imp, module); ours && !contains(allowed, other) {
				t.Errorf("%s imports %s; it may import %v", room, other, allowed)
			}
			if extra, isPure := pure[room]; isPure && strings.Contains(strings.Split(imp, "/")[0], ".") &&
				!strings.HasPrefix(imp, module) && (extra == "" || !strings.HasPrefix(imp, extra)) {
				t.Errorf("%s is pure and imports %s", room, imp)
			}
		}
		if len(p.CgoFiles) > 0 {
			t.Errorf("%s uses cgo itself; only our SQLite and NVML libraries may", room)
		}
	}
}

// only says which single package may import a library that is large or needs cgo.
var only = map[string]string{
	"github.com/NVIDIA/go-nvml/":  "nodes/nvml",
	"github.com/mattn/go-sqlite3": "elastic/store",
	"gonum.org/v1/plot":           "cmd/sluice-plot",
	"github.com/prometheus/":      "elastic/metrics",
}

// TestHeavyLibrariesStayApart: sluice itself is static and starts thousands of times; what
// would slow that or needs cgo is in other programs.
func TestHeavyLibrariesStayApart(t *testing.T) {
	for _, p := range packages(t) {
		room := strings.TrimPrefix(p.ImportPath, module)
		for _, imp := range p.Imports {
			for library, owner := range only {
				if strings.HasPrefix(imp, library) && room != owner {
					t.Errorf("%s imports %s; only %s may", room, imp, owner)
				}
			}
		}
	}
	out, err := exec.Command("go", "list", "-deps", module+"cmd/sluice").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dep := range strings.Fields(string(out)) {
		for library := range only {
			if strings.HasPrefix(dep, library) {
				t.Errorf("cmd/sluice links %s", dep)
			}
		}
	}
}

// heavy is what the client must not link: deciding, simulation and development tools. Each
// doubles the size of the program that every job starts twice.
var heavy = []string{module + "elastic/engine", module + "elastic/policy", module + "elastic/learn/predict", module + "elastic/sim", module + "elastic/world",
	module + "elastic/store", module + "slurm/fake", module + "slurm/lab", module + "cmd/site", "gonum.org/", "charm.land/", "github.com/charmbracelet/"}

// TestClientIsThin: cmd/sluice links none of heavy.
func TestClientIsThin(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", module+"cmd/sluice").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dep := range strings.Fields(string(out)) {
		for _, part := range heavy {
			if dep == part || strings.HasPrefix(dep, strings.TrimSuffix(part, "/")+"/") {
				t.Errorf("cmd/sluice links %s", dep)
			}
		}
	}
}

// apparatus is what only tests and the lab need. Of elastic/world this is what lies below it.
var apparatus = []string{module + "elastic/world/", module + "elastic/audit", module + "elastic/planted", module + "slurm/conform", module + "slurm/lab",
	module + "checkpoint/disktest", module + "checkpoint/pythontest", module + "checkpoint/tunneltest"}

// TestUsersProgramsHoldNoTests: programs for users link no apparatus of tests; of them only
// the simulator links the world, for simulate --engine.
func TestUsersProgramsHoldNoTests(t *testing.T) {
	for _, program := range []string{"sluice", "sluiced", "sluice-simulate", "sluice-nvml", "sluice-plot", "sluice-top", "sluice-vaultd", "sluice-web"} {
		out, err := exec.Command("go", "list", "-deps", module+"cmd/"+program).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, dep := range strings.Fields(string(out)) {
			shared := dep == module+"elastic/world" || dep == module+"slurm/fake" || dep == module+"elastic/sim/whole"
			if shared && program != "sluice-simulate" || slices.ContainsFunc(apparatus, func(part string) bool { return strings.HasPrefix(dep, part) }) {
				t.Errorf("cmd/%s links %s", program, dep)
			}
		}
	}
}

func contains(allowed []string, room string) bool {
	for _, a := range allowed {
		if a == "*" || a == room {
			return true
		}
	}
	return false
}

var clockLeak = regexp.MustCompile(`\btime\.(Now|Since|Until)\b`)

// TestTimeIsAParameter: only cmd, and the lab, which waits for real daemons, read the clock.
func TestTimeIsAParameter(t *testing.T) {
	for _, p := range packages(t) {
		room := strings.TrimPrefix(p.ImportPath, module)
		if strings.HasPrefix(room, "cmd/") || room == "slurm/lab" || room == "slurm/conform" {
			continue
		}
		for _, f := range p.GoFiles {
			b, err := os.ReadFile(filepath.Join(p.Dir, f))
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range strings.Split(string(b), "\n") {
				if clockLeak.MatchString(line) && !strings.HasPrefix(strings.TrimSpace(line), "//") {
					t.Errorf("%s/%s:%d reads the clock: %s", room, f, i+1, strings.TrimSpace(line))
				}
			}
		}
	}
}

// effects are the types through which the engine changes something: Slurm, the journal, the store
// of speeds, jobs' folders.
var effects = map[string]bool{"slurm.Client": true, "journal.Journal": true, "journal.Samples": true, "observe.Mailbox": true, "observe.Outbox": true}

// TestOnlyExecuteHasEffects: of the engine's rooms execute alone holds what changes anything. The
// engine itself names it where it is handed in, in Seams.
func TestOnlyExecuteHasEffects(t *testing.T) {
	for _, p := range packages(t) {
		room := strings.TrimPrefix(p.ImportPath, module)
		if room != "elastic/engine" && !strings.HasPrefix(room, "elastic/engine/") || room == "elastic/engine/execute" {
			continue
		}
		for _, f := range p.GoFiles {
			tree, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, f), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.TypeSpec:
					return room != "elastic/engine" || n.Name.Name != "Seams"
				case *ast.SelectorExpr:
					if of, ok := n.X.(*ast.Ident); ok && effects[of.Name+"."+n.Sel.Name] {
						t.Errorf("%s/%s names %s.%s; what changes anything goes through elastic/engine/execute", room, f, of.Name, n.Sel.Name)
					}
				}
				return true
			})
		}
	}
}
