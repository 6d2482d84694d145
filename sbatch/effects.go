package sbatch

import (
	"slices"
	"strings"
)

// Does is what sluice submit does with an option of sbatch.
type Does string

// The possible effects of an option.
const (
	Passes  Does = "passed on"  // passed on as typed, with sbatch's meaning
	Takes   Does = "taken over" // sluice acts on it, or passes it to sbatch in another form
	Partly  Does = "by value"   // some values are passed on, or are a fixed size; others are refused
	Refuses Does = "refused"
)

// Effect is what sluice submit does with one option of sbatch.
type Effect struct {
	Name  string // without hyphens
	Short string // its letter; "" = none
	Does  Does
	// Note is what else a user must know; for a refused option the reason, and what to
	// write instead.
	Note string
}

// Effects lists the effect of every option of sbatch, ordered by name.
func Effects() []Effect {
	var out []Effect
	for _, o := range options {
		if o.is == own && o.name != "deadline" {
			continue
		}
		e := Effect{Name: o.name, Does: Passes}
		if o.short != 0 {
			e.Short = string(o.short)
		}
		if row, ok := notable[o.name]; ok {
			e.Does, e.Note = row.does, row.note
		}
		if why, do := refusal(refusedAs(o.name), samples[o.name]); e.Does == Refuses {
			e.Note = why + ": " + do
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b Effect) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// refusedAs is the name by which refusal knows an option of an #SBATCH line.
func refusedAs(name string) string {
	if name == "deadline" {
		return slurmsDeadline
	}
	return name
}

// samples are refused values of options that are refused depending on the value.
var samples = map[string]string{
	"constraint": "[a*1&b*1]", "distribution": "arbitrary", "export-file": "5", "gpus": "4", "gpus-per-node": "4", "gpus-per-socket": "1",
	"gpus-per-task": "1", "gres": "license:1", "ntasks": "4", "open-mode": "truncate", "requeue": "expedite", "tres-per-task": "gres/gpu:1",
}

const fixedSize = "a fixed size where no size is given to sluice; refused beside --max-gpus and its like"

// notable are notes on options that are not simply passed on.
var notable = map[string]struct {
	does Does
	note string
}{
	"array":                {Takes, "an elastic job for each index, with an id of its own: see 'sluice submit --help'"},
	"autocomplete":         {Refuses, ""},
	"batch":                {Refuses, ""},
	"bb":                   {Passes, "data is staged in and out at every start"},
	"bbf":                  {Passes, "as --bb"},
	"begin":                {Passes, "the job waits without GPUs until then"},
	"cluster":              {Refuses, ""},
	"clusters":             {Refuses, ""},
	"comment":              {Takes, "kept after sluice's own text in the job's comment"},
	"consolidate-segments": {Refuses, ""},
	"constraint":           {Partly, "kept at every size; counts of nodes as in [a*1&b*1] are refused"},
	"container":            {Refuses, ""},
	"container-id":         {Refuses, ""},
	"container-type":       {Refuses, ""},
	"contiguous":           {Refuses, ""},
	"core-spec":            {Refuses, ""},
	"cpus-per-gpu":         {Takes, "scales with the GPUs of every size"},
	"cpus-per-task":        {Passes, "the CPUs on each node, whatever the number of GPUs; --cpus-per-gpu scales"},
	"deadline":             {Refuses, ""},
	"dependency":           {Passes, "the job waits without GPUs until it is satisfied; a resize does not end a job for those that depend on it"},
	"distribution":         {Partly, "refused: arbitrary"},
	"exclude":              {Passes, "kept at every size"},
	"exclusive":            {Refuses, ""},
	"export":               {Passes, "Slurm's and sluice's own variables are set all the same"},
	"external":             {Refuses, ""},
	"gid":                  {Refuses, ""},
	"gpus":                 {Partly, fixedSize},
	"gpus-per-node":        {Partly, fixedSize},
	"gpus-per-socket":      {Refuses, ""},
	"gpus-per-task":        {Partly, fixedSize},
	"gres":                 {Partly, "of gpu " + fixedSize + "; other resources are refused: a resize would drop them"},
	"help":                 {Takes, "sluice's own help"},
	"hold":                 {Takes, "until sluice release"},
	"ignore-pbs":           {Passes, "without it a script with #PBS or #BSUB lines is refused"},
	"input":                {Passes, "read from its beginning at every start"},
	"mail-type":            {Partly, "END, FAIL, TIME_LIMIT and the like pass; BEGIN and REQUEUE, also of ALL, are sent by sluiced: at the first start, and when somebody else requeues the job"},
	"mem":                  {Passes, "on each node, whatever the number of GPUs; --mem-per-gpu scales"},
	"mem-per-gpu":          {Takes, "scales with the GPUs of every size"},
	"nice":                 {Passes, ""},
	"no-requeue":           {Refuses, ""},
	"nodefile":             {Refuses, ""},
	"nodelist":             {Refuses, ""},
	"nodes":                {Partly, "1 with a fixed size: all of it on one node; else refused: sluice decides how many nodes a job spans"},
	"ntasks":               {Partly, "1 passes; else refused: sluice ranks starts one process a GPU"},
	"ntasks-per-core":      {Passes, "an upper bound for the one task on each node; srun in the script does not see it"},
	"ntasks-per-gpu":       {Refuses, ""},
	"ntasks-per-node":      {Refuses, ""},
	"ntasks-per-socket":    {Passes, "as --ntasks-per-core"},
	"ntasks-per-tres":      {Refuses, ""},
	"open-mode":            {Partly, "append, which is what sluice writes; truncate is refused: a resize would wipe the output"},
	"parsable":             {Passes, "the id is printed as sbatch prints it"},
	"partition":            {Passes, "of several, sluice chooses one"},
	"prefer":               {Refuses, ""},
	"priority":             {Refuses, ""},
	"profile":              {Passes, "with all, none, task, energy and the like; with sizes, or none, it is sluice's option"},
	"quiet":                {Takes, "sbatch's line is not printed"},
	"reboot":               {Passes, "nodes are rebooted at every start, so also for each resize"},
	"requeue":              {Partly, "what sluice writes itself; --requeue=expedite is refused"},
	"segment":              {Refuses, ""},
	"signal":               {Passes, "again in every run of the job, and none at a resize"},
	"spread-job":           {Refuses, ""},
	"spread-segments":      {Refuses, ""},
	"switches":             {Refuses, ""},
	"tasks-per-node":       {Refuses, ""},
	"test-only":            {Takes, "sbatch answers for the minimum; nothing is submitted"},
	"thread-spec":          {Refuses, ""},
	"time":                 {Passes, "of every run of the job: a resize starts it again"},
	"tres-per-task":        {Partly, "of gpu " + fixedSize + "; other resources pass"},
	"uid":                  {Refuses, ""},
	"usage":                {Takes, "sluice's own help"},
	"use-min-nodes":        {Passes, "sluice uses few nodes anyway"},
	"version":              {Takes, "sluice's own"},
	"wait":                 {Takes, "sluice waits; the exit code is the job's"},
	"wrap":                 {Takes, ""},
}

// Typed is the option with a value for which it is refused, if there is one.
func (e Effect) Typed() string {
	value := samples[e.Name]
	if value == "" && byName(e.Name).takes == valued {
		value = "1"
	}
	if value == "" {
		return "--" + e.Name
	}
	return "--" + e.Name + "=" + value
}
