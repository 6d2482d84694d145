package command

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// TestNumbersAtTheirBounds: the largest number that is accepted, and the smallest that is
// refused.
func TestNumbersAtTheirBounds(t *testing.T) {
	for text, want := range map[string]int{"4294967292": 4294967292, "4294967293": 0, "4294967294": 0, "4294967295": 0, "09": 9} {
		if got, err := count(text); err != nil || got != want {
			t.Errorf("count(%s) = %d, %v, want %d", text, got, err, want)
		}
	}
	if got, err := epoch("1099511627776"); err != nil || got.Unix() != 1<<40 {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := epoch("1099511627777"); err == nil {
		t.Errorf("%v is a time", got)
	}
	if got, err := epoch("1"); err != nil || got.Unix() != 1 {
		t.Errorf("%v, %v", got, err)
	}
	for text, want := range map[string]int64{"": 0, "N/A": 0, "0": 0, "9000000000": 9000000000} {
		if got, err := size(text); err != nil || got != want {
			t.Errorf("size(%q) = %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"-1", "1G", "x"} {
		if got, err := size(text); err == nil {
			t.Errorf("size(%q) = %d", text, got)
		}
	}
	for text, want := range map[string]time.Duration{"153722867:16": 9223372036 * time.Second, "59:59": time.Hour - time.Second, "1-00:59:59": 25*time.Hour - time.Second, "100:00:00": 100 * time.Hour, "0-00:00:09": 9 * time.Second} {
		if got, err := duration(text); err != nil || got != want {
			t.Errorf("duration(%s) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"153722867:17", "106752-00:00:00", "60:60", "1:00:-1", "0000000000001:00"} {
		if got, err := duration(text); err == nil {
			t.Errorf("duration(%s) = %v", text, got)
		}
	}
	for _, tc := range []struct {
		text  string
		limit int64
		n     int64
		ok    bool
	}{
		{"000000000009", 9, 9, true}, {"0000000000009", 9, 0, false}, {"9", 9, 9, true}, {"10", 9, 10, false}, {"0", 0, 0, true}, {"1/", 99, 0, false}, {"1:", 99, 0, false}, {"", 9, 0, false},
	} {
		if n, ok := digits(tc.text, tc.limit); n != tc.n || ok != tc.ok {
			t.Errorf("digits(%q, %d) = %d, %t", tc.text, tc.limit, n, ok)
		}
	}
	for text, want := range map[string][2]int{"65535": {255, 127}, "32896": {128, 0}, "139": {0, 11}, "65536": {0, 0}, "256:0": {256, 0}} {
		if code, signal, err := exitStatus(text); err != nil || [2]int{code, signal} != want {
			t.Errorf("exitStatus(%s) = %d:%d, %v", text, code, signal, err)
		}
	}
	for n, want := range map[int]int{40: 40, 41: 43} {
		if got := shorten(strings.Repeat("x", n)); len(got) != want {
			t.Errorf("%d bytes are shown as %q", n, got)
		}
	}
	for n, want := range map[int]int{maxWords: 500, maxWords + 1: 503} {
		if got := clean(strings.Repeat("x", n)); len(got) != want {
			t.Errorf("%d bytes are shown in %d", n, len(got))
		}
	}
}

// TestAmountsAtTheirBounds: a number that could overflow a sum is reduced; text without a
// number is an error.
func TestAmountsAtTheirBounds(t *testing.T) {
	for text, want := range map[string]int{"17592186044415": 1<<44 - 1, "17592186044416": 1 << 44, "17592186044417": 1 << 44, "99999999999999999999999": 1 << 44, "0": 0} {
		if got, ok := amount("cpu", text); !ok || got != want {
			t.Errorf("%s: %d, %t", text, got, ok)
		}
	}
	for text, want := range map[string]int{"1K": 0, "1024K": 1, "3M": 3, "1G": 1024, "1P": 1 << 30, strings.Repeat("0", 31) + "1": 1, strings.Repeat("0", 31) + "2K": 0} {
		if got, ok := megabytes(text); !ok || got != want {
			t.Errorf("%s: %d MB, %t", text, got, ok)
		}
	}
	if got, ok := megabytes(strings.Repeat("0", 32) + "1"); ok {
		t.Errorf("33 digits: %d MB", got)
	}
	for text, want := range map[string]string{"": "[]", "0": "[{job 0}]", "2147483648": "[{job 2147483648}]", "2147483649": "[]", "-1": "[]"} {
		if got := fmt.Sprint(jobs(text)); got != want {
			t.Errorf("%q jobs: %s, want %s", text, got, want)
		}
	}
	// -1 is no limit, and nothing else that sluice does not change is one.
	if got := fmt.Sprint(amounts("cpu=-1,gres/gpu=2,energy=5,node=x,mem=M")); got != "[{gres/gpu 2}]" {
		t.Errorf("%s", got)
	}
	for _, text := range []string{"cpu=-1", "cpu=-1,gres/gpu=2", "energy=x", "fs/disk=7", "gres/gpu:a100=3"} {
		if err := readable([]string{text}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"cpu=-2", "cpu=1,=3", "=3", "cpu=1,mem", "gres/gpu:a100=x", "node=1x", "billing=y"} {
		if err := readable([]string{"", text}); err == nil {
			t.Errorf("%s passed for an amount", text)
		}
	}
	for text, want := range map[string]string{
		"a|\nb\n":         "line 2 has 1 fields, not 2",
		"a|\nb|\n|c\n":    "line 3 has 2 fields, not 2",
		"a|cpu=x\n":       `line 1: "cpu=x" is not a number`,
		"a|\nb|\nstop|\n": "line 3: stopped",
	} {
		err := sheet(text, 2, func(f []string) error {
			if f[0] == "stop" {
				return fmt.Errorf("stopped")
			}
			return nil
		})
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	blanks := strings.Repeat("\n", maxLimitRecords-1)
	for text, want := range map[string]string{"\nHead=1\nX=1\n": "line 3 does not begin with Head=", "Head=1\n\nHead=stop": "line 3: stopped",
		" Head=1 \n \t\n\r\n  Head=stop": "line 4: stopped", blanks + "Head=stop": "line 1048576: stopped", blanks + "\nHead=1": "more than 1048576 lines"} {
		err := keyed(text, "Head", func(v map[string]string) error {
			if v["Head"] == "stop" {
				return fmt.Errorf("stopped")
			}
			return nil
		})
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	// The first of a key is Slurm's own, what follows may be a user's.
	err := keyed("Head=1 A=x=y A=2 word", "Head", func(v map[string]string) error {
		if !reflect.DeepEqual(v, map[string]string{"Head": "1", "A": "x=y"}) {
			t.Errorf("%v", v)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestGPUIndicesAtTheirBounds: a node has at most 4096 of them.
func TestGPUIndicesAtTheirBounds(t *testing.T) {
	for list, want := range map[string]int{"gpu:1000000": 1000000, "gres/gpu=1000001": -1, "gpu:2(IDX:0-4095)": 2, "gpu:2(IDX:0-4096)": -1, "gpu:1(IDX:4095)": 1, "gpu:1(IDX:-1)": -1, "gpu:1(IDX:0-0)": 1,
		"gpu:2(IDX:0-4095,1)": -1, "gpu:2(IDX:0-4094,1)": 2, "gpu:1(S:0-9999)": 1, "gpu=-1": -1, "gpu:a100:x": -1, "a(,),gpu:2": 2, "gpu:2(S:0,1),gpu:3": 5} {
		g, err := parseGPUs(list)
		if (err == nil) != (want >= 0) || err == nil && g.count != want || err != nil && g.count != 0 {
			t.Errorf("%s: %+v, %v, want %d", list, g, err, want)
		}
	}
	for _, tc := range []struct {
		list, types string
	}{
		{"gpu:a100:2,gpu:h100:1", "map[a100:2 h100:1]"}, {"gpu:4", "map[:4]"}, {"gres/gpu=4,gres/gpu:a100=4", "map[a100:4]"}, {"gpu:1g.5gb:7", "map[]"}, {"gpu:a100:1,gpu:a100:2", "map[a100:3]"},
	} {
		if g, err := parseGPUs(tc.list); err != nil || fmt.Sprint(g.types) != tc.types {
			t.Errorf("%s: %v, %v, want %s", tc.list, g.types, err, tc.types)
		}
	}
	if g := (gpus{count: 2, slices: 1}); g.times(3).count != 6 || g.times(3).slices != 3 || g.times(0).count != 2 || g.times(0).slices != 1 {
		t.Errorf("%+v, %+v", g.times(3), g.times(0))
	}
}

// TestSizeOfAJob: the allocated size when it runs, the requested size before.
func TestSizeOfAJob(t *testing.T) {
	for _, tc := range []struct {
		numNodes, maxNodes, tasks       string
		perJob, perNode, perTask, alloc string
		nodes                           []string
		wantNodes, wantGPUs             int
		kind                            string
	}{
		{numNodes: "4", maxNodes: "2", perNode: "gres:gpu:3", wantNodes: 2, wantGPUs: 6},
		{numNodes: "4", maxNodes: "1", perNode: "gres:gpu:3", wantNodes: 1, wantGPUs: 3},
		{numNodes: "2", perNode: "gres:gpu:3", nodes: []string{"a"}, wantNodes: 1, wantGPUs: 3},
		{numNodes: "1", perJob: "gres:gpu:5", alloc: "gres/gpu=1", nodes: []string{"a"}, wantNodes: 1, wantGPUs: 1},
		{numNodes: "2", maxNodes: "4", perNode: "gres:gpu:3", wantNodes: 2, wantGPUs: 6},
		{numNodes: "2", maxNodes: "0", perNode: "gres:gpu:3", wantNodes: 2, wantGPUs: 6},
		{numNodes: "1", maxNodes: "1", perNode: "gres:gpu:3", nodes: []string{"a", "b"}, wantNodes: 2, wantGPUs: 6},
		{numNodes: "1", tasks: "3", perTask: "gres:gpu:a100:1", wantNodes: 1, wantGPUs: 3, kind: "a100"},
		{numNodes: "2", tasks: "3", perJob: "gres:gpu:5", perNode: "gres:gpu:1", wantNodes: 2, wantGPUs: 5},
		{numNodes: "1", perJob: "gres:gpu:a100:5", alloc: "gres/gpu=2", wantNodes: 1, wantGPUs: 5, kind: "a100"},
		{numNodes: "1", perJob: "gres:gpu:a100:5", alloc: "gres/gpu=2", nodes: []string{"a"}, wantNodes: 1, wantGPUs: 2, kind: "a100"},
		{numNodes: "1", perJob: "gres:gpu:5", alloc: "gres/gpu=2,gres/gpu:h100=2", nodes: []string{"a"}, wantNodes: 1, wantGPUs: 2, kind: "h100"},
		{numNodes: "1", alloc: "gres/gpu=2", wantNodes: 1, wantGPUs: 2},
		{numNodes: "1", perNode: "gres:gpu:1", alloc: "cpu=3", nodes: []string{"a"}, wantNodes: 1, wantGPUs: 1},
	} {
		v, j := reader{record: make([]string, jobFieldCount)}, slurm.Job{Nodes: tc.nodes}
		v.record[fNumNodes], v.record[fMaxNodes], v.record[fNumTasks] = tc.numNodes, tc.maxNodes, tc.tasks
		v.record[fTresPerJob], v.record[fTresPerNode], v.record[fTresPerTask], v.record[fTresAlloc] = tc.perJob, tc.perNode, tc.perTask, tc.alloc
		if v.size(&j); v.err != nil || j.NodeCount != tc.wantNodes || j.GPUs != tc.wantGPUs || j.GPUType != tc.kind {
			t.Errorf("%+v: %d nodes, %d GPUs of type %q, %v", tc, j.NodeCount, j.GPUs, j.GPUType, v.err)
		}
	}
	// Slurm reports a remaining time for jobs that do not run, too.
	for state, want := range map[string]time.Duration{"RUNNING": 5 * time.Minute, "PENDING": 0, "SUSPENDED": 0, "COMPLETED": 0} {
		record := make([]string, jobFieldCount)
		record[fJobID], record[fUID], record[fState], record[fTimeLeft] = "7", "0", state, "05:00"
		if d, ok := parseJob(record); !ok || d.TimeLeft != want || string(d.State) != state {
			t.Errorf("%s: %v is left, %+v", state, d.TimeLeft, d)
		}
	}
	// The first field that cannot be read is named, counted from 1.
	v := reader{record: []string{"0", "x", "y", "1:z", "a"}}
	if v.zero(0); v.count(1) != 0 || v.err == nil || v.err.Error() != `field 2: "x" is not a count` || !v.zero(0) || v.zero(1) {
		t.Errorf("%v", v.err)
	}
	for field, read := range []func(*reader){func(v *reader) { v.count(0) }, func(v *reader) { v.time(0) }, func(v *reader) { v.duration(0) }, func(v *reader) { v.hosts(0) },
		func(v *reader) { v.gpus(0) }, func(v *reader) { v.uid(0) }, func(v *reader) { v.exit(0) }, func(v *reader) { v.cpus(0) }, func(v *reader) { v.megabytes(0) }} {
		v := reader{record: []string{"gpu:[x:y"}}
		if read(&v); v.err == nil || !strings.HasPrefix(v.err.Error(), "field 1: ") {
			t.Errorf("reader %d: %v", field, v.err)
		}
	}
	for _, text := range []string{"1/2/3", "1/2/3/4/5", "x/0/0/1", "1/0/0/x"} {
		v := reader{record: []string{text}}
		if v.cpus(0); v.err == nil {
			t.Errorf("%s passed for CPUs", text)
		}
	}
}

// TestQOSAndAssociationsByField: each of sacctmgr's columns has its meaning.
func TestQOSAndAssociationsByField(t *testing.T) {
	one := func(i int) []slurm.Amount { return []slurm.Amount{{Of: "cpu", N: i}} }
	line := func(names []string, plain map[string]string) string {
		out := make([]string, len(names))
		for i, n := range names {
			value, is := plain[n]
			switch {
			case is:
				out[i] = value
			case strings.Contains(n, "Wall"):
				out[i] = fmt.Sprintf("00:%02d:00", i)
			case strings.Contains(n, "Jobs"):
				out[i] = fmt.Sprint(i)
			default:
				out[i] = fmt.Sprintf("cpu=%d", i)
			}
		}
		return strings.Join(out, "|") + "\n"
	}
	jobsOf := func(i int) slurm.Amount { return slurm.Amount{Of: slurm.OfJobs, N: i} }
	a, err := parseAssociations(line(associationFields[:], map[string]string{"Account": "a", "User": "u", "Partition": "p", "ParentName": "r"}))
	if want := []slurm.Association{{Account: "a", User: "u", Partition: "p", Parent: "r", Group: append(one(4), jobsOf(5)), Job: one(6), Node: one(7), Own: []slurm.Amount{jobsOf(8)},
		Minutes: slurm.Minutes{Budget: append(one(9), slurm.Amount{Of: slurm.OfWall, N: 10}), Group: one(11), Job: one(12), Wall: 13 * time.Minute}}}; err != nil || !reflect.DeepEqual(a, want) {
		t.Errorf("%v\ngot  %+v\nwant %+v", err, a, want)
	}
	q, err := parseQOS(line(qosFields[:], map[string]string{"Name": "q", "Flags": "DenyOnLimit,OverPartQOS,PartitionTimeLimit"}))
	if want := []slurm.QOS{{Name: "q", Group: append(one(1), jobsOf(2)), Job: one(3), Node: one(4), User: append(one(5), jobsOf(7)), Account: append(one(6), jobsOf(8)), Least: one(9), OverPartition: true, AnyTime: true,
		Minutes: slurm.Minutes{Budget: append(one(11), slurm.Amount{Of: slurm.OfWall, N: 12}), Group: one(13), Job: one(14), Wall: 15 * time.Minute}, UserMinutes: one(16), AccountMinutes: one(17)}}; err != nil || !reflect.DeepEqual(q, want) {
		t.Errorf("%v\ngot  %+v\nwant %+v", err, q, want)
	}
}

// TestPartitionByKey: each of scontrol's keys has its meaning, and one that cannot be read
// is an error.
func TestPartitionByKey(t *testing.T) {
	const text = "PartitionName=p State=DRAIN Default=NO MinNodes=1 MaxNodes=UNLIMITED MaxTime=02:00:00 MaxCPUsPerNode=3 MaxMemPerNode=4 PriorityTier=5 TRESBillingWeights=CPU=6 QoS=q " +
		"AllowGroups=g AllowAccounts=a,b DenyAccounts=c AllowQos=ALL DenyQos=(null)\n"
	want := slurm.Partition{Name: "p", Up: true, MinNodes: 1, MaxTime: 2 * time.Hour, CPUsPerNode: 3, MemoryPerNode: 4, Tier: 5, Weights: []slurm.Weight{{Of: "cpu", N: 6}}, QOS: "q",
		AllowAccounts: []string{"a", "b"}, DenyAccounts: []string{"c"}, AllowGroups: []string{"g"}}
	if got, err := parsePartitions(text); err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		t.Errorf("%+v, %v", got, err)
	}
	for state, up := range map[string]bool{"UP": true, "DRAIN": true, "DOWN": false, "INACTIVE": false} {
		if got, err := parsePartitions("PartitionName=p State=" + state); err != nil || got[0].Up != up || got[0].Default {
			t.Errorf("%s: %+v, %v", state, got, err)
		}
	}
	for _, key := range []string{"MinNodes", "MaxNodes", "MaxTime", "MaxCPUsPerNode", "MaxMemPerNode", "PriorityTier", "TRESBillingWeights"} {
		if got, err := parsePartitions("PartitionName=p State=UP " + key + "=CPU=x"); err == nil {
			t.Errorf("%s: %+v", key, got)
		}
	}
	for _, text := range []string{"ReservationName=r StartTime=x EndTime=9", "ReservationName=r StartTime=5 EndTime=x", "ReservationName= StartTime=5 EndTime=9", "ReservationName=r EndTime=9",
		"ReservationName=r StartTime=5 EndTime=5"} {
		if got, err := parseReservations(text); err == nil {
			t.Errorf("%s: %+v", text, got)
		}
	}
	got, err := parseReservations("ReservationName=r StartTime=5 EndTime=6 Nodes=(null) Flags=FLEX,MAINT\nReservationName=s StartTime=5 EndTime=6 Nodes=n[1-2] Flags=SPEC_NODES")
	if err != nil || len(got) != 2 || got[0].Nodes != nil || !got[0].Maint || got[1].Maint || len(got[1].Nodes) != 2 || got[1].End.Unix() != 6 {
		t.Errorf("%+v, %v", got, err)
	}
}

// groups are scontrol's answer about a job on groups of nodes; group is one such group.
func groups(list ...string) string {
	return "JobId=7 JobName=j UserId=u(1)   Nodes=" + strings.Join(list, "   Nodes=") + " MinCPUsNode=1\n"
}

func group(nodes int, gres string) string {
	return fmt.Sprintf("n[1-%d] CPU_IDs=0 Mem=0 GRES=%s", nodes, gres)
}

// TestTooMany: numbers larger than any cluster has are refused.
func TestTooMany(t *testing.T) {
	if n := 0; sheet(strings.Repeat("a|\n", maxLimitRecords), 2, func([]string) error { n++; return nil }) != nil || n != maxLimitRecords {
		t.Errorf("of a million lines %d were read", n)
	}
	many := strings.Repeat("a|\n", maxLimitRecords+1)
	if err := sheet(many, 2, func([]string) error { return nil }); err == nil || !strings.Contains(err.Error(), "more than 1048576 lines") {
		t.Errorf("a million lines and one: %v", err)
	}
	for _, tc := range []struct {
		list  []string
		nodes int // 0 = refused
	}{
		{[]string{group(slurm.MaxHosts, "gpu:1(IDX:0)")}, slurm.MaxHosts},
		{[]string{group(slurm.MaxHosts, "gpu:1(IDX:0)"), "m1 CPU_IDs=0 Mem=0 GRES="}, 0},
		{[]string{group(256, "gpu:2(IDX:0-4095)")}, 256}, // 1<<20 indices
		{[]string{group(257, "gpu:2(IDX:0-4095)")}, 0},
	} {
		if split, err := parseSplit(groups(tc.list...), 7, "j"); (err == nil) != (tc.nodes > 0) || len(split) != tc.nodes {
			t.Errorf("%.60v: %d nodes, %v", tc.list, len(split), err)
		}
	}
	d := fixtureDelimiter
	rest := d.field + "a" + d.field + strings.Join([]string{"idle", "idle", "gpu:1", "gpu:0", "0/1/0/1", "1", "0", "", ""}, d.field) + d.record
	if nodes, err := parseNodes(fmt.Sprintf("n[1-%d]", slurm.MaxHosts)+rest+"m1"+rest, d); err == nil || err.Error() != "more than 100000 nodes" || nodes != nil {
		t.Errorf("%d nodes, %v", len(nodes), err)
	}
}

// TestSplitByGroup: a group stands for each of its nodes; one that cannot be read is an error.
func TestSplitByGroup(t *testing.T) {
	for _, tc := range []struct {
		list  []string
		nodes int // 0 = refused
	}{
		{[]string{group(2, "gpu:1(IDX:0)"), "m1 CPU_IDs=0 Mem=0 GRES=gpu:2(IDX:0-1)"}, 3},
		{[]string{group(2, "gpu:x:y:1")}, 0},
		{[]string{"n[1 CPU_IDs=0 Mem=0 GRES="}, 0},
		{[]string{group(2, "gpu:1(IDX:0)"), "n[1 CPU_IDs=0 Mem=0 GRES="}, 0}, // half of a job
		{[]string{group(2, "gpu:1(IDX:0)"), "m1 CPU_IDs=0 Mem=0 GRES=gpu:x:y:1"}, 0},
	} {
		split, err := parseSplit(groups(tc.list...), 7, "j")
		if (err == nil) != (tc.nodes > 0) || len(split) != tc.nodes {
			t.Errorf("%.60v: %d nodes, %v", tc.list, len(split), err)
		}
	}
	for _, split := range [][]slurm.GPUShare{{{Node: "a"}, {Node: "b"}}, {{Node: "b"}, {Node: "a"}}} {
		for nodes, want := range map[string]bool{"a b": true, "b a": true, "a": false, "a c": false, "a a b": false} {
			d := slurm.Detail{Job: slurm.Job{Nodes: strings.Fields(nodes)}, Split: split}
			if got := agrees(d); got != want || strings.Join(d.Nodes, " ") != nodes { // Slurm's order stays
				t.Errorf("%v agrees with %s: %t, then %v", split, nodes, got, d.Nodes)
			}
		}
	}
	if split, err := parseSplit(strings.Replace(groups(group(1, "gpu:1")), "JobName=j", "JobName=(null)", 1), 7, ""); err != nil || len(split) != 1 {
		t.Errorf("%v, %v", split, err)
	}
}

// TestNodesByField: each of sinfo's columns has its meaning; a node of two types reports
// both.
func TestNodesByField(t *testing.T) {
	record := []string{"n1", "gpu*", "idle", "idle", "gpu:a100:2,gpu:h100:3", "gpu:a100:1(IDX:0),gpu:h100:0", "3/5/0/8", "1000", "10", "ib,nvme,(null)", "none"}
	n := parseNode("n1", record)
	want := slurm.Node{Name: "n1", Partitions: []string{"gpu"}, States: []string{"IDLE"}, GPUs: 5, GPUsUsed: 1, Types: []slurm.OfType{{Type: "a100", GPUs: 2, Used: 1}, {Type: "h100", GPUs: 3}},
		CPUs: 8, CPUsUsed: 3, MemoryMB: 1000, MemUsedMB: 10, Features: []string{"ib", "nvme"}}
	if !reflect.DeepEqual(n, want) {
		t.Errorf("got  %+v\nwant %+v", n, want)
	}
	record[nGres], record[nReason] = "gpu:a100:2", "fan"
	if n := parseNode("n1", record); n.Types != nil || n.GPUType != "a100" || n.Reason != "fan" {
		t.Errorf("%+v", n)
	}
	d := fixtureDelimiter
	line := func(name, partition string) string {
		return name + d.field + partition + d.field + strings.Join([]string{"idle", "idle", "gpu:1", "gpu:0", "0/1/0/1", "1", "0", "", ""}, d.field) + d.record
	}
	if nodes, err := parseNodes(line("", "a"), d); err == nil || nodes != nil {
		t.Errorf("one record without a node: %v", nodes)
	}
	nodes, err := parseNodes("a banner\n"+line("n2", "z")+line("n1", "b*")+line("n1", "a")+line("n1", "a"), d)
	if err != nil || len(nodes) != 2 || nodes[0].Name != "n2" || fmt.Sprint(nodes[1].Partitions) != "[a b]" {
		t.Errorf("%+v, %v", nodes, err)
	}
}
